import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { hostname } from 'node:os';

/** Wildcard addresses. Clients cannot connect to them, so the server's URL contains the host name instead. */
const WILDCARDS = new Set(['0.0.0.0', '::']);

/** Tells whether a server that listens on this address listens on all interfaces. */
export const isWildcard = (host: string): boolean => WILDCARDS.has(host);

/**
 * Maximum number of connections that the kernel accepts before the process does; the system's limit applies too
 * (`net.core.somaxconn`, 4096 on Linux). The default of Node.js, 511, is less than ten accounts open at once: a client
 * whose connection does not fit repeats its SYN after 1, 3, 7 and 15 s.
 */
const BACKLOG = 4096;

/**
 * Connections of each server that have not sent a request yet, such as those that browsers open in advance. Node.js counts
 * them as busy for `headersTimeout`, so `drain` would wait for them.
 */
const unused = new WeakMap<Server, Set<Socket>>();

function trackUnused(server: Server): void {
  const sockets = new Set<Socket>();
  unused.set(server, sockets);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const onRequest = ({ socket }: IncomingMessage) => sockets.delete(socket);
  server.on('request', onRequest);
  // A listener of this event replaces Node's own response, so none is added where the server has none.
  if (server.listenerCount('checkExpectation') > 0) server.on('checkExpectation', onRequest);
}

/** Starts listening. @returns the URL at which other processes reach the server @throws Error if the port is in use */
export function listen(server: Server, host: string, port: number): Promise<string> {
  trackUnused(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      const address = server.address();
      if (address === null || typeof address === 'string')
        return reject(new Error('the server has no TCP address'));
      const name = isWildcard(address.address) ? hostname() : address.address;
      resolve(`http://${name.includes(':') ? `[${name}]` : name}:${address.port}`);
    });
  });
}

/** Stops listening and waits until all running requests are answered. */
export const drain = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    for (const socket of unused.get(server) ?? []) socket.destroy();
    // Makes busy connections close after their response instead of waiting for another request.
    server.keepAliveTimeout = 1;
  });

/**
 * Finds a free loopback port, for servers that cannot report which port they chose. Another process may take the port
 * before the server listens on it.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  const { port } = new URL(await listen(server, '127.0.0.1', 0));
  await drain(server);
  return Number(port);
}
