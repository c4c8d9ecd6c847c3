import {
  activateSecret,
  changeWebhook,
  createWebhook,
  deleteWebhook,
  enableWebhook,
  getWebhook,
  listAttempts,
  listWebhooks,
  resendDeliveries,
  rotateSecret,
  testWebhook,
} from '../../schemas/webhooks.ts';
import type { Serve } from '../http/operation.ts';
import type { Webhooks } from './webhookService.ts';

export function webhookRoutes(serve: Serve, webhooks: Webhooks): void {
  serve(listWebhooks, ({ caller, query }) => webhooks.list(caller.account._id, query));
  serve(createWebhook, ({ caller, body }) => webhooks.create(caller.account._id, body));
  serve(getWebhook, ({ caller, id }) => webhooks.get(caller.account._id, id));
  serve(changeWebhook, ({ caller, id, body }) => webhooks.change(caller.account._id, id, body));
  serve(deleteWebhook, async ({ caller, id }) => {
    await webhooks.remove(caller.account._id, id);
    return undefined;
  });
  serve(testWebhook, ({ caller, id, body }) => webhooks.test(caller.account._id, id, body.event, 'api'));
  serve(enableWebhook, ({ caller, id }) => webhooks.enable(caller.account._id, id));
  serve(rotateSecret, ({ caller, id, body, actor }) =>
    webhooks.rotateSecret(caller.account._id, id, body.force, actor),
  );
  serve(activateSecret, ({ caller, id, actor }) => webhooks.activateSecret(caller.account._id, id, actor));
  serve(resendDeliveries, ({ caller, id, body }) => webhooks.resend(caller.account._id, id, body));
  serve(listAttempts, ({ caller, id, query }) => webhooks.attempts(caller.account._id, id, query));
}
