import { waitUntilPainted } from '../../activities/browser/page/settled.ts';
import { BROWSERS } from '../../activities/browser/resource.ts';
import { makeAccount } from '../helpers/account.ts';
import {
  findBrowser,
  findFullChromium,
  isBrowser,
  launchChromium,
  type Site,
  startSite,
} from '../helpers/browser.ts';
import { processesWith } from '../helpers/processes.ts';
import type { Stack } from '../helpers/stack.ts';
import { type Competitor, startCompetitors } from './competitors.ts';
import { type Measured, measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

interface BrowserRow {
  page: keyof typeof PAGES;
  concurrency: number;
  /** Figures of a bare Puppeteer script with the same headless shell and the same concurrency. */
  bare: Measured;
  /** Figures of the bare script without concurrency; null in rows without concurrency, where it equals `bare`. */
  script: Measured | null;
  /** Figures of the bare script with the regular Chromium, which creates invisible windows. */
  windows: Measured;
  /**
   * Figures of other screenshot libraries. Only in the row of the page without a script and without concurrency,
   * because capture-website may hang with the others.
   */
  competitors: Record<Competitor, Measured> | null;
  /** Figures of hash-text calls, which measure the overhead of a call. */
  empty: Measured;
  /** Figures of website-screenshot calls. */
  ours: Measured;
  /** (ours - empty) / bare, computed from the p50. */
  latency: number;
  /** ours / bare, computed from the calls per second. */
  throughput: number;
  /** ours / script, computed from the calls per second; null where `script` is null. */
  throughputByScript: number | null;
  /** ours / windows, computed from the calls per second. */
  throughputByWindows: number;
}

interface BrowserFigures {
  rows: BrowserRow[];
  /** Figures of full-page screenshots of a page that grows while it is scrolled. */
  feed: Measured;
  /** Version and command line of the browsers. */
  configurations: Record<'bare' | 'windows' | 'ours', string>;
}

const SIMPLE = `<!doctype html><title>Simple</title><style>body{font:16px sans-serif}</style><h1>A simple page</h1>${'<p>Some text on it.</p>'.repeat(30)}<img src="/dot.svg" width="200" height="200">`;
const SCRIPTED = `${SIMPLE}<script>document.body.append('And a script that says so.')</script>`;
/**
 * Path of each page, and for how many milliseconds its network must be idle before the capture. A page with a script
 * may send requests at any time.
 */
const PAGES = {
  still: { path: '/', quietMs: 40 },
  scripted: { path: '/scripted', quietMs: 500 },
} as const;
const FEED = `<!doctype html><title>Feed</title><body><script>
  const add=()=>{for(let i=0;i<10;i++)document.body.append(Object.assign(document.createElement('p'),{textContent:'item'}))};
  add();addEventListener('scroll',add);setInterval(add,50)</script>`;

/**
 * Starts the website with the pages. Call it before the stack is started, whose `EGRESS_ALLOW` must contain its port.
 */
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

/** Starts a warm browser for the bare script. The script waits for the same conditions as website-screenshot. */
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
 * Compares website-screenshot of simple pages at 1440 x 900, from request to response, with a bare Puppeteer script on
 * the same Chromium, the same script on a Chromium with windows, and other libraries. The runs alternate.
 *
 * @param pages the website from `startPages`
 */
export async function benchBrowser(
  stack: Stack,
  pages: Site,
  { rounds, runs: runsPerRound, warmUp, concurrencies, feeds, ...sizes }: Sizes['browser'],
): Promise<BrowserFigures> {
  await using bare = await startBare(await findBrowser());
  await using windows = await startBare(await findFullChromium());
  await using others = await startCompetitors();
  const account = await makeAccount(stack, 1_000_000);
  const call = (tool: string, body: object) => async () => {
    const response = await account.call(tool, body);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const empty = call('hash-text', { text: 'bench' });

  async function row(page: keyof typeof PAGES, concurrency: number): Promise<BrowserRow> {
    const { path, quietMs } = PAGES[page];
    const url = `${pages.origin}${path}`;
    const competitor = (name: Competitor) => () => others.shoot(name, url);
    const once = async (times: number) => ({
      bare: await measure(times, concurrency, bare.shoot(url, quietMs)),
      script: concurrency === 1 ? null : await measure(times, 1, bare.shoot(url, quietMs)),
      windows: await measure(times, concurrency, windows.shoot(url, quietMs)),
      ours: await measure(times, concurrency, call('website-screenshot', { url })),
      empty: await measure(times, concurrency, empty),
      competitors:
        concurrency === 1 && page === 'still'
          ? {
              'capture-website': await measure(times, 1, competitor('capture-website')),
              browserless: await measure(times, 1, competitor('browserless')),
            }
          : null,
    });
    await once(warmUp);
    const runs: BrowserRow[] = [];
    for (let round = 0; round < rounds; round++) {
      const run = await once(runsPerRound);
      runs.push({
        page,
        concurrency,
        ...run,
        latency: (run.ours.p50 - run.empty.p50) / run.bare.p50,
        throughput: run.ours.perSecond / run.bare.perSecond,
        throughputByScript: run.script && run.ours.perSecond / run.script.perSecond,
        throughputByWindows: run.ours.perSecond / run.windows.perSecond,
      });
    }
    return medianBy(runs, concurrency === 1 ? (run) => run.latency : (run) => run.throughput);
  }

  const rows: BrowserRow[] = [];
  for (const page of (['still', 'scripted'] as const).slice(0, sizes.pages))
    for (const concurrency of concurrencies) rows.push(await row(page, concurrency));
  const endless = call('website-screenshot', { url: `${pages.origin}/feed`, fullPage: true, format: 'jpeg' });
  const feed = await measure(feeds, 1, endless);
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
