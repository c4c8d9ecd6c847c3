import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Middleware } from 'koa';
import type { Env } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { addressKey } from '../auth/addressKey.ts';
import type { State } from './context.ts';

export interface ConnectionLimits {
  /** Maximum number of connections of all clients. */
  maxConnections: number;
  /** Maximum number of connections of one client address; null: not limited, because a proxy is the only client. */
  perAddress: number | null;
}

/** The maximum number of connections or requests of one client address; null if limits are off. */
export const addressLimit = (env: Pick<Env, 'RATE_LIMIT' | 'CONNECTIONS_PER_ADDRESS'>): number | null =>
  env.RATE_LIMIT === null ? null : env.CONNECTIONS_PER_ADDRESS;

/** The connections of one client address. */
interface Client {
  /** The longest open one first. */
  connections: Set<Socket>;
  /** The connections without a request in work, the longest idle one first. */
  idle: Set<Socket>;
}

/**
 * Limits the connections of a server. If a client address has too many, its longest idle connection is closed; if all clients
 * together have too many, that of the client with most connections. If this one has no idle connection, its longest open one is closed,
 * so that no client is locked out by others; a new connection of its own is idle.
 */
export function limitConnections(server: Server, { maxConnections, perAddress }: ConnectionLimits): void {
  const clients = new Map<string, Client>();
  const clientOf = new WeakMap<Socket, Client>();
  let total = 0;

  function largest(): Client | undefined {
    let found: Client | undefined;
    for (const client of clients.values())
      if (client.connections.size > (found?.connections.size ?? 0)) found = client;
    return found;
  }

  server.on('connection', (socket: Socket) => {
    const name = perAddress === null ? '' : addressKey(socket.remoteAddress ?? '');
    const client = clients.get(name) ?? { connections: new Set(), idle: new Set() };
    clients.set(name, client);
    clientOf.set(socket, client);
    client.connections.add(socket);
    client.idle.add(socket);
    total++;
    socket.once('close', () => {
      total--;
      client.idle.delete(socket);
      client.connections.delete(socket);
      if (client.connections.size === 0 && clients.get(name) === client) clients.delete(name);
    });
    const closeOne = (of: Client) => {
      const [longest] = of.idle.size > 0 ? of.idle : of.connections;
      if (longest === undefined) return;
      // It emits `close`, after which it does not count for `total`, only later.
      of.idle.delete(longest);
      of.connections.delete(longest);
      longest.destroy();
    };
    if (perAddress !== null && client.connections.size > perAddress) closeOne(client);
    else if (total > maxConnections) closeOne(largest() ?? client);
  });

  const onRequest = ({ socket }: IncomingMessage, response: ServerResponse) => {
    const client = clientOf.get(socket);
    client?.idle.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) client?.idle.add(socket);
    });
  };
  server.on('request', onRequest);
  server.on('checkExpectation', onRequest);
}

/**
 * Creates middleware that limits the requests in progress of each client address behind a trusted proxy, whose connections
 * are not those of its clients. Requests of the proxy itself, such as health checks, are not limited.
 */
export function limitRequests(perAddress: number): Middleware<State> {
  const requests = new Map<string, number>();
  return async (ctx, next) => {
    if (ctx.ips.length === 0) return next();
    const address = addressKey(ctx.ip);
    const count = requests.get(address) ?? 0;
    if (count >= perAddress)
      throw new ServiceError('rate_limited', {
        detail: `At most ${perAddress} requests of one address are answered at the same time.`,
        retryAfter: 1,
      });
    requests.set(address, count + 1);
    ctx.res.once('close', () => {
      const left = (requests.get(address) ?? 0) - 1;
      if (left > 0) requests.set(address, left);
      else requests.delete(address);
    });
    await next();
  };
}
