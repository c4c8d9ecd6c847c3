import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import prepareDocument from '../../activities/jobs/prepare-document.ts';
import { type Office, office } from '../../activities/office/office.ts';
import { readEnv } from '../../schemas/env.ts';
import { mean, type Report } from './report.ts';
import { table } from './table.ts';
import { linesOf, similarity } from './wordLines.ts';

/** Between pages, so that a line counts as equal only on the same page. */
const PAGE = '\f';
const CONVERT_MS = 300_000;

interface Row {
  document: string;
  /** Number of pages in the PDF of Word and in ours. */
  pages: [word: number, ours: number];
  /** Share of the lines that begin and end with the same words, from 0 to 1. */
  lines: number;
}

async function convert(it: Office, path: string): Promise<Buffer> {
  const bytes = readFileSync(path);
  const prepared = await prepareDocument({ bytes });
  const limits = { signal: new AbortController().signal, deadline: Date.now() + CONVERT_MS };
  const document = {
    ...prepared,
    bytes: prepared.bytes ?? bytes,
    families: prepared.families ?? [],
    name: 'input.docx',
  };
  return (await it.convert(document, limits)).pdf;
}

async function compareDocument(it: Office, path: string, folder: string): Promise<Row> {
  const made = join(folder, 'made.pdf');
  await writeFile(made, await convert(it, path));
  const [word, ours] = await Promise.all([linesOf(join(dirname(path), 'reference.pdf')), linesOf(made)]);
  const flat = (pages: readonly string[][]) => pages.flatMap((lines) => [...lines, PAGE]);
  return {
    document: dirname(path).split('/').slice(-1).join('/'),
    pages: [word.length, ours.length],
    lines: similarity(flat(word), flat(ours)),
  };
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
const percent = (value: number): string => `${Math.round(value * 100)} %`;

/** The same figures of other programs, measured by the method of this file. */
const ANCHORS = [
  ['office2pdf 0.9.1 with the fonts of word-to-pdf', '37 of 39', '94 %', '84 %'],
  ['the one of both that page count and text speak for', '38 of 39', '100 %', '92 %'],
  ['the better one of both, known only afterwards', '38 of 39', '100 %', '94 %'],
  ['LibreOffice 25.2.3 with the fonts of Debian', '37 of 39', '73 %', '67 %'],
  ['LibreOffice 7.4.7 with the fonts of Debian', '37 of 39', '72 %', '67 %'],
] as const;

/**
 * Compares PDFs of word-to-pdf with those that Word made of the same documents: the number of pages, and the words with which lines
 * begin and end.
 *
 * @param folder contains, at any depth, folders with `input.docx` and `reference.pdf`
 */
export async function compareWord(folder: string): Promise<Report> {
  const paths = globSync('**/input.docx', { cwd: folder })
    .map((path) => join(folder, path))
    .filter((path) => existsSync(join(dirname(path), 'reference.pdf')))
    .sort();
  const scratch = await mkdtemp(join(tmpdir(), 'quality-word-'));
  const it = await office.open({ env: readEnv(), log: console.error });
  try {
    const rows: Row[] = [];
    for (const path of paths) rows.push(await compareDocument(it, path, scratch));
    const same = rows.filter(({ pages: [word, ours] }) => word === ours).length;
    const shares = rows.map(({ lines }) => lines);
    const ours = ['word-to-pdf', `${same} of ${rows.length}`, percent(median(shares)), percent(mean(shares))];
    return {
      figures: rows.map(({ document, pages: [word, made], lines }) => ({ document, word, made, lines })),
      document: null,
      anchors: {
        name: 'word-to-pdf',
        text: table(['', 'equal page counts', 'equal lines, median', 'mean'], [ours, ...ANCHORS]),
      },
      isGood: same === rows.length && median(shares) >= 0.9,
    };
  } finally {
    await it[Symbol.asyncDispose]();
    await rm(scratch, { recursive: true, force: true });
  }
}
