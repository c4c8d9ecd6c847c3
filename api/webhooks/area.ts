import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { allowHost } from '../../schemas/formats/allow.ts';
import { createDeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { createWebhookEndpoints } from '../../store/webhooks/webhookEndpoints.ts';
import { limitWebhookChanges } from '../account/changeLimit.ts';
import type { ApiCore } from '../core.ts';
import { createEndpointWorkflow } from './endpointWorkflow.ts';
import { createResendLimit } from './resendLimit.ts';
import { createWebhooks, type Webhooks } from './webhookService.ts';

/** Creates the operations on webhook endpoints. */
export function createWebhooksArea(core: ApiCore): { webhooks: Webhooks } {
  const { env, store, keyring, client, lists, limits, ports, onError } = core;
  const webhooks = createWebhooks({
    endpoints: createWebhookEndpoints(store, keyring),
    attempts: createDeliveryAttempts(store),
    lists,
    workflow: createEndpointWorkflow(client),
    resendLimit: createResendLimit(store, env.RATE_LIMIT),
    egress: createGuard({
      resolver: createResolver({ servers: env.DNS_SERVERS }),
      allow: [allowHost('localhost', null), ...env.EGRESS_ALLOW],
      ownPorts: ports,
    }),
    takeToken: limits.takeToken,
    onError,
  });
  return { webhooks: limitWebhookChanges(webhooks, limits.countChange) };
}
