import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib';
import { listen } from './egress.ts';

/** Yields the raw bytes of a server's response. The iteration ends early when the client disconnects. */
export type Script = (path: string) => Iterable<string | Buffer> | AsyncIterable<string | Buffer>;

/**
 * Compressed, it exceeds the largest permitted ratio of decoded to encoded size, which applies from one megabyte on. No
 * response is larger than a few megabytes, so that none harms a client without such a limit.
 */
const ZEROS = Buffer.alloc(3_000_000);
const text = Buffer.from('All work and no play makes Jack a dull boy.\n'.repeat(100));

function* repeat<T>(item: T, times: number): Generator<T> {
  for (let index = 0; index < times; index++) yield item;
}

const chunk = (bytes: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), Buffer.from(bytes), Buffer.from('\r\n')]);

/** Returns a zstd frame that requires the decoder to keep a window of 16 MB, twice the largest that the service accepts. */
async function wideFrame(): Promise<Buffer> {
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 24 } });
  compress.write(text);
  compress.end(text);
  return Buffer.concat(await compress.toArray());
}

const head = (...lines: string[]): string => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`;
const coded = (coding: string): string => head(`Content-Encoding: ${coding}`);

/** Hostile HTTP responses, by request path. The server closes the connection after each response. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  *'/dense-gzip'() {
    yield coded('gzip');
    yield gzipSync(ZEROS);
  },
  *'/dense-br'() {
    yield coded('br');
    yield brotliCompressSync(ZEROS, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
  },
  *'/dense-zstd'() {
    yield coded('zstd');
    yield zstdCompressSync(ZEROS);
  },
  *'/dense-thrice'() {
    yield coded('gzip, gzip, gzip');
    yield gzipSync(gzipSync(gzipSync(ZEROS)));
  },
  *'/empty-members'() {
    yield coded('gzip');
    yield* repeat(Buffer.concat(Array.from({ length: 1000 }, () => gzipSync(''))), 150);
  },
  async *'/wide-zstd'() {
    yield coded('zstd');
    yield await wideFrame();
  },
  *'/many-codings'() {
    yield coded('gzip, gzip, gzip, gzip');
    yield gzipSync(gzipSync(gzipSync(gzipSync(text))));
  },
  async *'/drip'() {
    yield head('Content-Length: 100000');
    for (const byte of repeat('x', 100_000)) {
      yield byte;
      await sleep(100);
    }
  },
  async *'/drip-headers'() {
    yield 'HTTP/1.1 200 OK\r\n';
    for (const line of repeat('X-A: b\r\n', 100_000)) {
      yield line;
      await sleep(100);
    }
  },
  async *'/silent'() {
    await sleep(600_000, undefined, { ref: false });
    yield head();
  },
  *'/many-103'() {
    yield* repeat('HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n', 10_000);
  },
  *'/redirect-loop'() {
    yield 'HTTP/1.1 302 Found\r\nLocation: /redirect-loop\r\nContent-Length: 0\r\n\r\n';
  },
  *'/half'() {
    yield head('Content-Length: 1000');
    yield 'half of it';
  },
  *'/half-chunked'() {
    yield head('Transfer-Encoding: chunked');
    yield chunk('half of it');
  },
  *'/60-mb'() {
    yield head('Transfer-Encoding: chunked');
    yield* repeat(chunk(ZEROS.subarray(0, 1_000_000)), 60);
  },
  *'/announced-60-mb'() {
    yield head('Content-Length: 60000000');
    yield ZEROS;
  },
  *'/10000-headers'() {
    yield head(...repeat('A: b', 10_000));
  },
  *'/1000-headers'() {
    yield head(...repeat('A: b', 1_000));
  },
  *'/giant-header'() {
    yield 'HTTP/1.1 200 OK\r\nX-Giant: ';
    yield* repeat('x'.repeat(10_000), 100);
  },
  *'/giant-status'() {
    yield 'HTTP/1.1 200 ';
    yield* repeat('x'.repeat(10_000), 100);
  },
  *'/giant-trailer'() {
    yield head('Transfer-Encoding: chunked');
    yield '0\r\n';
    yield* repeat(`X-A: ${'x'.repeat(1000)}\r\n`, 1000);
  },
  *'/giant-chunk-extension'() {
    yield head('Transfer-Encoding: chunked');
    yield '5;a=';
    yield* repeat('x'.repeat(10_000), 100);
  },
  *'/truncated-gzip'() {
    yield coded('gzip');
    yield gzipSync(text).subarray(0, -9);
  },
  *'/truncated-br'() {
    yield coded('br');
    yield brotliCompressSync(text).subarray(0, -3);
  },
  *'/truncated-zstd'() {
    yield coded('zstd');
    yield zstdCompressSync(text).subarray(0, -3);
  },
  *'/not-gzip'() {
    yield coded('gzip');
    yield text;
  },
  *'/not-http'() {
    yield '220 mail.example.com ESMTP\r\n';
  },
  *'/nothing'() {},
  *'/two-lengths'() {
    yield head('Content-Length: 5', 'Content-Length: 6');
    yield 'hello!';
  },
  *'/upgrade'() {
    yield 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n';
  },
};

function* megabytes(count: number): Generator<string | Buffer> {
  yield head('Transfer-Encoding: chunked');
  yield* repeat(chunk(ZEROS.subarray(0, 1_000_000)), count);
  yield '0\r\n\r\n';
}
const PLAIN: Readonly<Record<string, Script>> = {
  '/25-mb': () => megabytes(25),
  '/50-mb': () => megabytes(50),
};

/** The request paths of all hostile responses. */
export const HOSTILE_PATHS = Object.keys(SCRIPTS);

export interface RawServer {
  port: number;
  /** The requests that the server received. */
  requests: string[];
  /** Returns the number of open connections. */
  open(): number;
  close(): void;
}

async function send(socket: Socket, parts: ReturnType<Script>): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  for await (const part of parts) {
    if (gone.signal.aborted) return;
    if (socket.write(part)) continue;
    try {
      await once(socket, 'drain', { signal: gone.signal });
    } catch {
      return;
    }
  }
  socket.end();
}

/**
 * Starts a server on loopback that responds with a script. On each connection it reads one request, and responds as
 * soon as its headers have arrived.
 */
export async function startRaw(script: Script): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // The client may disconnect at any time.
    socket.on('error', () => socket.destroy());
    let request = '';
    const read = (bytes: Buffer): void => {
      request += bytes.toString('latin1');
      if (!request.includes('\r\n\r\n')) return;
      socket.off('data', read);
      socket.resume();
      requests.push(request);
      const [, path = ''] = request.split(' ');
      void send(socket, script(path));
    };
    socket.on('data', read);
  });
  const port = await listen(server);
  return {
    port,
    requests,
    open: () => sockets.size,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Starts a server on loopback that responds with the hostile response of the requested path. */
export const startHostile = (): Promise<RawServer> =>
  startRaw(
    (path) =>
      (SCRIPTS[path] ?? PLAIN[path])?.(path) ?? ['HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'],
  );
