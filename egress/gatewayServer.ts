import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../schemas/errors.ts';
import { failureKind } from './failure.ts';
import { CODE_HEADER, KIND_HEADER } from './gatewayHeaders.ts';
import type { Guard } from './guard.ts';
import type { Target } from './target.ts';

/** Milliseconds within which a target must be resolved and connected. A tool's own deadline is usually earlier. */
const CONNECT_MS = 60_000;
/** Milliseconds without data in either direction after which a connection is closed: longer than any call. */
const IDLE_MS = 120_000;
/** Maximum number of open connections of all workers together. */
const CONNECTIONS = 4000;

interface GatewayServer {
  server: Server;
  /** Stops listening and closes every connection. */
  close(): void;
}

/** Answers requests that are not for a connection. @returns false if it does not know the request */
export type Answer = (request: IncomingMessage, response: ServerResponse) => boolean;

function errorHeaders(error: unknown): Record<string, string> {
  const code = error instanceof ServiceError ? error.code : 'target_failed';
  const kind = failureKind(error);
  return { [CODE_HEADER]: code, ...(kind === null ? {} : { [KIND_HEADER]: kind }) };
}

/**
 * Creates the server through which workers without a network of their own reach targets. It vets every target itself, so
 * that a worker that is taken over by a page or a document reaches nothing else:
 *
 * - `CONNECT host:port` opens a connection to a vetted target.
 * - `GET /addresses/host:port` returns the vetted addresses of a target.
 */
export function createGatewayServer(guard: Guard, answer: Answer): GatewayServer {
  const tunnels = new Set<Duplex>();
  const server = createServer();

  /** Parses `host:port` like a URL, so that ports of other protocols are refused. @throws as `Guard.parseTarget` */
  function parse(text: string): Target {
    // Other characters would change the meaning of the URL built from the text.
    if (!/^[^/?#@\\\s]+:\d{1,5}$/.test(text)) throw new ServiceError('target_refused');
    return guard.parseTarget(`http://${text}/`, { kind: 'url', pointer: '' });
  }

  async function tunnel(request: IncomingMessage, near: Duplex, first: Buffer): Promise<void> {
    const abandoned = new AbortController();
    tunnels.add(near);
    near.on('error', () => near.destroy());
    near.once('close', () => {
      tunnels.delete(near);
      abandoned.abort();
    });
    let far: Socket | undefined;
    try {
      if (tunnels.size > CONNECTIONS) throw new ServiceError('target_failed');
      const limits = { signal: abandoned.signal, deadline: Date.now() + CONNECT_MS };
      far = await guard.connect(await guard.vet(parse(request.url ?? ''), limits), limits);
    } catch (error) {
      const lines = Object.entries(errorHeaders(error)).map(([name, value]) => `${name}: ${value}\r\n`);
      near.end(
        `HTTP/1.1 502 Not Connected\r\n${lines.join('')}Content-Length: 0\r\nConnection: close\r\n\r\n`,
      );
      return;
    }
    const socket = far;
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    near.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    socket.write(first);
    await Promise.allSettled([pipeline(near, socket), pipeline(socket, near)]);
    socket.destroy();
    near.destroy();
  }

  async function addresses(text: string, response: ServerResponse): Promise<void> {
    const abandoned = new AbortController();
    response.once('close', () => abandoned.abort());
    try {
      const limits = { signal: abandoned.signal, deadline: Date.now() + CONNECT_MS };
      const vetted = await guard.vet(parse(text), limits);
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(vetted.addresses));
    } catch (error) {
      response.writeHead(502, errorHeaders(error)).end();
    }
  }

  server.on('connect', (request, socket, first) => void tunnel(request, socket, first));
  server.on('request', (request, response) => {
    const [, target] = /^\/addresses\/([^/]+)$/.exec(request.url ?? '') ?? [];
    if (request.method === 'GET' && target !== undefined) void addresses(target, response);
    else if (!answer(request, response)) response.writeHead(404).end();
  });
  const close = (): void => {
    server.close();
    server.closeAllConnections();
    for (const socket of tunnels) socket.destroy();
  };
  return { server, close };
}
