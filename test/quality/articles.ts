import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { findArticle } from '../../activities/html/article.ts';
import { loadPage } from '../../activities/html/load.ts';
import { htmlText } from '../../activities/html/text.ts';
import { isRecord } from '../../schemas/isRecord.ts';

/**
 * Compares the main content of web-scrape, that of Readability alone and that of Trafilatura with the articles of Zyte's
 * article-extraction-benchmark by its own metric: `QUALITY_ARTICLES=<its folder> npm run quality:articles`. The folder has
 * `ground-truth.json` and `html/*.html.gz`. `QUALITY_TRAFILATURA=<Python that has Trafilatura>` adds its row. Writes articles.md beside this file; exits with 1 below an F1 of 0.96.
 */

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

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

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

const EXTRACTORS = {
  'web-scrape': (bytes: Uint8Array, url: string) =>
    htmlText(findArticle(loadPage({ url, statusCode: 200, contentType: HTML, bytes }))?.innerHTML ?? ''),
  'Readability alone': (bytes: Uint8Array) =>
    htmlText(new Readability(parseHTML(new TextDecoder().decode(bytes)).document).parse()?.content ?? ''),
};

const folder = process.env.QUALITY_ARTICLES;
if (folder === undefined) throw new Error('set QUALITY_ARTICLES to the folder of the benchmark');
const truth: unknown = JSON.parse(readFileSync(join(folder, 'ground-truth.json'), 'utf8'));
if (!isRecord(truth)) throw new Error('ground-truth.json is not an object');
const articles = Object.entries(truth).map(([id, article]) => ({
  id,
  bytes: gunzipSync(readFileSync(join(folder, 'html', `${id}.html.gz`))),
  text: isRecord(article) ? String(article.articleBody) : '',
}));

/** Prints the texts of all pages and the version. Its options are those of the benchmark, for the main text alone. */
const TRAFILATURA = `
import glob, gzip, json, os, sys, trafilatura
def text(path):
    return trafilatura.extract(gzip.open(path).read(), include_comments=False) or ""
paths = glob.glob(os.path.join(sys.argv[1], "html", "*.html.gz"))
texts = {os.path.basename(path).split(".")[0]: text(path) for path in paths}
json.dump({"version": trafilatura.__version__, "texts": texts}, sys.stdout)
`;

function runTrafilatura(python: string): { name: string; texts: Record<string, unknown> } {
  const made = execFileSync(python, ['-c', TRAFILATURA, folder ?? ''], { maxBuffer: 2 ** 28 });
  const output: unknown = JSON.parse(made.toString());
  if (!isRecord(output) || !isRecord(output.texts)) throw new Error('Trafilatura returned no texts');
  return { name: `Trafilatura ${output.version}`, texts: output.texts };
}

const rows = Object.entries(EXTRACTORS).map(([name, extract]) => {
  const scores = scoresOf(
    articles.map(({ bytes, text }) => compare(text, extract(bytes, 'http://page.invalid/'))),
  );
  return { name, ...scores };
});
const python = process.env.QUALITY_TRAFILATURA;
if (python !== undefined) {
  const { name, texts } = runTrafilatura(python);
  rows.push({ name, ...scoresOf(articles.map(({ id, text }) => compare(text, String(texts[id] ?? '')))) });
}
const lines = rows.map(
  ({ name, f1, precision, recall }) =>
    `| ${name.padEnd(17)} | ${f1.toFixed(3)} | ${precision.toFixed(3).padEnd(9)} | ${recall.toFixed(3).padEnd(6)} |`,
);
const table = `| ${'Extractor'.padEnd(17)} | F1    | Precision | Recall |\n| ${'-'.repeat(17)} | ----- | --------- | ------ |\n${lines.join('\n')}\n`;
console.log(table);
writeFileSync(
  new URL('./articles.md', import.meta.url),
  `# Main content of web-scrape compared with Readability and Trafilatura

Generated by \`npm run quality:articles\` on the ${articles.length} pages of Zyte's article-extraction-benchmark, by its metric: the F1
of its own table is 0.958 for Trafilatura 2.0.0 and 0.922 for readability-lxml 0.8.4.1. Readability alone runs on the same parser.

${table}`,
);
process.exitCode = (rows[0]?.f1 ?? 0) >= WANTED ? 0 : 1;
