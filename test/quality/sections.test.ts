import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { PAGE_TYPES } from '../../schemas/tools/web-scrape.ts';
import { makeDocx } from '../helpers/office.ts';
import { makePdf, ONE_PAGE } from '../helpers/pdf.ts';
import { compareArticles } from './articles.ts';
import { compareScans } from './cipherScan.ts';
import { compareDialogs } from './dialogs.ts';
import { makeExampleFiles } from './exampleFiles.ts';
import { compareFieldPdfs } from './fieldPdfs.ts';
import { compareFieldPictures } from './fieldPictures.ts';
import { compareFragments } from './fragments.ts';
import { compareMarkdown } from './markdown.ts';
import { compareOverlays } from './overlays.ts';
import { takePagePictures } from './pagePictures.ts';
import { comparePdfMetadata } from './pdfMetadata.ts';
import { LOOKS } from './pictureSheet.ts';
import type { Report } from './report.ts';
import { makeSitePictures } from './sitePictures.ts';
import { compareTakumi } from './takumi.ts';
import { compareText } from './text.ts';
import { compareUpscaling } from './upscale.ts';
import { compareWebText } from './webText.ts';
import { compareWord } from './word.ts';

// Each comparison runs once on little data, to show that it works. The figures mean nothing.

const SENTENCE = 'The last ferry of the evening leaves the old harbour at nine, and it takes bicycles too. ';
const PAGE = `<!doctype html><html><head><title>Ferry</title></head><body><article><h1>Ferry</h1>${`<p>${SENTENCE.repeat(6)}</p>`.repeat(5)}</article></body></html>`;

function folderOf(t: ExecutionContext, files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'quality-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** A page of each type, in the folders of the benchmark WCXB. */
const WCXB = Object.fromEntries(
  PAGE_TYPES.flatMap((type) => [
    [
      `dev/ground-truth/${type}.json`,
      JSON.stringify({
        url: `https://quay.example/${type}`,
        ground_truth: { main_content: SENTENCE.repeat(30) },
        _internal: { page_type: { primary: type } },
      }),
    ],
    [`dev/html/${type}.html.gz`, gzipSync(PAGE)],
  ]),
);

const COMPARISONS: Readonly<Record<string, (t: ExecutionContext) => Report | Promise<Report>>> = {
  articles: (t) =>
    compareArticles(
      folderOf(t, {
        'ground-truth.json': JSON.stringify({ ferry: { articleBody: SENTENCE.repeat(30) } }),
        'html/ferry.html.gz': gzipSync(PAGE),
      }),
    ),
  text: (t) => compareText(folderOf(t, { 'ferry.html': PAGE })),
  markdown: (t) => compareMarkdown(folderOf(t, WCXB)),
  webText: (t) => {
    const model = readFileSync('activities/html/content/model.json');
    const models = [0, 1, 2, 3, 4].map((part) => [`model-${part}.json`, model]);
    return compareWebText(folderOf(t, WCXB), folderOf(t, Object.fromEntries(models)));
  },
  pdfMetadata: (t) => comparePdfMetadata(folderOf(t, { 'a.pdf': makePdf({ objects: ONE_PAGE }) })),
  fieldPdfs: () => compareFieldPdfs(/^line ends/),
  fieldPictures: () => compareFieldPictures(/^no dpi/),
  fragments: () => compareFragments(undefined, 1),
  word: (t) =>
    compareWord(
      folderOf(t, {
        'letter/input.docx': makeDocx(),
        'letter/reference.pdf': makePdf({ objects: ONE_PAGE }),
      }),
    ),
  takumi: () => compareTakumi(10),
  overlays: () => compareOverlays(undefined, 1),
  dialogs: () => compareDialogs({ rules: 1, heuristic: 1, unharmed: 1 }),
  cipherScan: () => compareScans(undefined, /^$/, /^OpenSSL, TLS 1\.2$/),
  upscale: () => compareUpscaling({ pictures: 1, factors: [2], side: 32 }),
};

test('every comparison has a short run', (t) => {
  const main = readFileSync(new URL('main.ts', import.meta.url), 'utf8');
  const names = [...main.matchAll(/^import \{ (compare\w+) \}/gm)].map(([, name = '']) => name);
  t.true(names.length > 10);
  const runs = Object.values(COMPARISONS).map(String).join('\n');
  t.deepEqual(
    names.filter((name) => !runs.includes(`${name}(`)),
    [],
  );
});

test('the features of pages are written', (t) => {
  const folder = folderOf(t, WCXB);
  const file = join(folder, 'features');
  execFileSync(process.execPath, ['test/quality/webTextFeatures.ts', folder, file]);
  t.is(readFileSync(`${file}.jsonl`, 'utf8').trim().split('\n').length, PAGE_TYPES.length);
  t.true(statSync(`${file}.f32`).size > 0);
});

for (const [name, compare] of Object.entries(COMPARISONS))
  test.serial(`the comparison ${name} gives its figures`, async (t) => {
    t.timeout(300_000);
    const { figures } = await compare(t);
    const numbers = figures.flatMap((row) => Object.values(row)).filter((it) => typeof it === 'number');
    t.true(numbers.length > 0);
    t.true(numbers.every(Number.isFinite), JSON.stringify(figures));
  });

test.serial('the files of the examples and the pictures of the site are made', async (t) => {
  t.timeout(300_000);
  const folder = folderOf(t, {});
  mkdirSync(join(folder, 'pictures'));
  const url = pathToFileURL(`${folder}/`);
  await makeExampleFiles(url);
  await makeSitePictures(url);
  t.deepEqual(readdirSync(folder).sort(), [
    ...['favicon.ico', 'html-to-image.png', 'pictures', 'qr-generate.png', 'social-card.png'],
    ...['website-screenshot.png', 'word-to-pdf.pdf'],
  ]);
  t.deepEqual(readdirSync(join(folder, 'pictures')), readdirSync('api/site/pictures'));
});

test.serial('pictures of pages are taken', async (t) => {
  t.timeout(300_000);
  const pages = ['landing', 'call', 'operator'];
  const names = await takePagePictures('short', [], {
    to: folderOf(t, {}),
    looks: LOOKS.slice(0, 1),
    isTaken: (name) => pages.includes(name),
  });
  t.deepEqual(names, pages);
});
