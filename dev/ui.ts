import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { freePort } from './ports.ts';

/** Milliseconds without a byte after which a proxied exchange is given up. */
const IDLE_MS = 60_000;
/** RFC 9110, 7.6.1: these belong to one connection and are not passed on. */
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

function pass(incoming: IncomingMessage, outgoing: ServerResponse, target: URL): void {
  const headers = { ...endToEnd(incoming.headers), host: target.host };
  const forwarded = request(
    target,
    { method: incoming.method ?? 'GET', headers, timeout: IDLE_MS },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
      answer.pipe(outgoing);
      answer.once('error', () => outgoing.destroy());
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
  /** The Temporal UI's own server. */
  showUi(port: number): void;
  /** `/codec/*` is answered by this API from now on. */
  serveCodec(baseUrl: string): void;
  stop(): Promise<void>;
}

/**
 * Serves the Temporal UI and the API's `/codec/*` from one origin. The UI sends no cookie to a codec on another
 * origin; here the operator's session cookie of 127.0.0.1 (cookies do not tell ports apart) comes with the request.
 */
export async function startUiProxy(preferredPort?: number): Promise<UiProxy> {
  let ui: string | undefined;
  let api: string | undefined;
  const server = createServer((incoming, outgoing) => {
    // Appended, not resolved: a path that starts with // must not become a host.
    const path = incoming.url?.startsWith('/') ? incoming.url : '/';
    const base = /^\/codec(?:[/?]|$)/.test(path) ? api : ui;
    if (base === undefined) outgoing.writeHead(503).end();
    else pass(incoming, outgoing, new URL(base + path));
  });
  const port = await freePort(preferredPort);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    showUi: (uiPort) => {
      ui = `http://127.0.0.1:${uiPort}`;
    },
    serveCodec: (baseUrl) => {
      api = baseUrl;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
