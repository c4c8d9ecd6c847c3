import { readDoc } from '../office/doc.ts';
import { readDocument } from '../office/docx/document.ts';
import { odtFonts, readOdt } from '../office/odt.ts';
import { readRtf } from '../office/rtf.ts';
import type { SourceText } from '../office/sourceText.ts';
import { DOC, type DocumentType, ODT, RTF } from '../office/types.ts';
import { decodeXml } from '../office/xml.ts';
import { isZip, openZip } from '../office/zip.ts';
import inspectDocument from './inspect-document.ts';

/** A document as LibreOffice gets it. */
interface PreparedDocument {
  type: DocumentType;
  /** The changed document; null if it is not changed. */
  bytes: Uint8Array | null;
  /** Documents that LibreOffice inserts at bookmarks. */
  embedded: { bookmark: string; filter: string; bytes: Uint8Array }[];
  /** The text that it shows; null for types whose text is not read. */
  text: SourceText | null;
  /** The font families that it asks for; null for types whose fonts are not read. */
  families: string[] | null;
  /** The characters beyond ASCII that it shows. */
  characters: string[];
  /** Number of rows of its longest table; 0 for types of which they are not counted. */
  rows: number;
}

/** inspect-document has counted the parts and their sizes. */
const BUDGET = { entries: 10_000, bytes: 300_000_000, depth: 3 };
/** Maximum size in bytes of the content of an OpenDocument text. */
const CONTENT_BYTES = 150_000_000;

/** Maximum numbers of characters and font families of which LibreOffice reports whether it has them. */
const MAX_CHARACTERS = 20_000;
const MAX_FAMILIES = 500;
/** Characters that fonts need not have: controls, formats and private use. */
const INVISIBLE = /[\p{C}\p{Z}\p{M}]/u;

function charactersOf(text: SourceText | null): string[] {
  const characters = new Set<string>();
  for (const paragraph of [...(text?.sure ?? []), ...(text?.loose ?? [])])
    for (const character of paragraph)
      if (character > '~' && !INVISIBLE.test(character)) characters.add(character);
  return [...characters].slice(0, MAX_CHARACTERS);
}

/**
 * Detects the type of a document, reads the text that it shows, and replaces what LibreOffice would lose by what Word shows of it.
 *
 * @throws ServiceError unsupported_source, corrupt_source, source_too_large
 */
export default async function prepareDocument({
  bytes: given,
}: {
  bytes: Uint8Array;
}): Promise<PreparedDocument> {
  const type = await inspectDocument({ bytes: given });
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const prepared = await prepare(type, bytes);
  return {
    type,
    bytes: null,
    embedded: [],
    text: null,
    rows: 0,
    ...prepared,
    families: prepared.families?.slice(0, MAX_FAMILIES) ?? null,
    characters: charactersOf(prepared.text ?? null),
  };
}

async function prepare(type: DocumentType, bytes: Buffer): Promise<Partial<PreparedDocument>> {
  if (type === RTF) return readRtf(bytes);
  if (type === DOC) return { text: readDoc(bytes) };
  if (!isZip(bytes)) return {};
  const zip = openZip(bytes, { ...BUDGET });
  if (type === ODT) {
    const content = decodeXml(await zip.readPart('content.xml', CONTENT_BYTES));
    const styles = decodeXml(await zip.readPart('styles.xml', CONTENT_BYTES));
    const found = { text: readOdt(content), families: odtFonts(content, styles) };
    if (zip.names.includes('mimetype')) return found;
    const parts = new Map([['mimetype', Buffer.from('application/vnd.oasis.opendocument.text')]]);
    return { ...found, bytes: zip.withParts(parts) };
  }
  const { changed, embedded, text, families, rows } = await readDocument(zip);
  return {
    bytes: changed.size === 0 ? null : zip.withParts(changed),
    embedded: embedded.map(({ bookmark, filter, bytes: content }) => ({ bookmark, filter, bytes: content })),
    text,
    families,
    rows,
  };
}
