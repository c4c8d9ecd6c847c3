import { createReadStream } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import type { Pool } from '../../schemas/pools.ts';
import { listen } from '../helpers/egress.ts';
import { isRecord } from '../helpers/json.ts';
import { makeDocx } from '../helpers/office.ts';
import type { Stack } from '../helpers/stack.ts';

/** Milliseconds that a flooding account waits after a refused call without a `Retry-After` header. */
const REFUSED_MS = 1000;
/** Milliseconds after which the target of `/slow` responds. */
const SLOW_MS = 2000;
/** Milliseconds for which the script of the busy page runs. */
const BUSY_MS = 10_000;
/** Depth of the tables in the nested document, which LibreOffice converts in seconds. */
const TABLES = 60;
/** Bytes of the large response, which is the largest that http-request returns. */
const LARGE_BYTES = 5_000_000;
/** An argon2 hash whose verification takes a core for about a second; it need not match. */
const SLOW_HASH = '$argon2id$v=19$m=65536,t=16,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';

export interface Call {
  tool: string;
  body: Record<string, unknown>;
}

/** Calls of one account that keep a pool busy, and the cheapest call of the pool, which another account makes. */
export interface Flood {
  pool: Pool;
  flood: Call;
  other: Call;
  /** Calls that each flooding account keeps open. Default: the limit of running calls of an account in one pool. */
  concurrency?: number;
  /** Number of flooding accounts. */
  flooders: number;
}

export const HASH: Call = { tool: 'hash-text', body: { text: 'bench' } };

export type LongFlood = 'nested documents' | 'busy pages' | 'long argon2-verify' | 'silent targets';

/** Floods of long calls, some of which end at their time limit and cost nothing. @param target base URL of `startTarget` */
export const longFloods = (target: string): Record<LongFlood, Flood> => ({
  'nested documents': {
    pool: 'heavy',
    flood: { tool: 'word-to-pdf', body: { fileUrl: `${target}/nested.docx` } },
    other: { tool: 'word-to-pdf', body: { fileUrl: `${target}/short.docx` } },
    concurrency: 3,
    flooders: 1,
  },
  'busy pages': {
    pool: 'browser',
    flood: { tool: 'website-screenshot', body: { url: `${target}/busy` } },
    other: { tool: 'html-to-image', body: { html: '<h1>Hi</h1>' } },
    flooders: 1,
  },
  'long argon2-verify': {
    pool: 'cpu',
    flood: { tool: 'argon2-verify', body: { password: 'bench', hash: SLOW_HASH } },
    other: HASH,
    flooders: 1,
  },
  'silent targets': {
    pool: 'network',
    flood: { tool: 'http-request', body: { url: `${target}/silent` } },
    other: { tool: 'http-request', body: { url: `${target}/` } },
    flooders: 2,
  },
});

/** Keeps this many calls open until the signal aborts. @returns the number of successful calls */
export async function flood(
  call: () => Promise<Response>,
  concurrency: number,
  signal?: AbortSignal,
): Promise<number> {
  let done = 0;
  const loop = async () => {
    while (signal?.aborted !== true) {
      const response = await call();
      await response.arrayBuffer();
      if (response.status === 200) done++;
      else {
        const after = Number(response.headers.get('Retry-After')) * 1000 || REFUSED_MS;
        await sleep(after, undefined, signal && { signal }).catch(() => undefined);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  return done;
}

/** The server that the tools of floods and attacks call. */
export interface Target extends Disposable {
  port: number;
  url: string;
}

/** Starts the target on loopback. Paths that it does not know return a small picture. */
export async function startTarget(): Promise<Target> {
  const pictureOf = (side: number): Promise<Buffer> =>
    sharp({ create: { width: side, height: side, channels: 3, background: '#c43' } })
      .png()
      .toBuffer();
  const [picture, big] = [await pictureOf(16), await pictureOf(256)];
  const paragraph = '<w:p><w:r><w:t>Text</w:t></w:r></w:p>';
  const nested = `${'<w:tbl><w:tr><w:tc>'.repeat(TABLES)}${paragraph}${`${paragraph}</w:tc></w:tr></w:tbl>`.repeat(TABLES)}`;
  const documents = {
    '/short.docx': makeDocx({ body: paragraph }),
    '/nested.docx': makeDocx({ body: nested }),
    '/large': Buffer.alloc(LARGE_BYTES, 'a'),
  };
  const page = `<h1>Busy</h1><script>for (const end = Date.now() + ${BUSY_MS}; Date.now() < end; );</script>`;
  const type = { 'Content-Type': 'image/png' };
  const answers: Readonly<Record<string, RequestListener>> = {
    ...Object.fromEntries(
      Object.entries(documents).map(([path, bytes]) => [path, (_, response) => response.end(bytes)]),
    ),
    '/silent': () => undefined,
    '/slow': (_, response) => setTimeout(() => response.writeHead(200, type).end(picture), SLOW_MS),
    '/busy': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(page),
    '/big': (_, response) => response.writeHead(200, type).end(big),
  };
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''] ?? (() => response.writeHead(200, type).end(picture));
    answer(request, response);
  });
  const port = await listen(server);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Reads the records that a process of the stack has logged since a time. */
export async function* logged(
  stack: Stack,
  name: string,
  since: number,
): AsyncGenerator<Record<string, unknown>> {
  const lines = createInterface({ input: createReadStream(join(stack.dataDir, 'logs', `${name}.log`)) });
  for await (const line of lines) {
    if (!line.startsWith('{')) continue;
    const record: unknown = JSON.parse(line);
    if (!isRecord(record)) continue;
    const at = new Date(typeof record.time === 'number' ? record.time : String(record.time)).getTime();
    if (at >= since) yield record;
  }
}

/**
 * Returns the duration in milliseconds of a flood's longest attempt since a time, from the worker's log, which needs the level
 * `info`; null if none has ended. Attempts that end at their time limit count too.
 */
export async function longestAttempt(
  stack: Stack,
  { pool, flood: { tool } }: Pick<Flood, 'pool' | 'flood'>,
  since: number,
): Promise<number | null> {
  let longest: number | null = null;
  for await (const record of logged(stack, pool, since))
    if (record.tool === tool && record.outcome !== 'cancelled')
      longest = Math.max(longest ?? 0, Number(record.ms));
  return longest;
}
