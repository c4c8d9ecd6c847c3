import { fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer';
import sharp from 'sharp';
import { chromiumFlags } from '../../activities/browser/flags.ts';
import { processTree } from '../../activities/browser/processes.ts';
import { cpuOf } from '../bench/processes.ts';
import { findBrowser, openBrowsers, startSite } from '../helpers/browser.ts';
import { isRecord } from '../helpers/json.ts';
import { loadTool } from '../helpers/tool.ts';
import { takumi as takumiItem } from '../provision/items/comparisons.ts';
import { type Card, makeCards } from './cards.ts';
import { mean, type Report } from './report.ts';
import { table } from './table.ts';

/** The default viewport of the tool. */
const [WIDTH, HEIGHT] = [1440, 900];
const PIXELS = WIDTH * HEIGHT;
/** The largest difference of a channel that counts as equal, and the largest share of other pixels, in percent. */
const [LEVELS, MOST] = [8, 0.5];
const START_MS = 60_000;
const SEED = 37;

const FOLDER = '/usr/share/fonts/truetype/';
/** The files that Chromium takes for the fonts of the pages, in Debian's packages. */
const FONTS = [
  ...family('Arial', 'liberation/LiberationSans-', 'sans-serif'),
  ...family('Times New Roman', 'liberation/LiberationSerif-', 'serif'),
  ...family('Courier New', 'liberation/LiberationMono-', 'monospace'),
  ...family('Noto Sans', 'noto/NotoSans-'),
  { name: 'DejaVu Sans', path: `${FOLDER}dejavu/DejaVuSans.ttf`, weight: 400 },
  { name: 'DejaVu Sans', path: `${FOLDER}dejavu/DejaVuSans-Bold.ttf`, weight: 700 },
  { name: 'Noto Color Emoji', path: `${FOLDER}noto/NotoColorEmoji.ttf`, generic: 'emoji' },
];

function family(name: string, path: string, generic?: string) {
  const of = (file: string, weight: number) => ({
    name,
    path: `${FOLDER}${path}${file}.ttf`,
    weight,
    generic,
  });
  return [of('Regular', 400), of('Bold', 700)];
}

/** A picture that Takumi drew, in RGBA, with the time that it took and the resident memory of the process in bytes. */
interface Drawing {
  pixels: Uint8Array;
  /** Width in pixels of all lines of text together. */
  textWidth: number;
  wallMs: number;
  cpuMs: number;
  memory: number;
}

/** A process that draws with Takumi. */
interface Takumi extends AsyncDisposable {
  draw(html: string): Promise<Drawing>;
}

/** Starts Takumi in a temporary folder from which it finds its packages. */
async function startTakumi(): Promise<Takumi> {
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'quality-takumi-')), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  await symlink(join(await takumiItem.get(console.error), 'node_modules'), join(folder, 'node_modules'));
  const script = join(folder, 'takumi.mjs');
  await copyFile(fileURLToPath(new URL('./takumi.mjs', import.meta.url)), script);
  const args = [WIDTH, HEIGHT, FONTS].map((it) => JSON.stringify(it));
  const child = fork(script, args, { execArgv: [], serialization: 'advanced' });
  open.defer(async () => {
    child.disconnect();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await once(child, 'message', { signal: AbortSignal.timeout(START_MS) });
  const running = open.move();
  return {
    async draw(html) {
      child.send({ html });
      const [answer]: unknown[] = await once(child, 'message', { signal: AbortSignal.timeout(START_MS) });
      if (!isRecord(answer) || !(answer.pixels instanceof Uint8Array))
        throw new Error(`Takumi drew nothing: ${isRecord(answer) ? answer.error : answer}`);
      const { pixels, textWidth, wallMs, cpuMs, memory } = answer;
      const used = { wallMs: Number(wallMs), cpuMs: Number(cpuMs), memory: Number(memory) };
      return { pixels, textWidth: Number(textWidth), ...used };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Draws a page with Chromium, to a PNG. */
interface Unhinted extends AsyncDisposable {
  draw(html: string): Promise<Uint8Array>;
}

/**
 * Starts Chromium with hinting of system fonts off. Its flag --font-render-hinting has no effect on them: they are hinted as
 * fontconfig says, on Debian slightly.
 */
async function startUnhinted(): Promise<Unhinted> {
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'quality-unhinted-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  const config = join(folder, 'fonts.conf');
  await writeFile(
    config,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include>/etc/fonts/fonts.conf</include>
    <match target="font"><edit name="hintstyle" mode="assign"><const>hintnone</const></edit></match>
    <match target="pattern"><edit name="hintstyle" mode="assign"><const>hintnone</const></edit></match></fontconfig>`,
  );
  const browser = open.adopt(
    await puppeteer.launch({
      executablePath: await findBrowser(),
      ignoreDefaultArgs: true,
      args: [...chromiumFlags(join(folder, 'profile')), '--no-sandbox'],
      env: { ...process.env, FONTCONFIG_FILE: config },
      pipe: true,
      waitForInitialPage: false,
      defaultViewport: { width: WIDTH, height: HEIGHT },
    }),
    (it) => it.close(),
  );
  const page = await browser.newPage();
  const running = open.move();
  return {
    async draw(html) {
      await page.setContent(html, { waitUntil: 'load' });
      return await page.screenshot();
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** How many pixels differ, and how many are in the box around all that is not page background. */
interface Difference {
  off: number;
  content: number;
}

/** Compares pictures of the default viewport. @param png Chromium's @param theirs Takumi's, in RGBA */
async function compare(png: Uint8Array, theirs: Uint8Array): Promise<Difference> {
  const ours = await sharp(png).removeAlpha().raw().toBuffer();
  const level = (at: number) => ours[at] ?? 0;
  // The last pixel shows the background of the page.
  const last = 3 * (PIXELS - 1);
  let off = 0;
  let [left, top, right, bottom] = [WIDTH, HEIGHT, -1, -1];
  for (let at = 0; at < PIXELS; at++) {
    let [difference, contrast] = [0, 0];
    for (let channel = 0; channel < 3; channel++) {
      const own = level(3 * at + channel);
      difference = Math.max(difference, Math.abs(own - (theirs[4 * at + channel] ?? 0)));
      contrast = Math.max(contrast, Math.abs(own - level(last + channel)));
    }
    if (difference > LEVELS) off += 1;
    if (contrast <= LEVELS) continue;
    const [x, y] = [at % WIDTH, Math.floor(at / WIDTH)];
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  return { off, content: Math.max(1, (right - left + 1) * (bottom - top + 1)) };
}

interface Result {
  card: Card;
  textWidth: number;
  hinted: Difference;
  unhinted: Difference;
}
type Engine = 'hinted' | 'unhinted';
const ENGINES: readonly Engine[] = ['hinted', 'unhinted'];

const EMOJI = /\p{Extended_Pictographic}/u;
const SHEET_BODY = /^\.\w+\{[^}]*font-family[^}]*gradient/m;

/** Whether the page has what Takumi draws otherwise: gradients on a short canvas, SVG images, shadows of text, emoji. */
const isOdd = ({ html }: Card): boolean =>
  ((/<body[^>]*gradient/.test(html) || SHEET_BODY.test(html)) && !html.includes('100vh')) ||
  html.includes('svg+xml') ||
  html.includes('text-shadow') ||
  EMOJI.test(html);

/**
 * Makes a checker that lets a page pass if its text is so little that the pixels at the edges of its letters stay below the
 * limit. The pixels for each pixel of text width, and those for the boxes, are the worst of the given pages and 15 % more.
 */
function makeChecker(results: readonly Result[], engine: Engine) {
  const plain = results.filter(({ card }) => !isOdd(card));
  const boxes = 1.15 * Math.max(0, ...plain.filter((it) => it.card.isTextFree).map((it) => it[engine].off));
  const rates = plain.filter((it) => it.textWidth > 0).map((it) => (it[engine].off - boxes) / it.textWidth);
  const rate = 1.15 * Math.max(0, ...rates);
  return ({ card, textWidth }: Result, size: number): boolean =>
    !isOdd(card) && boxes + rate * textWidth <= (MOST / 100) * size;
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;

/** Two cells: how many pages are within the limit, and the shares of pixels that differ, in percent. */
function cellsOf(shares: readonly number[], of: number): string[] {
  const within = shares.filter((share) => share <= MOST).length;
  const count =
    of === shares.length ? `${within} of ${of}` : `${within} of ${shares.length} let pass of ${of}`;
  if (shares.length === 0) return [count, ''];
  return [count, [0.5, 0.9, 1].map((share) => percentile(shares, share).toFixed(2)).join(' / ')];
}

const GROUPS: readonly [name: string, belongs: (card: Card) => boolean][] = [
  ['all pages', () => true],
  ['without text', (card) => card.isTextFree],
  ['single lines of Arial on one colour', (card) => card.isPlain],
  ['other text', (card) => !card.isTextFree && !card.isPlain],
];
const AREAS: readonly [name: string, area: (difference: Difference) => number][] = [
  ['', () => PIXELS],
  [', of the content', ({ content }) => content],
];

function tableOf(results: readonly Result[]): string {
  const half = Math.ceil(results.length / 2);
  const heldOut = results.slice(half);
  const share = (it: Difference, area: (difference: Difference) => number) => (100 * it.off) / area(it);
  const groups = AREAS.flatMap(([suffix, area]) =>
    GROUPS.map(([name, belongs]) => {
      const found = results.filter(({ card }) => belongs(card));
      const cells = ENGINES.flatMap((it) =>
        cellsOf(
          found.map((row) => share(row[it], area)),
          found.length,
        ),
      );
      return [name + suffix, ...cells];
    }),
  );
  const checkers = AREAS.map(([suffix, area]) => {
    const cells = ENGINES.flatMap((it) => {
      const passes = makeChecker(results.slice(0, half), it);
      const passed = heldOut.filter((row) => passes(row, area(row[it])));
      return cellsOf(
        passed.map((row) => share(row[it], area)),
        heldOut.length,
      );
    });
    return [`checker, second half${suffix}`, ...cells];
  });
  const spread = 'median / 90 % / worst';
  const head = [`pages with ≤ ${MOST} % of pixels off`, 'as hinted today', spread, 'without hinting', spread];
  return table(head, [...groups, ...checkers]);
}

/** Returns the CPU time of processes and of their children that have ended, in ms. */
const cpuMsOf = (pids: readonly number[]): number => 1000 * pids.reduce((sum, pid) => sum + cpuOf(pid), 0);

/**
 * Draws pages with html-to-image and with Takumi, which uses no browser, and counts the pixels that differ.
 *
 * @param pages number of pages
 */
export async function compareTakumi(pages = 500): Promise<Report> {
  await using owned = new AsyncDisposableStack();
  const site = await startSite({});
  owned.defer(() => site.close());
  const resource = owned.use(await openBrowsers());
  const tool = await loadTool('html-to-image');
  const takumi = owned.use(await startTakumi());
  const unhinted = owned.use(await startUnhinted());

  const browserMs: number[] = [];
  const drawings: Omit<Drawing, 'pixels'>[] = [];
  const results: Result[] = [];
  let browserCpuMs = 0;
  for (const card of await makeCards(pages, SEED)) {
    const [began, cpu] = [performance.now(), cpuMsOf(processTree(process.pid))];
    const { fileBase64 } = await tool.call({ html: card.html }, { egress: site.guard(), resource });
    browserMs.push(performance.now() - began);
    browserCpuMs += cpuMsOf(processTree(process.pid)) - cpu;
    const { pixels, ...drawing } = await takumi.draw(card.html);
    drawings.push(drawing);
    results.push({
      card,
      textWidth: drawing.textWidth,
      hinted: await compare(Buffer.from(String(fileBase64), 'base64'), pixels),
      unhinted: await compare(await unhinted.draw(card.html), pixels),
    });
  }

  const walls = drawings.map((it) => it.wallMs);
  const figures = {
    pages,
    'html-to-image p50 ms': percentile(browserMs, 0.5),
    'its CPU ms': browserCpuMs / pages,
    'Takumi first ms': walls[0] ?? Number.NaN,
    'p50 ms': percentile(walls, 0.5),
    'p95 ms': percentile(walls, 0.95),
    'CPU ms': mean(drawings.map((it) => it.cpuMs)),
    MB: Math.max(...drawings.map((it) => it.memory)) / 1e6,
  };
  return {
    figures: [figures],
    document: null,
    anchors: { name: 'takumi', text: tableOf(results) },
    isGood: true,
  };
}
