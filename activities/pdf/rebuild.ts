/** An object header, such as `12 0 obj`. Comments between its parts are too rare to be supported. */
const OBJECT = /\b(\d{1,10})\s{1,4}(\d{1,5})\s{1,4}obj\b/g;
const CATALOG = /\/Type\s{0,20}\/Catalog\b/;
/** Entries by which the information dictionary is recognised, because few other dictionaries have them. */
export const INFO_KEYS = ['Producer', 'Creator'];
/** Further entries of information dictionaries. Dictionaries of other kinds have them too, but always beside one of `OTHER_KEYS`. */
export const COMMON_KEYS = ['Title', 'Author', 'Subject', 'ModDate'];
export const OTHER_KEYS = ['Type', 'Subtype', 'Parent', 'Params', 'EF', 'S', 'A', 'Dest', 'T', 'K'];
const entryOf = (keys: readonly string[]) => new RegExp(`/(?:${keys.join('|')})\\b`);
const INFO = entryOf(INFO_KEYS);
const COMMON = entryOf(COMMON_KEYS);
const OTHER = entryOf(OTHER_KEYS);
/** Entry of a trailer: a reference to the encryption dictionary, or the dictionary itself. */
const ENCRYPTION = /\/Encrypt\s{0,20}(?:\d|<<)/g;
/**
 * Entries of an encryption dictionary, by which a file is recognised that ends before its trailer. Signatures name the same handlers
 * for certificates, but have other subfilters.
 */
const SECURITY_HANDLER = /\/Filter\s{0,20}\/Standard\b|\/SubFilter\s{0,20}\/adbe\.pkcs7\.s[345]\b/;
/** The end of an object, and what follows it. */
const END = /\bendobj\b[\s\S]*/;
/** Largest number of characters of an information dictionary that is looked for. */
const INFO_LENGTH = 1_000_000;
/** Entry of a trailer: a reference to the information dictionary. */
const INFO_REFERENCE = /\/Info\s{1,20}\d/;
/** Words that begin a cross-reference table and a trailer. Between both, readers look for no objects. */
const TABLE = /\b(?:xref|trailer)\b/g;
const PAGE = /\/Type\s{0,20}\/Page\b/;
/** Entry by which a page is recognised if its type is damaged. Only pages and nodes of the page tree have it. */
const PAGE_SIZE = /\/MediaBox\b/;
/** Children of a node of the page tree. */
const KIDS = /\/Kids\b([^\]]*)/;
const REFERENCE = /\b\d{1,10}\s{1,4}\d{1,5}\s{1,4}R\b/g;
/** Numbers of the objects that are added. Larger numbers are implausible, and readers ignore them. */
const OWN_CATALOG = 8_000_001;
const OWN_PAGES = 8_000_002;

/** A copy of a damaged file that a reader may be able to open. The reader must rebuild the cross-reference table. */
interface Rebuilt {
  bytes: Uint8Array<ArrayBuffer>;
  /** Whether the file seems to be encrypted. Its texts cannot be read, because the copy does not refer to the keys. */
  encrypted: boolean;
}

interface FoundObjects {
  catalog: string | null;
  info: string | null;
  /** Pages or, if there are none, the children of the root of the page tree. */
  pages: string[];
}

/** Writes a catalog and a page tree with these pages. */
const pageTree = (pages: readonly string[]): string =>
  `${OWN_CATALOG} 0 obj
<< /Type /Catalog /Pages ${OWN_PAGES} 0 R >>
endobj
${OWN_PAGES} 0 obj
<< /Type /Pages /Count ${pages.length} /Kids [${pages.join(' ')}] >>
endobj
`;

const asText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
const asBytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text, 'latin1'));

/** Whether the file ends before a trailer that could refer to its information dictionary, like an interrupted download. */
export function endsBeforeTrailer(bytes: Uint8Array): boolean {
  const text = asText(bytes);
  const rest = text.slice(text.lastIndexOf('endobj'));
  return !rest.includes('startxref') && !INFO_REFERENCE.test(text);
}

/** Returns the part of a file that ends before its trailer in which all objects are whole, and other files as they are. */
export function wholeObjects(bytes: Uint8Array): Uint8Array {
  const text = asText(bytes);
  const end = text.lastIndexOf('endobj');
  return end < 0 || text.includes('startxref', end) ? bytes : bytes.subarray(0, end + 'endobj'.length);
}

/**
 * Returns a copy of an encrypted file that readers take for a plain one; null if the file is not encrypted. Its page tree can be
 * read in its references, numbers and names, which are not encrypted. Texts and streams are unreadable.
 */
export function withoutEncryption(bytes: Uint8Array): Uint8Array<ArrayBuffer> | null {
  const text = asText(bytes);
  const copy = text.replaceAll(ENCRYPTION, (entry) => entry.replace('/Encrypt', '/Ignored'));
  return copy === text ? null : asBytes(copy);
}

/**
 * Returns the objects outside of object streams by their references. Of several objects with the same number, the last one
 * counts.
 */
function bodiesOf(text: string): [reference: string, body: string][] {
  const bodies = new Map<string, string>();
  const headers = [...text.matchAll(OBJECT)];
  for (const [at, { index, 1: number, 2: generation }] of headers.entries()) {
    const reference = `${number} ${generation} R`;
    bodies.delete(reference);
    bodies.set(reference, text.slice(index, headers[at + 1]?.index));
  }
  return [...bodies];
}

/** Finds the information dictionary by its entries. */
function findInfo(
  bodies: readonly [reference: string, body: string][],
): [reference: string, body: string] | undefined {
  const heads = bodies.map(([reference, body]): [string, string] => [
    reference,
    body.slice(0, INFO_LENGTH).replace(END, ''),
  ]);
  return (
    heads.findLast(([, head]) => INFO.test(head) && !CATALOG.test(head)) ??
    heads.findLast(([, head]) => COMMON.test(head) && !OTHER.test(head))
  );
}

/** Finds objects by their entries. */
function findObjects(text: string): FoundObjects {
  const all = bodiesOf(text);
  const last = (wanted: (body: string) => boolean) => all.findLast(([, body]) => wanted(body));
  const every = (wanted: (body: string) => boolean) =>
    all.filter(([, body]) => wanted(body)).map(([reference]) => reference);
  const root = last((body) => KIDS.test(body) && !/\/Parent\b/.test(body));
  const children = (KIDS.exec(root?.[1] ?? '')?.[1] ?? '').match(REFERENCE) ?? [];
  const typed = every((body) => PAGE.test(body));
  const sized = every((body) => PAGE_SIZE.test(body) && !KIDS.test(body));
  return {
    catalog: last((body) => CATALOG.test(body))?.[0] ?? null,
    info: findInfo(all)?.[0] ?? null,
    pages: [typed, sized, children].find(({ length }) => length > 0) ?? [],
  };
}

/** Whether the file has an encryption dictionary, or a reference to one. */
export const seemsEncrypted = (bytes: Uint8Array): boolean => isEncrypted(asText(bytes));

const isEncrypted = (text: string): boolean => text.search(ENCRYPTION) >= 0 || SECURITY_HANDLER.test(text);

/**
 * Returns a PDF that has nothing but the information dictionary of a file whose trailer is missing; null if there is none.
 */
export function onlyInfo(bytes: Uint8Array): { bytes: Uint8Array<ArrayBuffer> | null; encrypted: boolean } {
  const text = asText(bytes);
  const [reference, body] = findInfo(bodiesOf(text)) ?? [];
  const pages = pageTree(['1 0 R']);
  const file = `%PDF-1.7\n${body}\nendobj\n${pages}trailer\n<< /Root ${OWN_CATALOG} 0 R /Info ${reference} >>\n`;
  return { bytes: body === undefined ? null : asBytes(file), encrypted: isEncrypted(text) };
}

/**
 * Creates copies of a PDF whose only trailer is a new one, as other readers do for files without a readable trailer. The
 * first copy refers to the last catalog of the file, as in MuPDF; the second one to a new page tree of all page objects, as
 * in qpdf. Copies that the objects of the file do not permit are omitted.
 */
export function* rebuild(bytes: Uint8Array): Generator<Rebuilt> {
  const text = asText(bytes);
  const encrypted = isEncrypted(text);
  const { catalog, info, pages } = findObjects(text);
  const body = text.replaceAll(TABLE, (word) => ' '.repeat(word.length));
  const describe = encrypted || info === null ? '' : `/Info ${info}`;
  const finish = (root: string, objects = ''): Rebuilt => {
    const trailer = `trailer\n<< /Root ${root} ${describe} >>\nstartxref\n0\n%%EOF\n`;
    return {
      bytes: asBytes(`${body}\nendobj\n${objects}${trailer}`),
      encrypted,
    };
  };
  if (catalog !== null) yield finish(catalog);
  if (pages.length > 0) yield finish(`${OWN_CATALOG} 0 R`, pageTree(pages));
}
