import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { findContent } from '../../activities/html/content/findContent.ts';
import { loadPage } from '../../activities/html/load.ts';
import { htmlText, textOf } from '../../activities/html/text.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import { mean, type Report } from './report.ts';
import { table } from './table.ts';

const WANTED = 0.96;
/** Number of consecutive words that are compared as one unit. */
const SHINGLE = 4;
const HTML = 'text/html; charset=utf-8';

interface Counts {
  both: number;
  surplus: number;
  missing: number;
}

function shinglesOf(text: string): Map<string, number> {
  const words = text.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? [];
  const found = new Map<string, number>();
  for (let at = 0; at < Math.max(1, words.length - SHINGLE + 1); at++) {
    const shingle = words.slice(at, at + SHINGLE).join(' ');
    if (shingle !== '') found.set(shingle, (found.get(shingle) ?? 0) + 1);
  }
  return found;
}

function compare(wanted: string, made: string): Counts {
  const [a, b] = [shinglesOf(wanted), shinglesOf(made)];
  const counts = { both: 0, surplus: 0, missing: 0 };
  for (const shingle of new Set([...a.keys(), ...b.keys()])) {
    const [x, y] = [a.get(shingle) ?? 0, b.get(shingle) ?? 0];
    counts.both += Math.min(x, y);
    counts.surplus += Math.max(0, y - x);
    counts.missing += Math.max(0, x - y);
  }
  return counts;
}

/** Returns the means over all pages, computed as in `evaluate.py` of the benchmark. */
function scoresOf(pages: readonly Counts[]): { f1: number; precision: number; recall: number } {
  const precision = mean(
    pages
      .filter(({ both, surplus }) => both + surplus > 0)
      .map(({ both, surplus }) => both / (both + surplus)),
  );
  const recall = mean(
    pages
      .filter(({ both, missing }) => both + missing > 0)
      .map(({ both, missing }) => both / (both + missing)),
  );
  return { f1: (2 * precision * recall) / (precision + recall), precision, recall };
}

const load = (bytes: Uint8Array, url: string) => loadPage({ url, statusCode: 200, contentType: HTML, bytes });

const EXTRACTORS = {
  'web-scrape': (bytes: Uint8Array, url: string) => {
    const page = load(bytes, url);
    const { texts, extra } = findContent(page);
    return [textOf(page, texts), ...extra].join('\n');
  },
  'Readability alone': (bytes: Uint8Array) =>
    htmlText(new Readability(parseHTML(new TextDecoder().decode(bytes)).document).parse()?.content ?? ''),
};

/** Prints the texts of all pages and the version. Its options are those of the benchmark, for the main text alone. */
const TRAFILATURA = `
import glob, gzip, json, os, sys, trafilatura
def text(path):
    return trafilatura.extract(gzip.open(path).read(), include_comments=False) or ""
paths = glob.glob(os.path.join(sys.argv[1], "html", "*.html.gz"))
texts = {os.path.basename(path).split(".")[0]: text(path) for path in paths}
json.dump({"version": trafilatura.__version__, "texts": texts}, sys.stdout)
`;

function runTrafilatura(python: string, folder: string): { name: string; texts: Record<string, unknown> } {
  const made = execFileSync(python, ['-c', TRAFILATURA, folder], { maxBuffer: 2 ** 28 });
  const output: unknown = JSON.parse(made.toString());
  if (!isRecord(output) || !isRecord(output.texts)) throw new Error('Trafilatura returned no texts');
  return { name: `Trafilatura ${output.version}`, texts: output.texts };
}

/**
 * Compares the main content of web-scrape, that of Readability alone and that of Trafilatura with the articles of Zyte's
 * article-extraction-benchmark by its own metric.
 *
 * @param folder of the benchmark, with `ground-truth.json` and `html/*.html.gz`
 * @param python a Python that has Trafilatura, for its row
 */
export function compareArticles(folder: string, python?: string): Report {
  const truth: unknown = JSON.parse(readFileSync(join(folder, 'ground-truth.json'), 'utf8'));
  if (!isRecord(truth)) throw new Error('ground-truth.json is not an object');
  const articles = Object.entries(truth).map(([id, article]) => ({
    id,
    bytes: gunzipSync(readFileSync(join(folder, 'html', `${id}.html.gz`))),
    url: isRecord(article) && article.url !== undefined ? String(article.url) : 'http://page.invalid/',
    text: isRecord(article) ? String(article.articleBody) : '',
  }));
  const figures = Object.entries(EXTRACTORS).map(([extractor, extract]) => ({
    extractor,
    ...scoresOf(articles.map(({ bytes, url, text }) => compare(text, extract(bytes, url)))),
  }));
  const ours = figures[0]?.f1 ?? 0;
  if (python !== undefined) {
    const { name: extractor, texts } = runTrafilatura(python, folder);
    const scores = scoresOf(articles.map(({ id, text }) => compare(text, String(texts[id] ?? ''))));
    figures.push({ extractor, ...scores });
  }
  const rows = figures.map(({ extractor, f1, precision, recall }) => [
    extractor,
    ...[f1, precision, recall].map((score) => score.toFixed(3)),
  ]);
  const text = `# Main content of web-scrape compared with Readability and Trafilatura

Generated by \`npm run quality -- articles\` on the ${articles.length} pages of Zyte's article-extraction-benchmark, by its metric: the F1
of its own table is 0.958 for Trafilatura 2.0.0 and 0.922 for readability-lxml 0.8.4.1. Readability alone runs on the same parser.

${table(['Extractor', 'F1', 'Precision', 'Recall'], rows)}
`;
  return { figures, document: { name: 'articles.md', text }, isGood: ours >= WANTED };
}
