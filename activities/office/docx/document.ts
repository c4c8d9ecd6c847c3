import { posix } from 'node:path';
import { readFlatOpc } from '../flatOpc.ts';
import type { SourceText } from '../sourceText.ts';
import { scanXml } from '../xml.ts';
import { isZip, openZip, type Zip } from '../zip.ts';
import { replaceBullets } from './bullets.ts';
import { type EmbeddedDocument, prepareEmbedded } from './embedded.ts';
import { flatten } from './flatten.ts';
import { fontNames } from './fontNames.ts';
import { findMain, type Relation, readRelations, readXml } from './parts.ts';
import { readStyles, styleNames } from './styles.ts';
import { pageWidth } from './tables.ts';
import { type Marked, readText } from './text.ts';

export interface WordDocument {
  /** Parts that have been changed, for LibreOffice. */
  changed: Map<string, Buffer>;
  embedded: EmbeddedDocument[];
  text: SourceText;
  /** The font families that it asks for. */
  families: string[];
  /** Number of rows of its longest table. */
  rows: number;
}

/** Maximum size in bytes of an embedded document. */
const CHUNK_BYTES = 100_000_000;
/** Limits for embedded documents, which inspect-document has checked already. */
const BUDGET = { entries: 10_000, bytes: 300_000_000, depth: 3 };
const DEPTH = 2;
/** Types of relationships to parts with text. */
const WITH_TEXT = new Set(['header', 'footer', 'footnotes', 'endnotes']);

/** Types of sections that begin on the page on which the one before ends (ECMA-376-1, 17.18.77). */
const CONTINUOUS = /^(?:continuous|nextColumn)$/;

/**
 * Finds the headers and footers of which it is certain, the numbers of the sections that begin a page, the
 * bookmarks, and the number of rows of the longest table.
 *
 * A section that begins a page shows the header and the footer of its first page. It has those of the section before where it has
 * none of its own.
 */
function readReferences(xml: string, settings: string) {
  const running = new Set<string>();
  const bookmarks = new Set<string>();
  /** Ids of the parts of the section, by element and type. */
  const parts = new Map<string, string>();
  const starts: number[] = [];
  let sections = 0;
  let section = { type: '', hasTitlePage: false };
  /** Number of elements with a section that are open. A section can contain an earlier version of itself. */
  let depth = 0;
  /** Numbers of rows of the tables that are open. */
  const tables: number[] = [];
  let rows = 0;
  const hasEvenPages = /<\w+:evenAndOddHeaders\b/.test(settings);

  function endSection(): void {
    sections += 1;
    if (sections > 1 && CONTINUOUS.test(section.type)) return;
    starts.push(sections);
    if (hasEvenPages && !section.hasTitlePage) return;
    for (const element of ['w:headerReference', 'w:footerReference'])
      running.add(parts.get(`${element} ${section.hasTitlePage ? 'first' : 'default'}`) ?? '');
  }

  scanXml(xml, {
    open({ name, attributes }) {
      if (name === 'w:bookmarkStart') bookmarks.add(attributes['w:name'] ?? '');
      if (name === 'w:sectPr') {
        depth += 1;
        if (depth === 1) section = { type: '', hasTitlePage: false };
      }
      if (name === 'w:tbl') tables.push(0);
      if (name === 'w:tr') tables.push((tables.pop() ?? 0) + 1);
      if (depth !== 1) return;
      if (/^w:(?:header|footer)Reference$/.test(name))
        parts.set(`${name} ${attributes['w:type']}`, attributes['r:id'] ?? '');
      if (name === 'w:type') section.type = attributes['w:val'] ?? '';
      if (name === 'w:titlePg') section.hasTitlePage = !/^(?:0|false|off)$/.test(attributes['w:val'] ?? '');
    },
    close(name) {
      if (name === 'w:sectPr') {
        depth -= 1;
        if (depth === 0) endSection();
      }
      if (name === 'w:tbl') rows = Math.max(rows, tables.pop() ?? 0);
    },
  });
  return { running, starts, bookmarks, rows };
}

/**
 * Reads the text that a Word document shows, and replaces what LibreOffice would lose.
 *
 * Headers and footers are read only if a page certainly shows them.
 *
 * @param depth how many documents it is in
 * @param prefix of the names of bookmarks at which LibreOffice inserts documents
 */
export async function readDocument(zip: Zip, depth = 0, prefix = '_embedded'): Promise<WordDocument> {
  const main = await findMain(zip);
  const relations = await readRelations(zip, main);
  const partOf = (wanted: string) =>
    [...relations.values()].find(({ type }) => type === wanted)?.target ?? '';
  const xml = await readXml(zip, main);
  const styles = await readXml(zip, partOf('styles'));
  const readable = readStyles(styles);
  const known = styleNames(styles);
  const page = pageWidth(xml);
  const references = readReferences(xml, await readXml(zip, partOf('settings')));
  const { running, starts, bookmarks, rows } = references;
  const notes: Marked = { footnotes: new Set(), endnotes: new Set() };

  const changed = new Map<string, Buffer>();
  const text: SourceText = { sure: [], loose: [] };
  const embedded: EmbeddedDocument[] = [];
  const names = new Set(zip.names);

  const add = (found: SourceText): void => {
    for (const paragraph of found.sure) text.sure.push(paragraph);
    for (const paragraph of found.loose) text.loose.push(paragraph);
  };

  async function readPart(name: string, part: string, found: SourceText | null): Promise<void> {
    const targets = name === main ? relations : await readRelations(zip, name);
    const chunks = await readChunks(zip, targets);
    for (const [id, chunk] of chunks) {
      const archive = readFlatOpc(chunk);
      if (archive === null) continue;
      chunks.set(id, archive);
      changed.set(targets.get(id)?.target ?? '', archive);
    }
    const flat = flatten(part, {
      isMain: name === main,
      starts,
      bookmarks,
      styles: known,
      page,
      prefix: `${prefix}_${posix.basename(name, '.xml')}_`,
      hasPart: (id) => names.has(targets.get(id)?.target ?? ''),
      isNative: (id) => isZip(chunks.get(id) ?? Buffer.alloc(0)),
    });
    if (flat.xml !== part) changed.set(name, Buffer.from(withoutDeclaration(flat.xml)));
    for (const { id, bookmark } of flat.chunks) {
      const document = prepareEmbedded(
        bookmark,
        targets.get(id)?.target ?? '',
        chunks.get(id) ?? Buffer.alloc(0),
      );
      embedded.push(document);
      add(document.text);
    }
    for (const [id, chunk] of chunks) {
      if (!isZip(chunk) || depth >= DEPTH) continue;
      const inner = openZip(chunk, { ...BUDGET });
      const document = await readDocument(inner, depth + 1, `${prefix}_${changed.size}_${embedded.length}`);
      add(document.text);
      embedded.push(...document.embedded);
      const target = targets.get(id)?.target ?? '';
      if (document.changed.size > 0) changed.set(target, inner.withParts(document.changed));
    }
    if (found !== null) add(found);
  }

  const numbering = await readXml(zip, partOf('numbering'));
  const bullets = replaceBullets(numbering);
  if (bullets !== numbering) changed.set(partOf('numbering'), Buffer.from(withoutDeclaration(bullets)));

  const others = [...relations].flatMap(([id, { type, target }]) =>
    target === null || !WITH_TEXT.has(type) || !names.has(target) ? [] : [{ id, type, target }],
  );
  const parts = [xml, ...(await Promise.all(others.map(({ target }) => readXml(zip, target))))];
  for (const part of parts.slice(1)) for (const name of bookmarksOf(part)) bookmarks.add(name);
  await readPart(main, xml, readText(xml, { styles: readable, marked: notes }));
  for (const [index, { id, type, target }] of others.entries()) {
    const part = parts[index + 1] ?? '';
    const isShown = type === 'footnotes' || type === 'endnotes' || running.has(id);
    const shown = type === 'footnotes' || type === 'endnotes' ? { notes: notes[type] } : {};
    await readPart(target, part, isShown ? readText(part, { styles: readable, ...shown }) : null);
  }
  const shown = [...text.sure, ...text.loose].join('\n');
  const families = fontNames(parts, styles, await readXml(zip, partOf('theme')), shown);
  return { changed, embedded, text, families, rows };
}

/** Returns the names of the bookmarks of a part. */
function bookmarksOf(xml: string): string[] {
  const names: string[] = [];
  scanXml(xml, {
    open({ name, attributes }) {
      if (name === 'w:bookmarkStart') names.push(attributes['w:name'] ?? '');
    },
  });
  return names;
}

/** Reads the embedded documents (altChunk) of a part by the ids of their relationships. */
async function readChunks(zip: Zip, relations: ReadonlyMap<string, Relation>): Promise<Map<string, Buffer>> {
  const chunks = new Map<string, Buffer>();
  for (const [id, { type, target }] of relations)
    if (type === 'aFChunk' && target !== null)
      chunks.set(id, (await zip.readPart(target, CHUNK_BYTES)) ?? Buffer.alloc(0));
  return chunks;
}

/** Removes the declaration with the encoding, because changed parts are stored in UTF-8. */
const withoutDeclaration = (xml: string): string => xml.replace(/^\s*<\?xml[^>]*\?>/, '');
