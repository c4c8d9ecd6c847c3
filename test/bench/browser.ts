import puppeteer from 'puppeteer';
import { BROWSERS } from '../../activities/browser/resource.ts';
import { CHROMIUM, openBrowsers, startSite } from '../helpers/browser.ts';
import { loadTool } from '../helpers/tool.ts';
import { type Measured, measure } from './measure.ts';

export interface BrowserRow {
  atOnce: number;
  bare: Measured;
  ours: Measured;
  latency: number;
  throughput: number;
}

const TIMES = 20;
const PAGE = `<!doctype html><title>Simple</title><style>body{font:16px sans-serif}</style><h1>A simple page</h1>${'<p>Some text on it.</p>'.repeat(30)}<img src="/dot.svg" width="200" height="200">`;

/**
 * website-screenshot of a simple page at 1440 x 900 beside the same Chromium in puppeteer's hands, warm, with the same
 * waits (load, quiet, fonts), in turns; neither with a call around it.
 */
export async function benchBrowser(rounds: number): Promise<BrowserRow[]> {
  const tool = await loadTool('website-screenshot');
  const site = await startSite({
    '/': PAGE,
    '/dot.svg': (_, response) =>
      response
        .writeHead(200, { 'Content-Type': 'image/svg+xml' })
        .end('<svg xmlns="http://www.w3.org/2000/svg"><circle cx="50" cy="50" r="40"/></svg>'),
  });
  await using resource = await openBrowsers({ seats: BROWSERS });
  const browser = await puppeteer.launch({
    executablePath: CHROMIUM,
    args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars'],
    pipe: true,
  });
  const bare = async (): Promise<void> => {
    const page = await browser.newPage();
    await page.setViewport({ width: 1440, height: 900 });
    await page.goto(`${site.origin}/`, { waitUntil: 'load' });
    await page.waitForNetworkIdle({ idleTime: 40 });
    await page.evaluate(() => document.fonts.ready.then(() => true));
    await page.screenshot();
    await page.close();
  };
  const ours = () => tool.call({ url: `${site.origin}/` }, { egress: site.guard(), resource });
  try {
    const rows: BrowserRow[] = [];
    for (const atOnce of [1, 4]) {
      await measure(2 * BROWSERS, atOnce, bare);
      await measure(2 * BROWSERS, atOnce, ours);
      const runs: { bare: Measured; ours: Measured }[] = [];
      for (let round = 0; round < rounds; round++)
        runs.push({ bare: await measure(TIMES, atOnce, bare), ours: await measure(TIMES, atOnce, ours) });
      const ratio = (run: (typeof runs)[number]) => run.ours.p50 / run.bare.p50;
      const [middle] = runs.toSorted((a, b) => ratio(a) - ratio(b)).slice(Math.floor(runs.length / 2));
      if (middle === undefined) throw new Error('no rounds');
      rows.push({
        atOnce,
        ...middle,
        latency: ratio(middle),
        throughput: middle.ours.perSecond / middle.bare.perSecond,
      });
    }
    return rows;
  } finally {
    await browser.close();
    site.close();
  }
}
