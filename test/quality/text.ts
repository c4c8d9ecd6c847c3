/// <reference lib="dom" />
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadPage } from '../../activities/html/load.ts';
import { pageText } from '../../activities/html/text.ts';
import { startReader } from '../html/chromium.ts';
import type { Report } from './report.ts';

const TOLERANCE = 0.05;
const SHOWN_WORDS = 12;
const HTML = 'text/html; charset=utf-8';
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });

/** Returns the words of a text in lower case, because `innerText` applies `text-transform`. */
const wordsOf = (text: string): string[] =>
  [...SEGMENTER.segment(text.toLowerCase())].flatMap(({ segment, isWordLike }) =>
    isWordLike ? segment : [],
  );

/** Returns the words that the first list has more often than the second. */
function surplus(words: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const word of others) left.set(word, (left.get(word) ?? 0) + 1);
  return words.filter((word) => {
    const count = left.get(word) ?? 0;
    left.set(word, count - 1);
    return count <= 0;
  });
}

const listed = (words: readonly string[]): string => words.slice(0, SHOWN_WORDS).join(' ');

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

/**
 * Renders elements with `content-visibility: auto` far from the viewport, whose text `innerText` would leave out.
 *
 * @returns whether the page had such elements
 */
function renderLazy(): boolean {
  let found = false;
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    if (getComputedStyle(element).contentVisibility !== 'auto') continue;
    found = true;
    element.style.setProperty('content-visibility', 'visible', 'important');
  }
  return found;
}

/**
 * Compares the text of web-scrape with Chromium's `innerText` on pages. Chromium runs no scripts of the pages and can reach no
 * other server.
 *
 * A page agrees if the words that Chromium's text has and ours lacks, and those that only ours has, are each at most 5 %
 * of Chromium's words. Prints the other pages with some of these words; they may be 5 % of all. Three effects of the reference
 * are set aside: Chromium treats `noscript` as with scripts (`startReader`), root elements that the page hides until a script
 * runs are shown (`showRoots`), and content that is only rendered near the viewport is rendered (`renderLazy`).
 *
 * @param folder with `.html` files, also in subfolders
 */
export async function compareText(folder: string): Promise<Report> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.html?$/i.test(name))
    .sort();
  const reader = await startReader();
  let [hiddenRoots, lazy, off] = [0, 0, 0];
  try {
    for (const name of names) {
      const bytes = readFileSync(join(folder, name));
      const page = await reader.open({ body: bytes, contentType: HTML }, 'domcontentloaded');
      if (await page.evaluate(showRoots)) hiddenRoots += 1;
      if (await page.evaluate(renderLazy)) lazy += 1;
      const theirs = wordsOf(String(await page.evaluate('document.documentElement.innerText')));
      const ours = wordsOf(
        pageText(loadPage({ url: reader.url, statusCode: 200, contentType: HTML, bytes })),
      );
      const missing = surplus(theirs, ours);
      const extra = surplus(ours, theirs);
      if (Math.max(missing.length, extra.length) <= theirs.length * TOLERANCE) continue;
      off += 1;
      console.log(`${name}: ${ours.length} words instead of ${theirs.length}`);
      console.log(`  ${missing.length} missing: ${listed(missing)}`);
      console.log(`  ${extra.length} extra: ${listed(extra)}`);
    }
  } finally {
    await reader.close();
  }
  const figures = {
    pages: names.length,
    [`within ${100 * TOLERANCE} % of Chromium`]: names.length - off,
    'hide their root elements': hiddenRoots,
    'render content only near the viewport': lazy,
  };
  return { figures: [figures], document: null, isGood: off <= names.length * TOLERANCE };
}
