import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as startRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../schemas/errors.ts';
import { type Limits, startClock } from './clock.ts';
import { HEADER_BYTES } from './limits.ts';
import type { NamespacePort } from './namespacePort.ts';
import { nextResponse } from './nextResponse.ts';

export interface ProxyOptions extends Limits {
  /** The port whose connections the proxy takes. Default: a free port of 127.0.0.1, which it opens. */
  entry?: NamespacePort;
  /** Maximum number of concurrent outbound connections. */
  tunnels: number;
  /** Maximum number of bytes received over all connections together; the proxy closes when they exceed it. */
  bytes: number;
  /** Milliseconds after which an idle connection is closed. */
  idleMs: number;
}

/**
 * An HTTP proxy through which a program that opens its own connections, such as Chromium, reaches only allowed targets. It
 * runs until `close`, its deadline or its byte limit.
 */
export interface FilteringProxy extends Disposable {
  /** The TCP port of the proxy; 0 when it takes the connections of another one. */
  port: number;
  /** Resolves when the program has asked for its first connection. */
  contacted: Promise<void>;
  /**
   * True until a target has sent the first bytes of the body of a plain HTTP response, and while a tunnel is open, whose
   * content the proxy cannot see.
   */
  readonly isWaiting: boolean;
  /** Number of refused requests by host, in the order of the first refusal. */
  refused: ReadonlyMap<string, number>;
  /** True when the byte limit was reached. */
  readonly exhausted: boolean;
  close(): void;
}

/** Opens a vetted connection for a URL. @throws ServiceError */
type Open = (url: string, limits: Limits) => Promise<Socket>;

/** Hop-by-hop headers, which a proxy does not forward (RFC 9110 section 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function endToEnd(raw: readonly string[]): string[] {
  const pairs = Array.from({ length: raw.length / 2 }, (_, index) => raw.slice(2 * index, 2 * index + 2));
  return pairs.filter(([name = '']) => !HOP_BY_HOP.has(name.toLowerCase())).flat();
}

const hostOf = (url: string): string => URL.parse(url)?.hostname ?? url;
const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError && (error.code === 'target_refused' || error.code === 'invalid_input');
/** The HTTP status with which the proxy reports an error to the browser. */
const statusOf = (error: unknown): number => {
  if (isRefusal(error)) return 403;
  return error instanceof ServiceError && error.code === 'target_timeout' ? 504 : 502;
};

/**
 * Starts the proxy. It tunnels TLS connections without decrypting them, and sees only their host and port.
 *
 * @throws ServiceError `deadline_exceeded`; the signal's reason
 */
export async function startProxy(open: Open, options: ProxyOptions): Promise<FilteringProxy> {
  const clock = startClock(options);
  const closing = new AbortController();
  const refused = new Map<string, number>();
  const contacted = Promise.withResolvers<void>();
  const sockets = new Set<Duplex>();
  const server = createServer({ maxHeaderSize: HEADER_BYTES });
  let tunnels = 0;
  let waiting = 0;
  let left = options.bytes;
  const attached = options.entry?.attach((socket) => server.emit('connection', socket));

  const close = (): void => {
    clock[Symbol.dispose]();
    closing.abort();
    attached?.[Symbol.dispose]();
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  const startWaiting = (): (() => void) => {
    let over = false;
    waiting += 1;
    return () => {
      if (!over) waiting -= 1;
      over = true;
    };
  };
  const own = <T extends Duplex>(socket: T): T => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // An `error` event without a listener would end the process. The pipeline of the socket closes the other socket.
    socket.on('error', () => socket.destroy());
    return socket;
  };

  /** Opens an outbound connection within the limit of concurrent ones, and closes it when it is idle. Records refusals. */
  async function connect(url: string): Promise<Socket> {
    contacted.resolve();
    if (tunnels >= options.tunnels) throw new ServiceError('target_failed');
    tunnels += 1;
    try {
      const socket = own(await open(url, { signal: closing.signal, deadline: clock.deadline }));
      socket.setTimeout(options.idleMs, () => socket.destroy());
      socket.once('close', () => {
        tunnels -= 1;
      });
      return socket;
    } catch (error) {
      tunnels -= 1;
      if (isRefusal(error)) refused.set(hostOf(url), (refused.get(hostOf(url)) ?? 0) + 1);
      throw error;
    }
  }
  async function* counted(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      left -= chunk.length;
      if (left < 0) {
        close();
        return;
      }
      yield chunk;
    }
  }

  async function tunnel(request: IncomingMessage, near: Duplex, first: Buffer): Promise<void> {
    own(near);
    let far: Socket | undefined;
    const stopWaiting = startWaiting();
    try {
      // Only `host:port` is accepted, because other characters would change the meaning of the URL built from it.
      if (!/^[^/?#@\\\s]+:\d{1,5}$/.test(request.url ?? '')) throw new ServiceError('target_refused');
      far = await connect(`http://${request.url}/`);
      near.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      far.write(first);
    } catch (error) {
      near.end(`HTTP/1.1 ${statusOf(error)} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      stopWaiting();
      return;
    }
    await Promise.allSettled([pipeline(near, far), pipeline(far, counted, near)]);
    stopWaiting();
    far.destroy();
    near.destroy();
  }

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = incoming.url ?? '';
    const stopWaiting = startWaiting();
    async function* body(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of source) {
        stopWaiting();
        yield chunk;
      }
    }
    try {
      if (!url.startsWith('http://')) throw new ServiceError('target_refused');
      const socket = await connect(url);
      const { pathname, search } = new URL(url);
      const request = startRequest({
        createConnection: () => socket,
        method: incoming.method ?? 'GET',
        path: pathname + search,
        headers: [...endToEnd(incoming.rawHeaders), 'Connection', 'close'],
        maxHeaderSize: HEADER_BYTES,
        insecureHTTPParser: true, // Like Chromium, the lenient parser accepts invalid headers.
      });
      const response = nextResponse(request);
      // If the request body cannot be sent, the destroyed socket makes `response` reject.
      pipeline(incoming, request).catch(() => socket.destroy());
      const message = await response;
      outgoing.writeHead(message.statusCode ?? 502, endToEnd(message.rawHeaders));
      await pipeline(message, counted, body, outgoing);
      stopWaiting();
    } catch (error) {
      stopWaiting();
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(statusOf(error), { Connection: 'close' }).end();
    }
  }

  async function startListening(): Promise<void> {
    server.listen({ host: '127.0.0.1', port: 0 });
    try {
      await once(server, 'listening', { signal: clock.signal });
    } catch (error) {
      close();
      options.signal.throwIfAborted();
      throw clock.signal.aborted ? new ServiceError('deadline_exceeded', { cause: error }) : error;
    }
  }

  server.on('connection', own);
  server.on('connect', (request, socket, first) => void tunnel(request, socket, first));
  server.on('request', (incoming, outgoing) => void forward(incoming, outgoing));
  clock.onEnd(close);
  if (attached === undefined) await startListening();
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    contacted: contacted.promise,
    refused,
    get isWaiting() {
      return waiting > 0;
    },
    get exhausted() {
      return left < 0;
    },
    close,
    [Symbol.dispose]: close,
  };
}
