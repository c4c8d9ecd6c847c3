import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookEndpointDoc } from '../../../store/webhooks/webhookDocs.ts';
import { webhookRow } from '../../account/rows.ts';
import { CommandError } from '../addresses.ts';
import {
  ACCOUNT,
  type Command,
  type CommandContext,
  loadTemporal,
  PAGE,
  pageOf,
  requireAccount,
} from '../command.ts';

const WEBHOOK = { value: 'ID', about: 'Id of the webhook endpoint.', required: true } as const;
/**
 * How long to wait until the endpoint's workflow has made a change. It needs far less time, unless no orchestrator is
 * running.
 */
const DONE_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 100;

async function requireEndpoint({ store }: CommandContext, id: string): Promise<WebhookEndpointDoc> {
  const row = await store.webhookEndpoints.findOne({ _id: id });
  if (row === null) throw new CommandError(`there is no webhook endpoint ${JSON.stringify(id)}`);
  return row;
}

/** Waits until the endpoint's workflow has written the requested change. */
async function waitForEndpoint(
  context: CommandContext,
  id: string,
  isDone: (row: WebhookEndpointDoc) => boolean,
) {
  for (const end = Date.now() + DONE_TIMEOUT_MS; Date.now() < end; await sleep(POLL_INTERVAL_MS)) {
    const row = await requireEndpoint(context, id);
    if (isDone(row)) return webhookRow(row);
  }
  throw new CommandError(
    'the request was sent but not carried out yet: check that an orchestrator is running',
  );
}

const listWebhooks: Command = {
  name: 'webhooks list',
  about: 'Lists the webhook endpoints of an account, newest first.',
  options: { account: ACCOUNT, ...PAGE },
  prepare(values) {
    const [id, page] = [values.text('account'), pageOf(values)];
    return async (context) => {
      await requireAccount(context, id);
      const { items, nextCursor } = await context.lists.webhooks(id, page);
      return { items: items.map(webhookRow), nextCursor };
    };
  },
};

const enableWebhook: Command = {
  name: 'webhooks enable',
  about:
    'Enables a webhook endpoint and resets its failure count. Held deliveries stay held until the owner resends them.',
  options: { webhook: WEBHOOK },
  prepare(values) {
    const id = values.text('webhook');
    return async (context) => {
      const { epoch } = await requireEndpoint(context, id);
      await (await loadTemporal()).withEndpointWorkflow(context.env, (workflow) =>
        workflow.requestEnable(id),
      );
      return waitForEndpoint(context, id, (row) => row.epoch > epoch);
    };
  },
};

const disableWebhook: Command = {
  name: 'webhooks disable',
  about: 'Disables a webhook endpoint. Its pending deliveries are held until the owner resends them.',
  options: { webhook: WEBHOOK },
  prepare(values) {
    const id = values.text('webhook');
    return async (context) => {
      await requireEndpoint(context, id);
      await (await loadTemporal()).withEndpointWorkflow(context.env, (workflow) => workflow.disable(id));
      return waitForEndpoint(context, id, ({ state }) => state === 'disabled');
    };
  },
};

const deleteWebhook: Command = {
  name: 'webhooks delete',
  about: 'Deletes a webhook endpoint. Its undelivered events are marked failed.',
  options: { webhook: WEBHOOK },
  prepare(values) {
    const id = values.text('webhook');
    return async (context) => {
      await requireEndpoint(context, id);
      await context.store.webhookEndpoints.deleteOne({ _id: id });
      await (await loadTemporal()).withEndpointWorkflow(context.env, (workflow) => workflow.wake(id));
      return { deleted: id };
    };
  },
};

export const webhookCommands: readonly Command[] = [
  listWebhooks,
  enableWebhook,
  disableWebhook,
  deleteWebhook,
];
