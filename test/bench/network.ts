import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { MEMORY_VARIABLES } from '../../dev/memoryVariables.ts';
import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { makeAccount } from '../helpers/account.ts';
import { listen, soon } from '../helpers/egress.ts';
import { makeDocx } from '../helpers/office.ts';
import type { Stack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import type { LoopDelay } from './eventLoop.ts';
import { measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

interface HttpRow {
  /** Milliseconds that the target takes to respond. */
  targetMs: number;
  /** p50 of a plain request with undici, in milliseconds. */
  bare: number;
  /** p50 of a hash-text call in milliseconds, which measures the overhead of a call. */
  empty: number;
  /** p50 of an http-request call, in milliseconds. */
  call: number;
  /** (call - empty) / bare. */
  ratio: number;
}

interface NetworkFigures {
  http: HttpRow[];
  /** Event loop delay of the network worker during concurrent web-scrape calls of a page of 1 MB. */
  scrapes: LoopDelay & { answered: number; seconds: number };
  vetMicroseconds: number;
}

const PAGE_BYTES = 1_000_000;

/** Creates an HTML page of paragraphs, links and images. */
function makePage(): string {
  const parts: string[] = [];
  for (let bytes = 0, i = 0; bytes < PAGE_BYTES; i++) {
    const part = `<div class="c${i % 7}"><h2>Part ${i}</h2><p>All work and no play makes <a href="/page/${i}">Jack</a> a
dull boy, &amp; more of <em>the same</em>.</p><img src="/i/${i}.png" alt="Picture ${i}" width="10" height="10"></div>\n`;
    parts.push(part);
    bytes += part.length;
  }
  return `<!doctype html><html lang="en"><title>A page</title><body>${parts.join('')}</body></html>`;
}

/** The target server. Start it before the stack, which needs its `env`. */
export interface NetworkTarget extends AsyncDisposable {
  /** Environment variables with which the stack may connect to the target. */
  env: Record<string, string>;
  url: string;
  folder: string;
}

export async function startTarget(): Promise<NetworkTarget> {
  const page = makePage();
  const document = makeDocx();
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    if (url === '/page') response.end(page);
    else if (url === '/document.docx') response.end(document);
    else setTimeout(() => response.end('<title>Hi</title>'), Number(url.slice(1)));
  });
  const port = await listen(server);
  const folder = mkdtempSync(join(tmpdir(), 'bench-loop-'));
  return {
    env: {
      EGRESS_ALLOW: `127.0.0.1:${port}`,
      NODE_OPTIONS: `${MEMORY_VARIABLES.NODE_OPTIONS} --import=${fileURLToPath(new URL('./eventLoop.ts', import.meta.url))}`,
      BENCH_LOOP_DIR: folder,
    },
    url: `http://127.0.0.1:${port}`,
    folder,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      rmSync(folder, { recursive: true });
    },
  };
}

async function benchHttp(
  stack: Stack,
  url: string,
  targetMs: number,
  { rounds, requests, warmUp }: Sizes['network'],
): Promise<HttpRow> {
  const account = await makeAccount(stack, 1_000_000);
  const call = async (tool: string, body: object) => {
    const response = await account.call(tool, body);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const runs = {
    bare: async () => (await request(`${url}/${targetMs}`)).body.dump(),
    empty: () => call('hash-text', { text: '' }),
    call: () => call('http-request', { url: `${url}/${targetMs}` }),
  };
  // The three kinds of requests alternate, so that other load on the machine affects all of them alike.
  const durations: Record<keyof typeof runs, number[]> = { bare: [], empty: [], call: [] };
  const names = ['bare', 'empty', 'call'] as const;
  for (const name of names) await measure(warmUp, 1, runs[name]);
  for (let turn = 0; turn < rounds * requests; turn++)
    for (const name of names) durations[name].push((await measure(1, 1, runs[name])).p50);
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
  const [bare, empty, whole] = [median(durations.bare), median(durations.empty), median(durations.call)];
  return { targetMs, bare, empty, call: whole, ratio: (whole - empty) / bare };
}

/** Ends the measurement of a process's event loop and returns its result. */
async function readLoop(pid: number, folder: string): Promise<LoopDelay> {
  const path = join(folder, String(pid));
  rmSync(path, { force: true });
  process.kill(pid, 'SIGUSR2');
  const text = await until('the worker has written its event loop delay', async () => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return null; // the process has not written its histogram yet
    }
  });
  return JSON.parse(text);
}

async function benchScrapes(stack: Stack, { url, folder }: NetworkTarget, scrapes: number) {
  const pid = stack.pid('network');
  if (pid === undefined) throw new Error('the network worker is down');
  const account = await makeAccount(stack, 1_000_000);
  let answered = 0;
  const scrape = async () => {
    const response = await account.call('web-scrape', { url: `${url}/page` });
    await response.arrayBuffer();
    // On a slow machine, some calls may exceed the tool's timeout.
    if (response.status === 200) answered += 1;
  };
  await scrape();
  process.kill(pid, 'SIGUSR2');
  answered = 0;
  const { perSecond } = await measure(scrapes, scrapes, scrape);
  return { ...(await readLoop(pid, folder)), answered, seconds: scrapes / perSecond };
}

async function benchVet(vets: number): Promise<number> {
  const guard = createGuard({ resolver: createResolver({ servers: [] }), ownPorts: [] });
  const limits = soon();
  const vet = () =>
    guard.vet(guard.parseTarget('http://93.184.215.14/', { kind: 'url', pointer: '/url' }), limits);
  await measure(vets / 50, 1, vet);
  const { perSecond } = await measure(vets, 1, vet);
  return 1e6 / perSecond;
}

/**
 * Compares calls of the network pool with plain requests, and measures the delay of the worker's event loop and the
 * cost of the guard.
 */
export async function benchNetwork(
  stack: Stack,
  target: NetworkTarget,
  sizes: Sizes['network'],
): Promise<NetworkFigures> {
  const http = [await benchHttp(stack, target.url, 0, sizes), await benchHttp(stack, target.url, 100, sizes)];
  return {
    http,
    scrapes: await benchScrapes(stack, target, sizes.scrapes),
    vetMicroseconds: await benchVet(sizes.vets),
  };
}
