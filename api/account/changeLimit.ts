import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { ApiKeys } from '../../store/keys/apiKeys.ts';
import type { Connections } from '../../store/keys/connections.ts';
import { countEvent, createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { Webhooks } from '../webhooks/webhookService.ts';

/**
 * Maximum number of changes of keys, connections and webhook endpoints per account and day, because each leaves an event
 * with its deliveries, an entry of the security log, or attempts. Revoking and deleting are never refused.
 */
export const CHANGES_PER_DAY = 300;
const DAY_SECONDS = 86_400;

/** Counts a change of an account. @throws ServiceError rate_limited above the limit */
export type CountChange = (accountId: string) => Promise<void>;

/** Creates the limit, which all API processes share. @param limit null disables it */
export function createChangeLimit(store: Store, limit: RateLimit | null): CountChange {
  if (limit === null) return async () => undefined;
  const changes = createCounter(store, {
    name: 'account-change',
    max: CHANGES_PER_DAY,
    seconds: DAY_SECONDS,
  });
  return async (accountId) => {
    const retryAfter = await countEvent(changes, accountId);
    if (retryAfter === null) return;
    throw new ServiceError('rate_limited', {
      detail: `An account can change keys and webhook endpoints ${CHANGES_PER_DAY} times a day.`,
      retryAfter,
    });
  };
}

/** Makes an operation count as a change of the account that is its first argument. */
const counted =
  <A extends [accountId: string, ...rest: unknown[]], R>(
    count: CountChange,
    operation: (...args: A) => Promise<R>,
  ) =>
  async (...args: A): Promise<R> => {
    await count(args[0]);
    return operation(...args);
  };

export const limitKeyChanges = (apiKeys: ApiKeys, count: CountChange): ApiKeys => ({
  ...apiKeys,
  async create(key, actor) {
    await count(key.accountId);
    return apiKeys.create(key, actor);
  },
  change: counted(count, apiKeys.change),
  rotate: counted(count, apiKeys.rotate),
});

export const limitConnectionChanges = (connections: Connections, count: CountChange): Connections => ({
  ...connections,
  async approve(connection, actor) {
    await count(connection.accountId);
    return connections.approve(connection, actor);
  },
});

export const limitWebhookChanges = (webhooks: Webhooks, count: CountChange): Webhooks => ({
  ...webhooks,
  create: counted(count, webhooks.create),
  change: counted(count, webhooks.change),
  test: counted(count, webhooks.test),
  enable: counted(count, webhooks.enable),
  resend: counted(count, webhooks.resend),
  rotateSecret: counted(count, webhooks.rotateSecret),
  activateSecret: counted(count, webhooks.activateSecret),
});
