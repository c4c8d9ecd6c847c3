import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findContent } from '../../activities/html/content/findContent.ts';
import { type Model, readModel } from '../../activities/html/content/model.ts';
import { textOf } from '../../activities/html/text.ts';
import { PAGE_TYPES } from '../../schemas/tools/web-scrape.ts';
import { mean, type Report } from './report.ts';
import { table } from './table.ts';
import { type Example, readExample } from './wcxb.ts';

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
/** Into how many parts pages are divided by their domains, as activities/html/content/prepare.py does. */
const PARTS = 5;
/** File with the results of cross-validation. */
const UNSEEN = 'webTextUnseen.json';

interface Page {
  type: string;
  found: string;
  f1: number;
  confidence: number;
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

/** Results of cross-validation: each page was read by a model that was not trained on its domain. */
interface Unseen {
  /** F1 of all pages, then by `PAGE_TYPES`. */
  scores: number[];
  /** F1 of the pages of each part. */
  parts: number[];
  /** Share of the pages whose type was found. */
  typed: number;
  /** Number of pages with a confidence above `SURE`, and the share of these with an F1 above `GOOD`. */
  sure: number;
  right: number;
}

function partOf(url: string): number {
  const domain = new URL(url).hostname.split('.').slice(-2).join('.');
  return Number(BigInt(`0x${createHash('sha256').update(domain).digest('hex')}`) % BigInt(PARTS));
}

function readPage({ type, wanted, page }: Example, model?: Model): Page {
  const { texts, extra, pageType, confidence } = findContent(page, model);
  const made = [textOf(page, texts), ...extra].join('\n');
  return { type, found: pageType, f1: wordF1(wanted, made), confidence };
}

const scores = (pages: readonly Page[]): number[] => [
  mean(pages.map(({ f1 }) => f1)),
  ...PAGE_TYPES.map((wanted) => mean(pages.filter(({ type }) => type === wanted).map(({ f1 }) => f1))),
];
const shown = (cell: string | number): string => (typeof cell === 'number' ? cell.toFixed(3) : cell);

/** @param parts the pages of each part, whose content was found by the model that was trained on the others */
function summarize(parts: readonly (readonly Page[])[]): Unseen {
  const pages = parts.flat();
  const sure = pages.filter(({ confidence }) => confidence > SURE);
  return {
    scores: scores(pages),
    parts: parts.map((part) => mean(part.map(({ f1 }) => f1))),
    typed: mean(pages.map(({ type, found }) => (type === found ? 1 : 0))),
    sure: sure.length,
    right: mean(sure.map(({ f1 }) => (f1 > GOOD ? 1 : 0))),
  };
}

/**
 * Compares the main content of web-scrape with the development set of WCXB by its own measure: the mean over all pages of the
 * F1 of words. The model was trained on these pages, so that its figures are those of cross-validation.
 *
 * @param folder of the benchmark (github.com/Murrough-Foley/web-content-extraction-benchmark), with `dev/`
 * @param models folder of the models that `train.py` made for cross-validation; without it, the last results are shown again
 */
export function compareWebText(folder: string, models?: string): Report {
  const base = join(folder, 'dev');
  const ids = readdirSync(join(base, 'ground-truth')).map((name) => name.replace('.json', ''));
  const parts: Page[][] = Array.from({ length: PARTS }, () => []);
  const others =
    models === undefined ? [] : parts.map((_, part) => readModel(join(models, `model-${part}.json`)));
  const pages = ids.sort().map((id) => {
    const example = readExample(base, id);
    const part = partOf(example.url);
    const model = others[part];
    if (model !== undefined) parts[part]?.push(readPage(example, model));
    return readPage(example);
  });
  const unseen: Unseen =
    models === undefined
      ? JSON.parse(readFileSync(new URL(UNSEEN, import.meta.url), 'utf8'))
      : summarize(parts);
  const rows = [
    ['web-scrape, by models that were not trained on the domain', ...unseen.scores],
    ['web-scrape, trained on these pages', ...scores(pages)],
    ...ANCHORS,
  ];
  const figures = rows.map((cells) =>
    Object.fromEntries(cells.map((cell, at) => [['program', 'all', ...PAGE_TYPES][at] ?? '', cell])),
  );
  const text = `${table(
    ['F1 on WCXB dev', 'all', ...PAGE_TYPES],
    rows.map((cells) => cells.map(shown)),
  )}

The first row is of cross-validation: each page was found by a model that was trained on the other four fifths of the domains. The fifths have
${unseen.parts.map(shown).join(', ')}. The type of ${(100 * unseen.typed).toFixed(0)} % of the pages is named as the benchmark does; ${unseen.sure} have a confidence above ${SURE},
and ${(100 * unseen.right).toFixed(1)} % of these an F1 above ${GOOD}.`;
  return {
    figures,
    document: models === undefined ? null : { name: UNSEEN, text: `${JSON.stringify(unseen, null, 2)}\n` },
    anchors: { name: 'web-scrape', text },
    isGood: (unseen.scores[0] ?? 0) >= WANTED.unseen && unseen.right >= WANTED.sure,
  };
}
