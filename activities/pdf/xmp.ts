import { Parser } from 'htmlparser2';

/** A claim to conform to a part of a standard, and its level of conformance if it has one. */
interface Claim {
  part: number;
  conformance: string | null;
}

/** Properties of a document in its XMP packet. Texts are as in the packet. */
export interface Xmp {
  title: string | null;
  author: string | null;
  subject: string | null;
  producer: string | null;
  pdfA: Claim | null;
  pdfUA: Claim | null;
}

const RDF = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#';
const DC = 'http://purl.org/dc/elements/1.1/';
const PDF = 'http://ns.adobe.com/pdf/1.3/';
/** Namespaces of ISO 19005 and ISO 14289. */
const PDFA_ID = 'http://www.aiim.org/pdfa/ns/id/';
const PDFUA_ID = 'http://www.aiim.org/pdfua/ns/id/';

const PROPERTIES = {
  title: `${DC}title`,
  author: `${DC}creator`,
  subject: `${DC}description`,
  producer: `${PDF}Producer`,
  pdfAPart: `${PDFA_ID}part`,
  pdfAConformance: `${PDFA_ID}conformance`,
  pdfUAPart: `${PDFUA_ID}part`,
  pdfUAConformance: `${PDFUA_ID}conformance`,
} as const;
const WANTED = new Set<string>(Object.values(PROPERTIES));
/** Between several authors. Acrobat shows them so. */
const SEPARATOR = '; ';
/** Largest number of characters of a property that are kept. More than the tool returns. */
const KEPT = 100_000;

/** Largest number of names of elements and attributes that are kept with their namespaces. */
const EXPANDED_NAMES = 1000;

interface Item {
  text: string;
  /** Language of an alternative, in lower case. */
  language: string | null;
}

/** A property while its element is open. */
interface Property {
  name: string;
  depth: number;
  /** Text outside of items. */
  own: Item;
  items: Item[];
}

/** The text of a property: all items of a list of authors; of translations, the default one, else the first. */
function textOf({ name, own, items }: Property): string {
  const texts = items.filter(({ text }) => text.trim() !== '');
  if (texts.length === 0) return own.text.trim();
  if (name === PROPERTIES.author) return texts.map(({ text }) => text.trim()).join(SEPARATOR);
  return (texts.find(({ language }) => language === 'x-default') ?? texts[0])?.text.trim() ?? '';
}

function claimOf(part = '', conformance = ''): Claim | null {
  if (!/^[1-9]\d?$/.test(part)) return null;
  return {
    part: Number(part),
    conformance: /^[a-z]{1,2}$/i.test(conformance) ? conformance.toUpperCase() : null,
  };
}

/** Decodes a packet by its byte order mark (ISO 16684-1, 7.1); in a PDF it is UTF-8 (ISO 32000-2, 14.3.2). */
function decode(packet: string): string {
  const bytes = Buffer.from(packet, 'latin1');
  const encoding = packet.startsWith('\xfe\xff')
    ? 'utf-16be'
    : packet.startsWith('\xff\xfe')
      ? 'utf-16le'
      : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

/**
 * Reads an XMP packet (ISO 16684-1) without building a tree, since packets have up to tens of MB. Damaged packets are read as
 * far as possible.
 *
 * @param packet the bytes, one per character
 */
export function readXmp(packet: string): Xmp {
  const values = new Map<string, string>();
  const namespaces = new Map<string, string>();
  const expanded = new Map<string, string>();
  const open: string[] = [];
  let property: Property | null = null;
  const expand = (name: string): string => {
    const known = expanded.get(name);
    if (known !== undefined) return known;
    const colon = name.indexOf(':');
    const whole = colon < 0 ? name : (namespaces.get(name.slice(0, colon)) ?? '') + name.slice(colon + 1);
    if (expanded.size < EXPANDED_NAMES) expanded.set(name, whole);
    return whole;
  };
  const keep = (name: string, value: string): void => {
    if (WANTED.has(name) && value !== '' && !values.has(name)) values.set(name, value);
  };
  const parser = new Parser(
    {
      onopentag(tag, attributes) {
        for (const name of Object.keys(attributes))
          if (name.startsWith('xmlns:')) {
            namespaces.set(name.slice(6), attributes[name] ?? '');
            expanded.clear();
          }
        const name = expand(tag);
        if (property !== null) {
          if (name === `${RDF}li`)
            property.items.push({ text: '', language: attributes['xml:lang']?.toLowerCase() ?? null });
        } else if (name === `${RDF}Description`)
          // The short form of simple properties (ISO 16684-1, 7.9.2.2).
          for (const [key, value] of Object.entries(attributes)) keep(expand(key), value.trim());
        else if (WANTED.has(name) && open.at(-1) === `${RDF}Description`)
          property = { name, depth: open.length, own: { text: '', language: null }, items: [] };
        open.push(name);
      },
      ontext(text) {
        if (property === null) return;
        const item = property.items.at(-1) ?? property.own;
        if (item.text.length < KEPT) item.text += text;
      },
      onclosetag() {
        open.pop();
        if (property?.depth !== open.length) return;
        keep(property.name, textOf(property));
        property = null;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(decode(packet));
  const value = (key: keyof typeof PROPERTIES) => values.get(PROPERTIES[key]);
  return {
    title: value('title') ?? null,
    author: value('author') ?? null,
    subject: value('subject') ?? null,
    producer: value('producer') ?? null,
    pdfA: claimOf(value('pdfAPart'), value('pdfAConformance')),
    pdfUA: claimOf(value('pdfUAPart'), value('pdfUAConformance')),
  };
}
