import { createResolver } from '../egress/resolver.ts';
import { allowHost } from '../schemas/formats/allow.ts';
import { createDeliveryAttempts } from '../store/webhooks/deliveryAttempts.ts';
import { deliversToLocalhost } from '../store/webhooks/events.ts';
import type { WorkerCore } from './core.ts';
import { observeDeliveries } from './metrics.ts';
import { deliveryWorker, type PoolOptions } from './pools.ts';

/** Creates the worker that posts to webhook endpoints. */
export function createDelivery(core: WorkerCore): PoolOptions {
  const { env, keyring, metrics, stopping } = core;
  const store = core.requireStore();
  const localhost = deliversToLocalhost(env);
  return deliveryWorker({
    store,
    keyring,
    attempts: createDeliveryAttempts(store),
    egress: core.createGuard({
      resolver: createResolver({ servers: env.DNS_SERVERS }),
      allow: [...(localhost ? [allowHost('localhost', null)] : []), ...env.EGRESS_ALLOW],
    }),
    localhost,
    observe: observeDeliveries(metrics),
    stopping,
  });
}
