import { waitUntilPainted } from '../../activities/browser/page/settled.ts';
import { BROWSERS } from '../../activities/browser/resource.ts';
import { makeAccount } from '../helpers/account.ts';
import { CHROMIUM, isBrowser, launchChromium, SHELL, type Site, startSite } from '../helpers/browser.ts';
import { processesWith } from '../helpers/processes.ts';
import type { Stack } from '../helpers/stack.ts';
import { type Measured, measure } from './measure.ts';
import { type Peer, startPeers } from './peers.ts';

export interface BrowserRow {
  page: keyof typeof PAGES;
  atOnce: number;
  /** The bare script, as many of it at once. */
  bare: Measured;
  /** The bare script as it is, a page after the other. */
  script: Measured | null;
  /** The bare script with Chromium as people have it, which opens windows that nobody sees. */
  windows: Measured;
  /** Of the page without a script, one at a time: capture-website may hang with more. */
  peers: Record<Peer, Measured> | null;
  /** A call of hash-text, which does next to nothing. */
  empty: Measured;
  ours: Measured;
  /** Ours, less the empty call, by the bare script's. */
  latency: number;
  /** Ours by as many bare scripts. */
  throughput: number;
  /** Ours by the bare script as it is. */
  throughputByScript: number | null;
  throughputByWindows: number;
}

export interface BrowserFigures {
  rows: BrowserRow[];
  /** Milliseconds of the whole picture of a page that grows for as long as it is scrolled. */
  feed: Measured;
  /** How both sides were started. */
  configurations: Record<'bare' | 'windows' | 'ours', string>;
}

const TIMES = 20;
const FEEDS = 3;
const SIMPLE = `<!doctype html><title>Simple</title><style>body{font:16px sans-serif}</style><h1>A simple page</h1>${'<p>Some text on it.</p>'.repeat(30)}<img src="/dot.svg" width="200" height="200">`;
const SCRIPTED = `${SIMPLE}<script>document.body.append('And a script that says so.')</script>`;
/** A page, and how long its network has to be quiet: what has a script may ask for more at any time. */
const PAGES = {
  still: { path: '/', quietMs: 40 },
  scripted: { path: '/scripted', quietMs: 500 },
} as const;
const FEED = `<!doctype html><title>Feed</title><body><script>
  const add=()=>{for(let i=0;i<10;i++)document.body.append(Object.assign(document.createElement('p'),{textContent:'item'}))};
  add();addEventListener('scroll',add);setInterval(add,50)</script>`;

/** The pages; they have to be there before the stack is started, which is to be let through to them. */
export const startPages = (): Promise<Site> =>
  startSite({
    [PAGES.still.path]: SIMPLE,
    [PAGES.scripted.path]: SCRIPTED,
    '/feed': FEED,
    '/dot.svg': (_, response) =>
      response
        .writeHead(200, { 'Content-Type': 'image/svg+xml' })
        .end('<svg xmlns="http://www.w3.org/2000/svg"><circle cx="50" cy="50" r="40"/></svg>'),
  });

const FLAGS = ['--disable-gpu', '--hide-scrollbars'];

/** Puppeteer alone, warm, with the same waits as ours: load, as long a quiet, and all of it drawn. */
async function startBare(program: string) {
  const browser = await launchChromium(FLAGS, program);
  return {
    configuration: `${await browser.version()} ${browser.process()?.spawnargs.slice(1).join(' ')}`,
    shoot: (url: string, quietMs: number) => async (): Promise<void> => {
      const page = await browser.newPage();
      await page.setViewport({ width: 1440, height: 900 });
      await page.goto(url, { waitUntil: 'load' });
      await page.waitForNetworkIdle({ idleTime: quietMs });
      await page.evaluate(waitUntilPainted, 3_000);
      await page.screenshot();
      await page.close();
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

const medianBy = <T>(items: readonly T[], of: (item: T) => number): T => {
  const middle = items.toSorted((a, b) => of(a) - of(b))[Math.floor(items.length / 2)];
  if (middle === undefined) throw new RangeError('no rounds');
  return middle;
};

/**
 * website-screenshot of simple pages at 1440 x 900, from request to response, beside a bare script on the same Chromium,
 * beside the same on a Chromium with windows, and beside what others offer, in turns.
 *
 * @param pages of `startPages`
 */
export async function benchBrowser(stack: Stack, pages: Site, rounds: number): Promise<BrowserFigures> {
  await using bare = await startBare(SHELL);
  await using windows = await startBare(CHROMIUM);
  await using others = await startPeers();
  const account = await makeAccount(stack, 1_000_000);
  const call = (tool: string, body: object) => async () => {
    const response = await account.call(tool, body);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const empty = call('hash-text', { text: 'bench' });

  async function row(page: keyof typeof PAGES, atOnce: number): Promise<BrowserRow> {
    const { path, quietMs } = PAGES[page];
    const url = `${pages.origin}${path}`;
    const peer = (name: Peer) => () => others.shoot(name, url);
    const once = async (times: number) => ({
      bare: await measure(times, atOnce, bare.shoot(url, quietMs)),
      script: atOnce === 1 ? null : await measure(times, 1, bare.shoot(url, quietMs)),
      windows: await measure(times, atOnce, windows.shoot(url, quietMs)),
      ours: await measure(times, atOnce, call('website-screenshot', { url })),
      empty: await measure(times, atOnce, empty),
      peers:
        atOnce === 1 && page === 'still'
          ? {
              'capture-website': await measure(times, 1, peer('capture-website')),
              browserless: await measure(times, 1, peer('browserless')),
            }
          : null,
    });
    await once(2 * BROWSERS);
    const runs: BrowserRow[] = [];
    for (let round = 0; round < rounds; round++) {
      const run = await once(TIMES);
      runs.push({
        page,
        atOnce,
        ...run,
        latency: (run.ours.p50 - run.empty.p50) / run.bare.p50,
        throughput: run.ours.perSecond / run.bare.perSecond,
        throughputByScript: run.script && run.ours.perSecond / run.script.perSecond,
        throughputByWindows: run.ours.perSecond / run.windows.perSecond,
      });
    }
    return medianBy(runs, atOnce === 1 ? (run) => run.latency : (run) => run.throughput);
  }

  const rows: BrowserRow[] = [];
  for (const page of ['still', 'scripted'] as const)
    for (const atOnce of [1, 4]) rows.push(await row(page, atOnce));
  const endless = call('website-screenshot', { url: `${pages.origin}/feed`, fullPage: true, format: 'jpeg' });
  const feed = await measure(FEEDS, 1, endless);
  const own = processesWith(`ut-browsers-${stack.pid('browser')}-`).find(isBrowser);
  return {
    rows,
    feed,
    configurations: {
      bare: bare.configuration,
      windows: windows.configuration,
      ours: `${BROWSERS} x ${own?.replace(/^\d+ /, '')}`,
    },
  };
}
