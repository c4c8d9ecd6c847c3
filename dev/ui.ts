import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { freePort } from './ports.ts';

/** Milliseconds without data after which a forwarded request is aborted. */
const IDLE_MS = 60_000;
/** Hop-by-hop headers, which a proxy must not forward (RFC 9110, 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, target: URL): void {
  const headers = { ...endToEnd(incoming.headers), host: target.host };
  const forwarded = request(
    target,
    { method: incoming.method ?? 'GET', headers, timeout: IDLE_MS },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 502, endToEnd(response.headers));
      response.pipe(outgoing);
      response.once('error', () => outgoing.destroy());
    },
  );
  forwarded.once('timeout', () => forwarded.destroy(new Error('timed out')));
  forwarded.once('error', () => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502).end();
  });
  outgoing.once('close', () => forwarded.destroy());
  incoming.pipe(forwarded);
}

export interface UiProxy {
  url: string;
  port: number;
  /** Sets the port on which the Temporal UI itself listens. */
  setUiPort(port: number): void;
  /** Sets the base URL of the API that serves `/codec/*`. */
  setApiUrl(baseUrl: string): void;
  stop(): Promise<void>;
}

/**
 * Starts a proxy that serves the Temporal UI and the API's `/codec/*` from one origin, because the UI sends no cookies
 * to a codec server on another origin. Cookies do not depend on the port, so requests to this proxy carry the
 * operator's session cookie for 127.0.0.1.
 */
export async function startUiProxy(preferredPort?: number): Promise<UiProxy> {
  let ui: string | undefined;
  let api: string | undefined;
  const server = createServer((incoming, outgoing) => {
    // The URL is built by concatenation, because URL resolution would treat a path that begins with // as a host.
    const path = incoming.url?.startsWith('/') ? incoming.url : '/';
    const base = /^\/codec(?:[/?]|$)/.test(path) ? api : ui;
    if (base === undefined) outgoing.writeHead(503).end();
    else forward(incoming, outgoing, new URL(base + path));
  });
  const port = await freePort(preferredPort);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    setUiPort: (uiPort) => {
      ui = `http://127.0.0.1:${uiPort}`;
    },
    setApiUrl: (baseUrl) => {
      api = baseUrl;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
