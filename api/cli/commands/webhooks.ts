import { setTimeout as sleep } from 'node:timers/promises';
import { WithStartWorkflowOperation } from '@temporalio/client';
import type { WebhookEndpointDoc } from '../../../store/webhookDocs.ts';
import { webhookRow } from '../../account/rows.ts';
import { CommandError } from '../addresses.ts';
import { ACCOUNT, type Command, type CommandContext, PAGE, pageOf, requireAccount } from '../command.ts';
import { withTemporal } from '../temporal.ts';

const WEBHOOK = { value: 'ID', about: 'Id of the webhook endpoint.', required: true } as const;
/** The endpoint's workflow does it within a moment, unless no orchestrator runs. */
const DONE_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 100;

async function requireEndpoint({ store }: CommandContext, id: string): Promise<WebhookEndpointDoc> {
  const row = await store.webhookEndpoints.findOne({ _id: id });
  if (row === null) throw new CommandError(`there is no webhook endpoint ${JSON.stringify(id)}`);
  return row;
}

/** Waits until the endpoint's workflow has done what it was asked for. */
async function untilDone(context: CommandContext, id: string, isDone: (row: WebhookEndpointDoc) => boolean) {
  for (const end = Date.now() + DONE_WITHIN_MS; Date.now() < end; await sleep(LOOK_EVERY_MS)) {
    const row = await requireEndpoint(context, id);
    if (isDone(row)) return webhookRow(row);
  }
  throw new CommandError('it was asked for, but nobody has done it yet: does an orchestrator run?');
}

const workflow = (id: string) => ({ workflowId: `webhook-${id}`, taskQueue: 'orchestrator', args: [id] });

const listWebhooks: Command = {
  name: 'webhooks list',
  about: "Shows an account's webhook endpoints, newest first.",
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
  about: 'Enables an endpoint, from 0 failures. What was held is for its owner to resend.',
  options: { webhook: WEBHOOK },
  prepare(values) {
    const id = values.text('webhook');
    return async (context) => {
      const { epoch } = await requireEndpoint(context, id);
      await withTemporal(context.env, (client) =>
        client.workflow.startUpdateWithStart('enable', {
          waitForStage: 'ACCEPTED',
          startWorkflowOperation: new WithStartWorkflowOperation('webhookEndpoint', {
            ...workflow(id),
            workflowIdConflictPolicy: 'USE_EXISTING',
          }),
        }),
      );
      return untilDone(context, id, (row) => row.epoch > epoch);
    };
  },
};

const disableWebhook: Command = {
  name: 'webhooks disable',
  about: 'Stops posting to an endpoint. What was to be delivered is held.',
  options: { webhook: WEBHOOK },
  prepare(values) {
    const id = values.text('webhook');
    return async (context) => {
      await requireEndpoint(context, id);
      await withTemporal(context.env, (client) =>
        client.workflow.signalWithStart('webhookEndpoint', {
          ...workflow(id),
          signal: 'disable',
          signalArgs: [],
        }),
      );
      return untilDone(context, id, ({ state }) => state === 'disabled');
    };
  },
};

const deleteWebhook: Command = {
  name: 'webhooks delete',
  about: 'Deletes an endpoint. What was still to be delivered to it has failed then.',
  options: { webhook: WEBHOOK },
  prepare(values) {
    const id = values.text('webhook');
    return async (context) => {
      await requireEndpoint(context, id);
      await context.store.webhookEndpoints.deleteOne({ _id: id });
      await withTemporal(context.env, (client) =>
        client.workflow.signalWithStart('webhookEndpoint', {
          ...workflow(id),
          signal: 'wake',
          signalArgs: [],
        }),
      );
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
