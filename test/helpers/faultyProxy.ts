import {
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type ServerResponse,
} from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from './egress.ts';
import type { Random } from './random.ts';

/** Faults that the proxy can inject into a request. */
export const FAULTS = [
  'cut before sending',
  'cut after sending',
  'cut the response',
  '502 before sending',
  '502 after sending',
  '429',
  'delay',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface FaultyProxy {
  baseUrl: string;
  /** Number of requests by what happened to them. */
  counts: Map<Fault | 'none', number>;
  close(): void;
}

const PROXY_ERROR = '<html><h1>502 Bad Gateway</h1></html>';
const DELAY_MS = 150;

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Sends the request to the service. @returns its complete response */
function forward(options: RequestOptions, body: Buffer): Promise<{ head: IncomingMessage; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const onward = request(options, (head) =>
      bodyOf(head).then((bytes) => resolve({ head, body: bytes }), reject),
    );
    onward.once('error', reject);
    onward.end(body);
  });
}

function sendBadGateway(response: ServerResponse): void {
  response.writeHead(502, { 'Content-Type': 'text/html' }).end(PROXY_ERROR);
}

/**
 * Starts a proxy on loopback that disturbs half of the requests. After "sending", the service has answered, so that a call
 * is charged although its result is lost.
 */
export async function startFaultyProxy(upstream: string, random: Random): Promise<FaultyProxy> {
  const { hostname, port } = new URL(upstream);
  const counts = new Map<Fault | 'none', number>();
  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = random.integer(0, 1) === 0 ? 'none' : random.pick(FAULTS);
    counts.set(fault, (counts.get(fault) ?? 0) + 1);
    const body = await bodyOf(incoming);
    if (fault === 'cut before sending') return void incoming.socket.destroy();
    if (fault === '502 before sending') return sendBadGateway(response);
    if (fault === '429') return void response.writeHead(429, { 'Retry-After': '0' }).end();
    if (fault === 'delay') await sleep(DELAY_MS);
    const { method, url: path, headers } = incoming;
    const answer = await forward({ hostname, port, method, path, headers }, body);
    if (fault === 'cut after sending') return void incoming.socket.destroy();
    if (fault === '502 after sending') return sendBadGateway(response);
    response.writeHead(answer.head.statusCode ?? 500, answer.head.headers);
    if (fault !== 'cut the response') return void response.end(answer.body);
    response.write(answer.body.subarray(0, answer.body.length / 2), () => incoming.socket.destroy());
  }
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => incoming.socket.destroy());
  });
  const own = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${own}`,
    counts,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
