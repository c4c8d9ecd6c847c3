import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createBackgroundDispatch } from '../../platform/temporal/startDispatch.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { startReceiver } from '../helpers/receiver.ts';
import type { Stack } from '../helpers/stack.ts';

const ENDPOINTS = 10;
const SECONDS = 20;
/** Number of consecutive runs in which a rate must be sustained, because single runs near the machine's limit vary. */
const RUNS = 2;
/** Factor between one tested rate and the next. */
const STEP = 1.25;
/**
 * Number of pairs of runs that measure the isolation. In each pair an additional endpoint first responds and then
 * hangs. Each pair uses a new endpoint, so that none is disabled.
 */
const PAIRS = 5;
/** Highest p99 of the delivery delay, in milliseconds, at which a rate counts as sustained. */
const P99_MS = 2000;
const FIRST_RATE = 10;
/** Milliseconds within which the backlog must be delivered between two runs. */
const DRAIN_MS = 120_000;

/** Percentiles of the milliseconds from the commit of an event to the arrival of its first delivery attempt. */
interface Delays {
  p50: number;
  p99: number;
}

export interface WebhooksRow {
  /** Highest sustained rate, in events per second. */
  perSecond: number;
  /** Delays at half of the highest sustained rate. */
  half: Delays;
  /**
   * p99 delay of the other endpoints at the highest sustained rate while an additional endpoint hangs, divided by their
   * p99 while it responds. Median of several pairs of runs.
   */
  isolation: number;
}

/**
 * Measures the highest sustained rate of events and the delay of deliveries, with and without an endpoint that hangs.
 */
export async function benchWebhooks(stack: Stack): Promise<WebhooksRow> {
  await using open = new AsyncDisposableStack();
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const connection = open.adopt(await Connection.connect({ address: stack.temporalAddress }), (it) =>
    it.close(),
  );
  const client = new Client({ connection, namespace: stack.namespace });
  const accounts = createAccounts(store);
  // As in the API, an event whose dispatch fails is left to the sweeper. Its deliveries then count as late.
  store.onEvents(createBackgroundDispatch(client, () => undefined));

  async function makeOwner() {
    const account = await makeAccount(stack, 0);
    const receiver = await startReceiver();
    open.defer(() => receiver.close());
    const made = await account.manage('/api/v1/account/webhooks', { url: receiver.url });
    if (made.status !== 201) throw new Error(await made.text());
    return { accountId: account.accountId, receiver };
  }
  const owners = await Promise.all(Array.from({ length: ENDPOINTS }, makeOwner));

  async function fire(accountId: string): Promise<void> {
    await accounts.grant({
      accountId,
      type: 'adjustment',
      amount: 1,
      reference: randomUUID(),
      reason: 'bench',
    });
  }

  /** Waits until the backlog of the previous run has been delivered. */
  async function drain(): Promise<void> {
    const end = Date.now() + DRAIN_MS;
    const left = async () =>
      (await store.events.countDocuments({ pending: true })) +
      (await store.deliveries.countDocuments({ state: 'pending', attempts: 0 }));
    while ((await left()) > 0) {
      if (Date.now() > end) throw new Error('the backlog of deliveries does not shrink');
      await sleep(500);
    }
  }

  /**
   * Creates events at this rate. @returns the delays of their first delivery attempts; Infinity for deliveries that are
   * late
   */
  async function run(rate: number, also: readonly string[] = []): Promise<Delays> {
    await drain();
    const since = new Date();
    const firing: Promise<void>[] = [];
    for (let second = 0; second < SECONDS; second++)
      for (let index = 0; index < rate; index++) {
        const owner = owners[(second * rate + index) % ENDPOINTS];
        if (owner === undefined) throw new RangeError('no such owner');
        firing.push(fire(owner.accountId));
        if (index === 0) firing.push(...also.map(fire));
        await sleep(1000 / rate);
      }
    await Promise.all(firing);
    await sleep(P99_MS * 2);
    const events = await store.events
      .find({ accountId: { $in: owners.map(({ accountId }) => accountId) }, createdAt: { $gte: since } })
      .toArray();
    const arrivedAt = new Map<string, number>();
    for (const { receiver } of owners)
      for (const { id, at } of receiver.received) arrivedAt.set(id, Math.min(at, arrivedAt.get(id) ?? at));
    const delays = events
      .map(({ _id, createdAt }) => (arrivedAt.get(_id) ?? Number.POSITIVE_INFINITY) - createdAt.getTime())
      .sort((a, b) => a - b);
    const at = (quantile: number) => delays[Math.floor((delays.length - 1) * quantile)] ?? Number.NaN;
    return { p50: at(0.5), p99: at(0.99) };
  }

  async function isSustained(rate: number): Promise<boolean> {
    for (let i = 0; i < RUNS; i++) if ((await run(rate)).p99 > P99_MS) return false;
    return true;
  }

  await run(FIRST_RATE);
  let perSecond = 0;
  for (let rate = FIRST_RATE; await isSustained(rate); rate = Math.round(rate * STEP)) perSecond = rate;

  const half = await run(Math.max(1, Math.round(perSecond / 2)));
  const ratios: number[] = [];
  for (let i = 0; i < PAIRS; i++) {
    const one = await makeOwner();
    // A warm-up run, because endpoints are slower after an idle time, and waiting for the backlog took long.
    await run(perSecond);
    const answering = await run(perSecond, [one.accountId]);
    one.receiver.answer(() => null);
    const hanging = await run(perSecond, [one.accountId]);
    one.receiver.answer(() => ({}));
    ratios.push(hanging.p99 / answering.p99);
  }
  const isolation = ratios.sort((a, b) => a - b)[ratios.length >> 1] ?? Number.NaN;
  return { perSecond, half, isolation };
}
