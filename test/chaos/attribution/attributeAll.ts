import type { Store } from '../../../store/mongo/mongo.ts';
import { until } from '../../helpers/until.ts';
import { attribute, type Evidence } from './attribute.ts';
import type { ObservedStack } from './observedStack.ts';
import type { Owner } from './owners.ts';
import { readRecords } from './records.ts';

/** Milliseconds after the last call within which everything must have ended. */
const REST_MS = 180_000;
const AT_ONCE = 4;

/** Waits until nothing runs or is reserved, and every refund and every event has been delivered. */
export async function untilAtRest({ accounts, calls, events, deliveries }: Store): Promise<void> {
  const open = async () => ({
    running: await calls.countDocuments({ state: 'running' }),
    holding: await accounts.countDocuments({ $or: [{ reserved: { $ne: 0 } }, { holds: { $ne: {} } }] }),
    unanswered: await calls.countDocuments({ pendingAnswer: { $exists: true } }),
    undispatched: await events.countDocuments({ pending: true }),
    undelivered: await deliveries.countDocuments({ state: 'pending' }),
  });
  const isAtRest = async () => Object.values(await open()).every((count) => count === 0);
  await until('everything is at rest', isAtRest, REST_MS).catch(async (error) => {
    throw new Error(`not at rest: ${JSON.stringify(await open())}`, { cause: error });
  });
}

/** Repeats every call with a key. It now gets its result, or the error that is stored under the key. */
export async function repeatKeyed({ keyed }: Owner): Promise<void> {
  const waiting = [...keyed];
  const repeat = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      await next.caller.send(next.plan, null);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, repeat));
}

/** Attributes all credits of the accounts. @returns the broken promises, and the sums of all accounts */
export async function attributeAll(
  store: Store,
  { receiver, target }: Pick<ObservedStack, 'receiver' | 'target'>,
  owners: readonly Owner[],
  wasKilledAfter: Evidence['wasKilledAfter'],
) {
  const rows = await store.calls.find({}, { projection: { requestId: 1, idempotency: 1 } }).toArray();
  const origins = new Map(
    rows.map(({ _id, requestId, idempotency }) => [_id, { requestId, key: idempotency?.key ?? null }]),
  );
  const violations: string[] = [];
  const total = {
    requests: 0,
    answered: 0,
    results: 0,
    throughMcp: 0,
    calls: 0,
    returned: 0,
    free: 0,
    events: 0,
  };
  for (const { account, credits, topUpRuns, observations, keyChanges } of owners) {
    const deliveries = receiver.received.filter(({ path }) => path === `/${account.accountId}`);
    const found = attribute({
      credits,
      topUpRuns,
      observations,
      records: await readRecords(account),
      origins,
      posts: target.posts,
      deliveries,
      keyChanges,
      wasKilledAfter,
    });
    violations.push(...found.violations);
    total.requests += observations.length;
    total.answered += observations.filter(({ response }) => response !== null).length;
    total.results += observations.filter(({ response }) => response?.status === 200).length;
    total.throughMcp += observations.filter(
      ({ through, response }) => through !== 'http' && response?.status === 200,
    ).length;
    total.calls += found.calls;
    total.returned += found.returned;
    total.free += found.free;
    total.events += new Set(deliveries.map(({ id }) => id)).size;
  }
  return { violations, total };
}
