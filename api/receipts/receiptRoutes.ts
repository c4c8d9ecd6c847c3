import type Router from '@koa/router';
import { LRUCache } from 'lru-cache';
import { getReceipt, getReceiptKeys } from '../../schemas/receipts.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { ReceiptKeys } from '../../store/receipts/receiptKeys.ts';
import type { State } from '../http/context.ts';
import type { Serve } from '../http/operation.ts';
import type { Receipts } from './receiptService.ts';

interface Dependencies {
  receipts: Receipts;
  receiptKeys: Pick<ReceiptKeys, 'published'>;
  /** Registers operations of the account. */
  serve: Serve;
}

/**
 * How long this process, and then clients, keep the published keys, in milliseconds. Together less than the time for which a new key
 * is published before it signs.
 */
const KEPT_MS = { process: 30_000, clients: 300_000 } as const;

/** Registers the operations of receipts. */
export function receiptRoutes(router: Router<State>, { receipts, receiptKeys, serve }: Dependencies): void {
  // Needs no key, so that any number of requests may arrive.
  const published = new LRUCache<'keys', object>({
    max: 1,
    ttl: KEPT_MS.process,
    fetchMethod: async () => {
      const keys = await retryStore(() => receiptKeys.published());
      return {
        keys: keys.map(({ _id: kid, x }) => ({
          kty: 'OKP',
          crv: 'Ed25519',
          alg: 'EdDSA',
          use: 'sig',
          kid,
          x,
        })),
      };
    },
  });

  serve(getReceipt, ({ caller, id }) => receipts.sign(caller.account._id, id));

  router.get(getReceiptKeys.path, async (ctx) => {
    ctx.set('Cache-Control', `public, max-age=${KEPT_MS.clients / 1000}`);
    ctx.body = await published.fetch('keys');
  });
}
