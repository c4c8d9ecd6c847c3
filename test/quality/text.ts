/// <reference lib="dom" />
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadPage } from '../../activities/html/load.ts';
import { pageText } from '../../activities/html/text.ts';
import { countWords } from '../../activities/html/words.ts';
import { startReader } from '../html/chromium.ts';

/**
 * Compares the text of web-scrape with Chromium's `innerText` on real pages: `QUALITY_PAGES=<folder> npm run
 * quality:text`. The folder holds `.html` files, also in subfolders. Chromium runs no scripts of the pages and can
 * reach no other server. Prints the pages whose word counts differ by more than 5 %; exits with 1 if this is more than
 * 5 % of all pages.
 */

const TOLERANCE = 0.05;
const HTML = 'text/html; charset=utf-8';

/**
 * Shows the root elements that the page hides until a script runs, because without scripts Chromium would show nothing.
 *
 * @returns whether the page had hidden root elements
 */
function showRoots(): boolean {
  let found = false;
  for (const root of [document.documentElement, document.body]) {
    if (!(root instanceof HTMLElement)) continue;
    root.style.setProperty('animation', 'none', 'important');
    const { display, visibility, contentVisibility } = getComputedStyle(root);
    if (display !== 'none' && visibility === 'visible' && contentVisibility !== 'hidden') continue;
    found = true;
    root.style.setProperty('display', 'block', 'important');
    root.style.setProperty('visibility', 'visible', 'important');
    root.style.setProperty('content-visibility', 'visible', 'important');
  }
  return found;
}

const folder = process.env.QUALITY_PAGES;
if (folder === undefined) throw new Error('set QUALITY_PAGES to a folder of .html files');
const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.html?$/i.test(name))
  .sort();

const reader = await startReader();
let hiddenRoots = 0;
const off: string[] = [];
try {
  for (const name of names) {
    const bytes = readFileSync(join(folder, name));
    const page = await reader.open({ body: bytes, contentType: HTML }, 'domcontentloaded');
    if (await page.evaluate(showRoots)) hiddenRoots += 1;
    const theirs = countWords(String(await page.evaluate('document.documentElement.innerText')));
    const ours = countWords(
      pageText(loadPage({ url: reader.url, statusCode: 200, contentType: HTML, bytes })),
    );
    if (Math.abs(ours - theirs) <= theirs * TOLERANCE) continue;
    off.push(name);
    console.log(`${name}: ${ours} words instead of ${theirs}`);
  }
} finally {
  await reader.close();
}
const within = names.length - off.length;
console.log(
  `${within} of ${names.length} pages (${((100 * within) / names.length).toFixed(1)} %) within ${100 * TOLERANCE} % of Chromium; ` +
    `${hiddenRoots} pages hide their root elements`,
);
process.exitCode = off.length <= names.length * TOLERANCE ? 0 : 1;
