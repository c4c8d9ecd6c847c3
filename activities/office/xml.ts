import { Parser } from 'htmlparser2';

/** A start tag, with the names of its element and attributes under the usual prefixes. */
export interface Tag {
  name: string;
  attributes: Readonly<Record<string, string>>;
  /** Position of the tag in the text, without and with its closing bracket. */
  start: number;
  end: number;
  selfClosing: boolean;
}

interface XmlHandlers {
  open?(tag: Tag): void;
  /** @param start position of the end tag, or of the tag if it closes itself */
  close?(name: string, start: number, end: number): void;
  text?(data: string): void;
}

/** The usual prefixes of namespaces: of ECMA-376 (transitional and strict), of its extensions, and of OpenDocument. */
const PREFIXES: Readonly<Record<string, string>> = {
  'http://schemas.openxmlformats.org/wordprocessingml/2006/main': 'w',
  'http://purl.oclc.org/ooxml/wordprocessingml/main': 'w',
  'http://schemas.openxmlformats.org/officeDocument/2006/relationships': 'r',
  'http://purl.oclc.org/ooxml/officeDocument/relationships': 'r',
  'http://schemas.openxmlformats.org/officeDocument/2006/math': 'm',
  'http://purl.oclc.org/ooxml/officeDocument/math': 'm',
  'http://schemas.openxmlformats.org/markup-compatibility/2006': 'mc',
  'http://schemas.openxmlformats.org/drawingml/2006/main': 'a',
  'http://purl.oclc.org/ooxml/drawingml/main': 'a',
  'http://schemas.openxmlformats.org/drawingml/2006/picture': 'pic',
  'http://purl.oclc.org/ooxml/drawingml/picture': 'pic',
  'http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing': 'wp',
  'http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing': 'wp',
  'urn:schemas-microsoft-com:vml': 'v',
  'urn:schemas-microsoft-com:office:office': 'o',
  'http://schemas.openxmlformats.org/package/2006/relationships': 'rel',
  'http://schemas.openxmlformats.org/package/2006/content-types': 'types',
  'urn:oasis:names:tc:opendocument:xmlns:office:1.0': 'office',
  'urn:oasis:names:tc:opendocument:xmlns:text:1.0': 'text',
  'urn:oasis:names:tc:opendocument:xmlns:table:1.0': 'table',
  'urn:oasis:names:tc:opendocument:xmlns:style:1.0': 'style',
  'urn:oasis:names:tc:opendocument:xmlns:drawing:1.0': 'draw',
  'urn:oasis:names:tc:opendocument:xmlns:manifest:1.0': 'manifest',
  'urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0': 'svg',
};

/** Decodes an XML part, which is UTF-8 or UTF-16. */
export const decodeXml = (bytes: Uint8Array | null): string => {
  if (bytes === null) return '';
  const encoding =
    bytes[0] === 0xff || bytes[1] === 0 ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
};

/**
 * Reads XML and calls a handler for each tag and text. Faults of the XML are tolerated: LibreOffice decides about them.
 */
export function scanXml(xml: string, { open, close, text }: XmlHandlers): void {
  /** The usual prefixes by those that the text declares. */
  const prefixes = new Map<string, string>();
  const usual = (name: string, isElement: boolean): string => {
    const colon = name.indexOf(':');
    if (colon < 0 && !isElement) return name;
    const prefix = prefixes.get(name.slice(0, Math.max(0, colon)));
    if (prefix === undefined) return name;
    return `${prefix}:${name.slice(colon + 1)}`;
  };
  const parser: Parser = new Parser(
    {
      onopentag(name, attributes) {
        for (const [key, value] of Object.entries(attributes)) {
          const usualPrefix = PREFIXES[value];
          if (usualPrefix !== undefined && /^xmlns(?::|$)/.test(key)) prefixes.set(key.slice(6), usualPrefix);
        }
        const entries = Object.entries(attributes).map(([key, value]) => [usual(key, false), value]);
        open?.({
          name: usual(name, true),
          attributes: Object.fromEntries(entries),
          start: parser.startIndex,
          end: parser.endIndex + 1,
          selfClosing: xml[parser.endIndex - 1] === '/',
        });
      },
      onclosetag(name) {
        close?.(usual(name, true), parser.startIndex, parser.endIndex + 1);
      },
      ontext: (data) => text?.(data),
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
}

/** A change of a text: what replaces the characters between two positions. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

/** Applies edits. An edit within the range of an earlier one is dropped. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || b.end - a.end)) {
    if (edit.start < at) continue;
    parts.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}
