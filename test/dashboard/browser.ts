import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { ExecutionContext } from 'ava';
import type { Page } from 'puppeteer';
import { keepPicture } from '../helpers/artefacts.ts';
import { launchChromium } from '../helpers/browser.ts';
import { isRecord, recordsAt } from '../helpers/json.ts';

/** A tab of a real Chromium that reaches only this machine. */
export interface Tab {
  page: Page;
  /** Console errors and violations of the content security policy. */
  complaints: string[];
  open(path: string): Promise<void>;
  /** Presses a button and waits for the next page. */
  press(name: string): Promise<void>;
  /** Clicks a link of the page and waits for its target. */
  follow(name: string): Promise<void>;
  type(label: string, text: string): Promise<void>;
  text(): Promise<string>;
  close(): Promise<void>;
}

const NAVIGATION_MS = 60_000;

export async function startTab(baseUrl: string): Promise<Tab> {
  const browser = await launchChromium();
  const page = await browser.newPage();
  page.setDefaultTimeout(NAVIGATION_MS);
  await page.emulateTimezone('Asia/Tokyo');
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('requestfailed', (request) => complaints.push(`${request.url()} failed`));
  return {
    page,
    complaints,
    async open(path) {
      await page.goto(`${baseUrl}${path}`, { waitUntil: 'load' });
    },
    async press(name) {
      const button = await page.waitForSelector(`main ::-p-aria([name="${name}"][role="button"])`);
      await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), button?.click()]);
    },
    async follow(name) {
      const link = await page.waitForSelector(`main ::-p-aria([name="${name}"][role="link"])`);
      await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), link?.click()]);
    },
    async type(label, text) {
      const field = await page.waitForSelector(`main ::-p-aria([name="${label}"][role="textbox"])`);
      await field?.click({ count: 3 });
      await field?.type(text);
    },
    text: () => page.$eval('main', (main) => main.textContent.replaceAll(/\s+/g, ' ')),
    close: () => browser.close(),
  };
}

/** Paths of the pages that the tab shows from now on. */
export function watchPages({ page }: Tab): string[] {
  const paths: string[] = [];
  page.on('framenavigated', (frame) => {
    if (frame === page.mainFrame()) paths.push(new URL(frame.url()).pathname);
  });
  return paths;
}

/** More elements than any page has that the Tab key reaches. */
const MOST_TABS = 200;

/** Presses Tab. Checks that the focus is outlined and not hidden by another element. Returns the name of the focused element. */
async function pressTab(t: ExecutionContext, { page }: Tab): Promise<string> {
  await page.keyboard.press('Tab');
  const { name, outline, isVisible } = await page.evaluate(() => {
    const focused = document.activeElement ?? document.body;
    if (focused === document.body) return { name: '', outline: 0, isVisible: false };
    const isField =
      focused instanceof HTMLInputElement ||
      focused instanceof HTMLSelectElement ||
      focused instanceof HTMLTextAreaElement;
    const label = isField ? focused.labels?.[0]?.textContent : undefined;
    const { outlineStyle, outlineWidth } = getComputedStyle(focused);
    const { left, top, width, height } = focused.getBoundingClientRect();
    const hit = document.elementFromPoint(left + width / 2, top + height / 2);
    return {
      name: (focused.getAttribute('aria-label') ?? label ?? focused.textContent)
        .replaceAll(/\s+/g, ' ')
        .trim(),
      outline: outlineStyle === 'none' ? 0 : parseFloat(outlineWidth),
      isVisible: hit !== null && (focused.contains(hit) || hit.contains(focused)),
    };
  });
  // Between the last and the first element the window itself has the focus.
  if (name === '') return name;
  t.true(outline >= 2, `${page.url()}: the focus of "${name}" has no outline`);
  t.true(isVisible, `${page.url()}: "${name}" is hidden`);
  return name;
}

/** Presses Tab until an element has the focus whose name begins with this text. */
export async function tabTo(t: ExecutionContext, tab: Tab, name: string): Promise<void> {
  const passed: string[] = [];
  while (passed.length < MOST_TABS) {
    const focused = await pressTab(t, tab);
    if (focused.startsWith(name)) return;
    passed.push(focused);
  }
  t.fail(`Tab does not reach "${name}", only ${passed.join(', ')}`);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Impact levels of axe-core, from the lowest to the highest. */
const IMPACTS = ['minor', 'moderate', 'serious', 'critical'];

/** Returns the accessibility findings of axe-core from this impact upwards, each with its elements. */
export async function findings(page: Page, from = 'serious'): Promise<string[]> {
  await page.evaluate(AXE);
  const result: unknown = await page.evaluate('axe.run()');
  if (!isRecord(result) || recordsAt(result.passes).length === 0) throw new Error('axe-core checked nothing');
  return recordsAt(result.violations)
    .filter(({ impact }) => IMPACTS.indexOf(String(impact)) >= IMPACTS.indexOf(from))
    .map(
      ({ id, nodes }) =>
        `${id}: ${recordsAt(nodes)
          .map(({ html }) => html)
          .join(' ')}`,
    );
}

/**
 * Returns words that are broken in the middle, and numbers that are in another line than their unit, apart from user
 * input and code, which may be of any length.
 */
const brokenWords = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const words = /\p{N}+ (?:%|[KMG]i?B|ms|s|min|h|px)(?![\p{L}\p{N}])|[\p{L}\p{N}]+(?:[.,:]\p{N}+)*/gu;
    const broken: string[] = [];
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      if (text.parentElement?.closest('bdi, code, pre, textarea, script, .unseen')) continue;
      // Closed details have no width of their own.
      if (!text.parentElement?.checkVisibility()) continue;
      for (const { 0: word, index } of (text.textContent ?? '').matchAll(words)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
      }
    }
    return broken;
  });

/** Between the extremes: a telephone, and widths at which the widest tables still fit. */
const WIDTHS = [360, 768, 1000, 1600];

/** Replaces ids, so that each page has a stable name. */
const pictureName = (where: string): string =>
  where.replace(/^\/dashboard/, '').replaceAll(/[a-z]+_[\w-]+|[\da-f]{24}/g, 'id');

let pictures = 0;

/** Checks the current page at all widths and in both colour schemes, and keeps screenshots. */
export async function inspect(t: ExecutionContext, { page }: Tab): Promise<void> {
  const where = new URL(page.url()).pathname;
  pictures += 1;
  for (const [width, value, isChecked] of [
    [390, 'light', false],
    [320, 'dark', true],
    [768, 'dark', false],
    [1440, 'light', true],
  ] as const) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
    await page.setViewport({ width, height: 900 });
    const name = `${String(pictures).padStart(2, '0')} ${pictureName(where)} ${width} ${value}`;
    keepPicture(
      `dashboard/${t.title.replaceAll(/\W+/g, '-')}`,
      name,
      await page.screenshot({ fullPage: true, optimizeForSpeed: true }),
    );
    if (!isChecked) continue;
    t.deepEqual(await findings(page), [], `${where} ${width} ${value}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    t.true(wide <= width, `${where} is ${wide} wide at ${width}`);
    t.deepEqual(await brokenWords(page), [], `${where} ${width}`);
  }
  for (const width of WIDTHS) {
    await page.setViewport({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    t.true(wide <= width, `${where} is ${wide} wide at ${width}`);
    t.deepEqual(await brokenWords(page), [], `${where} ${width}`);
  }
}
