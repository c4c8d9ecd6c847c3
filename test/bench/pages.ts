import { randomUUID } from 'node:crypto';
import type { Store } from '../../store/mongo/mongo.ts';
import { newDelivery } from '../../store/webhooks/events.ts';
import type { EventDoc } from '../../store/webhooks/webhookDocs.ts';
import { withStore } from '../helpers/account.ts';
import { newOwner, type Visitor } from '../helpers/dashboard.ts';
import type { Stack } from '../helpers/stack.ts';
import { FAST_INSERT, seed } from './history.ts';
import { measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

/**
 * Number of documents of each rare kind. They are older than all others, so that a filter for them must search far
 * back.
 */
const RARE = 30;
const HOUR_MS = 3_600_000;

interface PageRow {
  page: string;
  p50: number;
  p95: number;
  /** p50 divided by the p50 of the same page in an account without calls. */
  byEmpty: number;
}

/** Inserts `count` calls, 1,000 events with their deliveries, and some older documents of rare kinds. */
async function fill(store: Store, accountId: string, endpointId: string, count: number): Promise<void> {
  const account = await store.accounts.findOne({ _id: accountId });
  if (account === null) throw new Error('no account');
  await seed(store, accountId, count, account.seq + 1);
  await store.accounts.updateOne({ _id: accountId }, { $inc: { seq: count } });
  const [call] = await store.calls.find({ accountId }).sort({ startedAt: 1 }).limit(1).toArray();
  if (call === undefined) throw new Error('no call');
  const before = (i: number) => new Date(call.startedAt.getTime() - i * HOUR_MS);
  await store.calls.insertMany(
    Array.from({ length: RARE }, (_, i) => ({
      ...call,
      _id: randomUUID(),
      tool: 'ping',
      state: 'refunded' as const,
      charged: 0,
      code: 'target_failed',
      startedAt: before(i),
    })),
    FAST_INSERT,
  );
  const events = Array.from(
    { length: 1000 },
    (_, i): EventDoc => ({
      _id: `evt_${randomUUID()}`,
      accountId,
      event: i < RARE ? 'credits.granted' : 'credits.low',
      createdAt: before(1000 - i),
      data: { balance: 24, threshold: 25, message: 'Only 24 credits are left.' },
    }),
  );
  const deliveries = events.map((event, i) => ({
    ...newDelivery(event, endpointId, i < RARE),
    ...(i >= RARE && { state: 'delivered' as const, attempts: 1, nextAt: null }),
  }));
  await store.events.insertMany(events, FAST_INSERT);
  await store.deliveries.insertMany(deliveries, FAST_INSERT);
  await store.deliveryAttempts.insertMany(
    deliveries.map(({ eventId, event, createdAt }, i) => ({
      _id: `att_${randomUUID()}`,
      accountId,
      endpointId,
      eventId,
      event,
      attempt: 1,
      at: createdAt,
      statusCode: i % 2 === 0 ? 200 : 500,
      durationMs: 10,
      error: null,
      retryAfterMs: null,
    })),
    FAST_INSERT,
  );
}

interface Owner {
  get: Visitor['get'];
  accountId: string;
  endpointId: string;
}

/** Signs up a user whose account has one webhook endpoint, which receives no events. */
async function makeOwner(stack: Stack, store: Store): Promise<Owner> {
  const { email, get, post } = await newOwner(stack);
  const made = await post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' });
  if (made.status !== 201) throw new Error(`${made.status}`);
  const account = await store.accounts.findOne({ email });
  const endpoint = await store.webhookEndpoints.findOne({ accountId: account?._id ?? '' });
  if (account === null || endpoint === null) throw new Error('no endpoint');
  return { get, accountId: account._id, endpointId: endpoint._id };
}

const PATHS = [
  '',
  '/tools',
  '/tools/hash-text',
  '/calls',
  '/calls?state=refunded',
  '/calls?tool=ping',
  '/calls?tool=ping&state=refunded',
  '/calls?to=2020-01-01',
  '/ledger',
  '/keys',
  '/webhooks',
  '/webhooks/{id}',
  '/events',
  '/events?state=held',
  '/events?event=credits.granted&state=held',
  '/credits',
  '/settings',
];

/** Measures each dashboard page, one at a time, in an account with many calls and in an account without calls. */
export async function benchPages(stack: Stack, { calls, requests }: Sizes['pages']): Promise<PageRow[]> {
  const { many, none } = await withStore(stack, async (store) => {
    const owners = { many: await makeOwner(stack, store), none: await makeOwner(stack, store) };
    await fill(store, owners.many.accountId, owners.many.endpointId, calls);
    return owners;
  });
  const rows: PageRow[] = [];
  for (const path of PATHS) {
    const open =
      ({ get, endpointId }: Owner) =>
      async () => {
        const response = await get(path.replace('{id}', endpointId));
        if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
        await response.arrayBuffer();
      };
    for (const owner of [many, none]) await measure(3, 1, open(owner)); // warm-up
    const empty = await measure(requests, 1, open(none));
    const { p50, p95 } = await measure(requests, 1, open(many));
    rows.push({ page: `/dashboard${path}`, p50, p95, byEmpty: p50 / empty.p50 });
  }
  return rows;
}
