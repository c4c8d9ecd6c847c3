import type { Socket } from 'node:net';
import type { Middleware } from 'koa';
import type { ApiProcessDoc, ClientUse } from '../../store/calls/callDocs.ts';
import { addressKey } from '../auth/addressKey.ts';
import { receivedBytes } from './body.ts';
import type { State } from './context.ts';
import { type Holder, holderOf } from './heldBytes.ts';
import { heldByResponses } from './limitSending.ts';

type Clients = NonNullable<ApiProcessDoc['clients']>;
type Figure = Exclude<keyof ClientUse, 'client'>;

/** Number of accounts and of addresses that each figure contributes. */
const MOST = 20;
const FIGURES: readonly Figure[] = ['connections', 'receivedBytes', 'unreadBytes'];

/** The clients that use most of this process: connections, and bytes in its memory. */
export interface ClientUses {
  /** Middleware that notes whose connection a request came on. */
  track: Middleware<State>;
  largest(): Clients;
}

/** Returns the clients with the largest figures. */
function largestOf(uses: Iterable<ClientUse>): ClientUse[] {
  const all = [...uses];
  const largest = FIGURES.flatMap((figure) =>
    all
      .filter((use) => use[figure] > 0)
      .sort((a, b) => b[figure] - a[figure])
      .slice(0, MOST),
  );
  return [...new Set(largest)];
}

/**
 * A request costs one entry in a map; sums are made when they are asked for. A connection belongs to the client of its latest
 * request. One without a request is not counted; it is closed soon.
 *
 * @param isProxied whether clients connect through a proxy. Its connections are not those of its clients, of which it counts the
 *   requests in progress instead
 */
export function createClientUses(isProxied: boolean): ClientUses {
  const connections = new Map<Socket, () => Holder>();

  return {
    track(ctx, next) {
      const { socket } = ctx.req;
      if (!isProxied && !connections.has(socket)) socket.once('close', () => connections.delete(socket));
      connections.set(socket, () => holderOf(ctx));
      ctx.res.once('close', () => {
        if (isProxied || socket.destroyed) connections.delete(socket);
        else {
          // Does not keep the request in memory.
          const holder = holderOf(ctx);
          connections.set(socket, () => holder);
        }
      });
      return next();
    },

    largest() {
      const accounts = new Map<string, ClientUse>();
      const addresses = new Map<string, ClientUse>();
      const add = (to: Map<string, ClientUse>, client: string, figure: Figure, amount: number) => {
        const use = to.get(client) ?? { client, connections: 0, receivedBytes: 0, unreadBytes: 0 };
        use[figure] += amount;
        to.set(client, use);
      };
      const count = ({ address, account }: Holder, figure: Figure, amount: number) => {
        add(addresses, addressKey(address), figure, amount);
        if (account !== null) add(accounts, account, figure, amount);
      };
      for (const holder of connections.values()) count(holder(), 'connections', 1);
      for (const [holder, bytes] of receivedBytes.all()) count(holder, 'receivedBytes', bytes);
      for (const [holder, bytes] of heldByResponses()) count(holder, 'unreadBytes', bytes);
      return { accounts: largestOf(accounts.values()), addresses: largestOf(addresses.values()) };
    },
  };
}
