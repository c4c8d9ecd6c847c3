import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findContent } from '../../activities/html/content/findContent.ts';
import { textOf } from '../../activities/html/text.ts';
import { PAGE_TYPES } from '../../schemas/tools/web-scrape.ts';
import { mean, type Report } from './report.ts';
import { table } from './table.ts';
import { readExample } from './wcxb.ts';

/** F1 of other programs on the development set, by the benchmark's README: all, then by `PAGE_TYPES`. */
const ANCHORS: readonly (readonly [program: string, ...scores: number[]])[] = [
  // biome-ignore lint/suspicious/noApproximativeNumericConstant: a score
  ['rs-trafilatura (rules and a trained model)', 0.859, 0.932, 0.716, 0.932, 0.808, 0.707, 0.641, 0.844],
  [
    'MinerU-HTML (language model, 0.6 billion parameters)',
    0.827,
    0.928,
    0.506,
    0.838,
    0.794,
    0.71,
    0.619,
    0.824,
  ],
  ['Trafilatura', 0.791, 0.926, 0.553, 0.888, 0.585, 0.589, 0.567, 0.763],
  ['dom-smoothie', 0.762, 0.908, 0.504, 0.868, 0.53, 0.596, 0.502, 0.714],
  ['Readability', 0.675, 0.825, 0.445, 0.736, 0.466, 0.496, 0.407, 0.604],
];
const WANTED = { unseen: 0.86, sure: 0.95 };
const SURE = 0.9;
const GOOD = 0.8;
/** The model was trained on the pages of four fifths of the domains (activities/html/content/train.py). */
const PARTS = 5n;
const UNSEEN = 4n;

interface Page {
  type: string;
  found: string;
  f1: number;
  confidence: number;
  isUnseen: boolean;
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

/** Returns the F1 of the words of two texts as multisets, as `evaluate.py` of the benchmark does. */
function wordF1(wanted: string, made: string): number {
  const [a, b] = [wordsOf(wanted), wordsOf(made)];
  if (a.length === 0 || b.length === 0) return a.length === b.length ? 1 : 0;
  const left = new Map<string, number>();
  for (const word of a) left.set(word, (left.get(word) ?? 0) + 1);
  let both = 0;
  for (const word of b) {
    const count = left.get(word) ?? 0;
    if (count > 0) both++;
    left.set(word, count - 1);
  }
  return (2 * both) / (a.length + b.length);
}

function isUnseen(url: string): boolean {
  const domain = new URL(url).hostname.split('.').slice(-2).join('.');
  return BigInt(`0x${createHash('sha256').update(domain).digest('hex')}`) % PARTS === UNSEEN;
}

function readPage(folder: string, id: string): Page {
  const { url, type, wanted, page } = readExample(folder, id);
  const { texts, extra, pageType, confidence } = findContent(page);
  const made = [textOf(page, texts), ...extra].join('\n');
  return { type, found: pageType, f1: wordF1(wanted, made), confidence, isUnseen: isUnseen(url) };
}

const scores = (pages: readonly Page[]): number[] => [
  mean(pages.map(({ f1 }) => f1)),
  ...PAGE_TYPES.map((wanted) => mean(pages.filter(({ type }) => type === wanted).map(({ f1 }) => f1))),
];
const shown = (cell: string | number): string => (typeof cell === 'number' ? cell.toFixed(3) : cell);

/**
 * Compares the main content of web-scrape with the development set of WCXB by its own measure: the mean over all pages of the
 * F1 of words.
 *
 * @param folder of the benchmark (github.com/Murrough-Foley/web-content-extraction-benchmark), with `dev/`
 */
export function compareWebText(folder: string): Report {
  const base = join(folder, 'dev');
  const ids = readdirSync(join(base, 'ground-truth')).map((name) => name.replace('.json', ''));
  const pages = ids.sort().map((id) => readPage(base, id));
  const unseen = pages.filter((page) => page.isUnseen);
  const sure = unseen.filter(({ confidence }) => confidence > SURE);
  const right = mean(sure.map(({ f1 }) => (f1 > GOOD ? 1 : 0)));
  const typed = mean(unseen.map(({ type, found }) => (type === found ? 1 : 0)));
  const rows = [
    [`web-scrape, ${unseen.length} pages of domains not trained on`, ...scores(unseen)],
    [`web-scrape, all ${pages.length} pages`, ...scores(pages)],
    ...ANCHORS,
  ];
  const figures = rows.map((cells) =>
    Object.fromEntries(cells.map((cell, at) => [['program', 'all', ...PAGE_TYPES][at] ?? '', cell])),
  );
  const text = `${table(
    ['F1 on WCXB dev', 'all', ...PAGE_TYPES],
    rows.map((cells) => cells.map(shown)),
  )}

Of the pages not trained on, web-scrape names the type of ${(100 * typed).toFixed(0)} % as the benchmark does; ${sure.length} have a confidence above ${SURE},
and ${(100 * right).toFixed(1)} % of these an F1 above ${GOOD}.`;
  return {
    figures,
    document: null,
    anchors: { name: 'web-scrape', text },
    isGood: (scores(unseen)[0] ?? 0) >= WANTED.unseen && right >= WANTED.sure,
  };
}
