import { readdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import puppeteer, { type Browser } from 'puppeteer';
import { makeBrowserFolder } from '../../activities/browser/folder.ts';
import { type Browsers, type BrowsersOptions, createBrowsers } from '../../activities/browser/pool.ts';
import { findChromium, PROGRAMS } from '../../activities/browser/resource.ts';
import { createGuard, type Guard } from '../../egress/guard.ts';
import { type AllowEntry, parseAllow } from '../../schemas/formats/allow.ts';
import { listen } from './egress.ts';

/** Finds the browser that the tools use, as a worker does. */
export const findBrowser = (): Promise<string> => findChromium(null);
/** Finds a full Chromium, which can also run headed. */
export const findFullChromium = (): Promise<string> => findChromium(null, PROGRAMS.slice(1));

/** Keeps a Chromium that runs outside the sandbox from contacting any other machine. */
const LOCAL_ONLY = [
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Starts a Chromium with puppeteer, as a reference or to inspect pages. When a flag is repeated, its last value
 * applies.
 */
export const launchChromium = async (flags: readonly string[] = [], program?: string): Promise<Browser> =>
  puppeteer.launch({
    executablePath: program ?? (await findFullChromium()),
    args: ['--no-sandbox', ...LOCAL_ONLY, ...flags],
  });

/**
 * Starts browsers as a worker does, with the strongest sandbox and all their files in a temporary folder. Disposing the
 * result stops the browsers and removes the folder.
 */
export async function openBrowsers(
  options: Partial<BrowsersOptions> = {},
): Promise<Browsers & { folder: string; lines: string[] }> {
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const folder = await makeBrowserFolder(log);
  const browsers = await createBrowsers({
    program: options.program ?? (await findBrowser()),
    boundary: { namespace: 'tree', sandbox: true },
    folder: folder.path,
    memoryBytes: 2_000_000_000,
    jobs: [50, 100],
    slots: 1,
    ads: null,
    log,
    ...options,
  });
  return {
    ...browsers,
    folder: folder.path,
    lines,
    async [Symbol.asyncDispose]() {
      await browsers[Symbol.asyncDispose]();
      const left = await readdir(folder.path);
      await folder[Symbol.asyncDispose]();
      if (left.length > 0) throw new Error(`browsers have left ${left}`);
    },
  };
}

/** Whether a line of `processesWith` is Chromium's main process, not its launcher or one of its child processes. */
export const isBrowser = (line: string): boolean =>
  /^\d+ \S*chromium(?:-headless-shell)? (?!.*--type=)/.test(line);
export const isRenderer = (line: string): boolean => line.includes(' --type=renderer ');

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * A website on loopback. A text value is served as a page, a function handles the request itself, and any other path
 * returns 404.
 */
export interface Site {
  port: number;
  origin: string;
  /** `<method> <path>` of every request, in order. */
  requests: string[];
  /** Returns a guard that allows connections to the site and to the given targets. */
  guard(...allow: string[]): Guard;
  close(): void;
}

export async function startSite(pages: Readonly<Record<string, string | Handle>>): Promise<Site> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const { pathname } = new URL(request.url ?? '/', 'http://site.invalid');
    const page = pages[pathname];
    response.on('error', () => undefined);
    if (typeof page === 'function') page(request, response);
    else if (page === undefined) response.writeHead(404).end();
    else response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page);
  });
  const port = await listen(server);
  const entries = (allow: readonly string[]): AllowEntry[] =>
    [`127.0.0.1:${port}`, ...allow].map((text) => parseAllow(text));
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    requests,
    guard: (...allow) =>
      createGuard({
        resolver: { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) },
        allow: entries(allow),
        ownPorts: [],
      }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
