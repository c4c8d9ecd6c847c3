import { applyEdits, type Edit, scanXml, type Tag } from '../xml.ts';
import { createFieldEdits, type FieldFacts } from './fields.ts';
import { createFormulaEdits } from './formulas.ts';
import { createPictureEdits } from './pictures.ts';
import { createTableEdits, type PageWidth } from './tables.ts';

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
/** Number of the first bookmark, which is larger than those of other bookmarks. */
const FIRST_BOOKMARK = 9_000_000;
/**
 * Marks of comments, which are not printed: LibreOffice refuses documents with one in a header, as Google Docs writes. And the property
 * of text that only a view as web page hides: LibreOffice hides it always, and Word gives it to the page numbers of a table of contents.
 */
const REMOVED = new Set(['w:commentRangeStart', 'w:commentRangeEnd', 'w:commentReference', 'w:webHidden']);

interface FlattenedPart {
  xml: string;
  /** Embedded documents (altChunk) that bookmarks replace: id of the relationship, name of the bookmark. */
  chunks: { id: string; bookmark: string }[];
}

/** Facts about the part. */
interface PartFacts extends FieldFacts {
  /** Prefix of the names of its bookmarks, which differs from that of other parts. */
  prefix: string;
  page: PageWidth;
  /** Whether the target of a relationship is a part of the document, by its id. */
  hasPart(id: string): boolean;
  /** Whether LibreOffice reads the embedded document itself, by the id of its relationship. */
  isNative(id: string): boolean;
}

/**
 * Replaces what LibreOffice loses by what Word shows of it: fields by their stored results, embedded objects by the picture that
 * Word stored of them, embedded documents by bookmarks at which LibreOffice inserts them. Fields with numbers of pages and
 * transparent pictures are marked for forkServer.py.
 *
 * @param xml a part with text: the main one, a header, a footer or notes
 */
export function flatten(
  xml: string,
  { prefix, page, hasPart, isNative, ...facts }: PartFacts,
): FlattenedPart {
  const fields = createFieldEdits(xml, facts);
  const pictures = createPictureEdits(xml);
  const formulas = createFormulaEdits(xml);
  const tables = createTableEdits(xml, page);
  const edits: Edit[] = [];
  const chunks: FlattenedPart['chunks'] = [];
  /** Starts of the elements that are being removed, by their names. */
  const removed: { name: string; start: number; text: string }[] = [];
  const objects: { hasPicture: boolean; object: Edit | null }[] = [];
  let ole: number | null = null;
  let isInstruction = false;

  function open(tag: Tag): void {
    const { name, attributes } = tag;
    fields.open(tag);
    pictures.open(tag);
    formulas.open(tag);
    tables.open(tag);
    isInstruction = name === 'w:instrText';
    if (REMOVED.has(name)) removed.push({ name, start: tag.start, text: '' });
    const id = attributes['r:id'] ?? '';
    if (name === 'w:altChunk' && !isNative(id)) {
      const bookmark = `${prefix}${chunks.length}`;
      const number = `w:id="${FIRST_BOOKMARK + chunks.length}"`;
      const mark = `<w:bookmarkStart ${number} w:name="${bookmark}"/><w:bookmarkEnd ${number}/>`;
      chunks.push({ id, bookmark });
      removed.push({ name, start: tag.start, text: `<w:p xmlns:w="${WORD}">${mark}</w:p>` });
    }
    const object = objects.at(-1);
    if (name === 'w:object') objects.push({ hasPicture: false, object: null });
    if (object === undefined) return;
    if (name === 'v:imagedata') object.hasPicture ||= hasPart(id);
    // LibreOffice draws formulas itself, better than their pictures.
    if (name === 'o:OLEObject' && !/^Equation/.test(attributes.ProgID ?? '')) ole = tag.start;
  }

  function close(name: string, start: number, end: number): void {
    fields.close(name, start, end);
    pictures.close(name);
    formulas.close(name, start, end);
    tables.close(name);
    if (name === 'w:instrText') isInstruction = false;
    const last = removed.at(-1);
    if (last?.name === name) {
      removed.pop();
      edits.push({ start: last.start, end, text: last.text });
    }
    const object = objects.at(-1);
    if (name === 'o:OLEObject' && object !== undefined && ole !== null) {
      object.object = { start: ole, end, text: '' };
      ole = null;
    }
    if (name !== 'w:object') return;
    objects.pop();
    if (object?.hasPicture && object.object !== null) edits.push(object.object);
  }

  scanXml(xml, { open, close, text: (data) => isInstruction && fields.instruction(data) });
  const all = [...edits, ...fields.edits, ...pictures.edits, ...formulas.edits, ...tables.edits];
  return { xml: all.length === 0 ? xml : applyEdits(xml, all), chunks };
}
