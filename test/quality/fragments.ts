import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import type { Page } from 'puppeteer';
import { createGuard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { FRAGMENTS, TARGET } from '../cases/fragments.ts';
import { launchChromium } from '../helpers/browser.ts';
import { listen } from '../helpers/egress.ts';
import { type Json, recordsAt } from '../helpers/json.ts';
import { loadTool } from '../helpers/tool.ts';
import { lychee as lycheeItem } from '../provision/items/comparisons.ts';
import type { Report } from './report.ts';

const LYCHEE_MS = 60_000;
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};
/** Links per page: broken-links checks no more. */
const LINKS = 30;

interface File {
  type: string;
  body: string | Uint8Array;
}

const hrefs = Object.keys(FRAGMENTS).map((fragment) => `/target#${fragment}`);
const own: Record<string, File> = { '/target': { type: 'text/html', body: TARGET } };
for (let at = 0; at < hrefs.length; at += LINKS) {
  const links = hrefs.slice(at, at + LINKS).map((href) => `<p><a href="${href}">a</a>`);
  own[`/own/${at}.html`] = { type: 'text/html; charset=utf-8', body: `<!doctype html>${links.join('')}` };
}

/** Returns the file at a path; a string is the path to redirect to. @param folder with further files */
function find(path: string, folder: string | undefined): File | string | null {
  const found = own[path];
  if (found !== undefined || folder === undefined) return found ?? null;
  const name = join(folder, decodeURIComponent(path));
  const stat = statSync(name, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (!stat.isDirectory())
    return { type: TYPES[extname(name)] ?? 'application/octet-stream', body: readFileSync(name) };
  return path.endsWith('/') ? find(`${path}index.html`, folder) : `${path}/`;
}

/** Returns the URLs of a page that lychee reports as broken, of those on the page's server. */
async function lychee(page: string): Promise<Set<string>> {
  const program = join(await lycheeItem.get(console.error), 'bin', 'lychee');
  // Included links are checked although all are excluded.
  const filter = ['--max-retries', '0', '--exclude', '.*', '--include', `^${new URL(page).origin}/`];
  const args = ['--include-fragments', '--format', 'json', '--no-progress', ...filter, page];
  const text = await new Promise<string>((resolve, reject) => {
    execFile(program, args, { timeout: LYCHEE_MS }, (error, stdout, stderr) => {
      // lychee exits with 2 if there are broken links.
      if (error !== null && error.code !== 2)
        reject(new Error(`lychee failed on ${page}: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
  const { error_map: errors }: { error_map: Record<string, { url: string }[]> } = JSON.parse(text);
  return new Set(Object.values(errors).flatMap((list) => list.map(({ url }) => url)));
}

/** Returns whether Chromium finds the target of a fragment; null if it does not show the page. */
async function chromium(tab: Page, url: string): Promise<boolean | null> {
  const { hash } = new URL(url);
  if (hash === '' || hash.toLowerCase() === '#top') return null;
  await tab.goto('about:blank');
  const response = await tab.goto(url).catch(() => null);
  if (response?.ok() !== true) return null;
  return (await tab.evaluate(() => document.querySelector(':target'))) !== null;
}

const verdict = (works: boolean | null): string => (works === null ? '' : works ? 'works' : 'broken');

/**
 * Compares how broken-links, lychee and Chromium judge links with fragments. Compares links to the server of the pages only,
 * and prints those that are not judged alike.
 *
 * @param folder with `.html` files beside the pages of the tests, such as the fixtures of lychee
 * @param most number of pages to compare
 */
export async function compareFragments(folder?: string, most = Number.POSITIVE_INFINITY): Promise<Report> {
  await using owned = new AsyncDisposableStack();
  const server = createServer(({ url = '' }, response) => {
    const found = find(new URL(url, 'http://host').pathname, folder);
    if (found === null) response.writeHead(404).end();
    else if (typeof found === 'string') response.writeHead(301, { Location: found }).end();
    else response.setHeader('Content-Type', found.type).end(found.body);
  });
  const port = await listen(server);
  owned.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${port}`;
  /** A guard that allows only this server and resolves no host names. */
  const egress = createGuard({
    resolver: { addresses: () => Promise.reject(new ServiceError('host_not_found')) },
    allow: [parseAllow(`127.0.0.1:${port}`)],
    ownPorts: [],
  });
  const tool = await loadTool('broken-links');
  /** Returns the links of a page; null if the file is not HTML in spite of its name. */
  async function judge(url: string): Promise<Json | null> {
    try {
      return await tool.call({ url, checkFragments: true, maxLinks: LINKS }, { egress });
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'unsupported_source') return null;
      throw error;
    }
  }
  const browser = owned.adopt(await launchChromium(), (it) => it.close());
  const tab = await browser.newPage();

  const names = folder === undefined ? [] : readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const pages = [...Object.keys(own), ...names.map((name) => `/${encodeURI(name)}`)];
  let [links, sameAsLychee, judged, sameAsChromium] = [0, 0, 0, 0];
  for (const path of pages.filter((it) => it.endsWith('.html')).slice(0, most)) {
    const report = await judge(origin + path);
    if (report === null) continue;
    const broken = await lychee(origin + path);
    for (const link of recordsAt(report.links)) {
      const url = String(link.url);
      if (!url.startsWith(`${origin}/`)) continue;
      const ours = link.broken === false;
      const theirs = !broken.has(url);
      const shown = await chromium(tab, url);
      links += 1;
      sameAsLychee += Number(ours === theirs);
      judged += Number(shown !== null);
      sameAsChromium += Number(shown === ours);
      if (ours !== theirs || (shown !== null && shown !== ours))
        console.log(
          `${path} ${url.slice(origin.length)}: ours ${verdict(ours)}, lychee ${verdict(theirs)}, Chromium ${verdict(shown)}`,
        );
    }
  }
  const figures = [
    { judge: 'lychee', links, 'judged alike': sameAsLychee },
    { judge: 'Chromium', links: judged, 'judged alike': sameAsChromium },
  ];
  return { figures, document: null, isGood: true };
}
