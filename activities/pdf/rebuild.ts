/** An object header, such as `12 0 obj`. Comments between its parts are too rare to be supported. */
const OBJECT = /\b(\d{1,10})\s{1,4}(\d{1,5})\s{1,4}obj\b/g;
const CATALOG = /\/Type\s{0,20}\/Catalog\b/;
/** Entries by which the information dictionary is recognised, because few other dictionaries have them. */
const INFO = /\/(?:Producer|Creator)\b/;
/** Entry of a trailer: a reference to the encryption dictionary, or the dictionary itself. */
const ENCRYPTION = /\/Encrypt\s{0,20}(?:\d|<<)/;
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

/** Finds objects outside of object streams by their entries. Of several objects with the same number, the last one counts. */
function findObjects(text: string): FoundObjects {
  const bodies = new Map<string, string>();
  const headers = [...text.matchAll(OBJECT)];
  for (const [at, { index, 1: number, 2: generation }] of headers.entries()) {
    const reference = `${number} ${generation} R`;
    bodies.delete(reference);
    bodies.set(reference, text.slice(index, headers[at + 1]?.index));
  }
  const all = [...bodies];
  const last = (wanted: (body: string) => boolean) => all.findLast(([, body]) => wanted(body))?.[0] ?? null;
  const every = (wanted: (body: string) => boolean) =>
    all.filter(([, body]) => wanted(body)).map(([reference]) => reference);
  const root = last((body) => KIDS.test(body) && !/\/Parent\b/.test(body)) ?? '';
  const children = (KIDS.exec(bodies.get(root) ?? '')?.[1] ?? '').match(REFERENCE) ?? [];
  const typed = every((body) => PAGE.test(body));
  const sized = every((body) => PAGE_SIZE.test(body) && !KIDS.test(body));
  return {
    catalog: last((body) => CATALOG.test(body)),
    info: last((body) => INFO.test(body) && !CATALOG.test(body)),
    pages: [typed, sized, children].find(({ length }) => length > 0) ?? [],
  };
}

/**
 * Creates copies of a PDF whose only trailer is a new one, as other readers do for files without a readable trailer. The
 * first copy refers to the last catalog of the file, as in MuPDF; the second one to a new page tree of all page objects, as
 * in qpdf. Copies that the objects of the file do not permit are omitted.
 */
export function* rebuild(bytes: Uint8Array): Generator<Rebuilt> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const encrypted = ENCRYPTION.test(text);
  const { catalog, info, pages } = findObjects(text);
  const body = text.replaceAll(TABLE, (word) => ' '.repeat(word.length));
  const describe = encrypted || info === null ? '' : `/Info ${info}`;
  const finish = (root: string, objects = ''): Rebuilt => {
    const trailer = `trailer\n<< /Root ${root} ${describe} >>\nstartxref\n0\n%%EOF\n`;
    return {
      bytes: Uint8Array.from(Buffer.from(`${body}\nendobj\n${objects}${trailer}`, 'latin1')),
      encrypted,
    };
  };
  if (catalog !== null) yield finish(catalog);
  if (pages.length > 0) yield finish(`${OWN_CATALOG} 0 R`, pageTree(pages));
}
