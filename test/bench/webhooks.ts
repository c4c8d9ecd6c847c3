import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createEventDispatch } from '../../api/webhooks/eventDispatch.ts';
import { readEnv } from '../../schemas/env.ts';
import { EVENTS, type EventKind } from '../../schemas/events.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { newEvent, storeEvents } from '../../store/webhooks/events.ts';
import { makeAccount } from '../helpers/account.ts';
import { startReceiver } from '../helpers/receiver.ts';
import type { Stack } from '../helpers/stack.ts';
import type { Sizes } from './sizes.ts';

/** Factor between one tested rate and the next: two steps double the rate. */
const STEP = Math.SQRT2;
/** Milliseconds between the moments at which the events of a run are stored. */
const TICK_MS = 20;
/** The events of the runs. Those of new accounts and keys wait for the sweeper, because no API wrote them. */
const EVENT: EventKind = 'credits.granted';
/** Milliseconds within which the backlog must be delivered after a run. */
const DRAIN_MS = 120_000;

/** Percentiles of the milliseconds from the commit of an event to the arrival of its first delivery attempt. */
interface Delays {
  p50: number;
  p99: number;
}

interface WebhooksRow {
  /** Highest sustained rate, in deliveries per second: each event has one. */
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
export async function benchWebhooks(stack: Stack, sizes: Sizes['webhooks']): Promise<WebhooksRow> {
  await using open = new AsyncDisposableStack();
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const connection = open.adopt(await Connection.connect({ address: stack.temporalAddress }), (it) =>
    it.close(),
  );
  const client = new Client({ connection, namespace: stack.namespace });
  // As in the API, an event whose dispatch fails is left to the sweeper. Its deliveries then count as late.
  store.onEvents(createEventDispatch(store, client, readEnv(stack.env), () => undefined));

  async function makeOwner() {
    const account = await makeAccount(stack, 0);
    const receiver = await startReceiver();
    open.defer(() => receiver.close());
    const made = await account.manage('/api/v1/account/webhooks', { url: receiver.url });
    if (made.status !== 201) throw new Error(await made.text());
    return { accountId: account.accountId, receiver };
  }
  const owners = await Promise.all(Array.from({ length: sizes.endpoints }, makeOwner));

  /** Stores an event without the change that it reports, which would cost more than its delivery. */
  const fire = (accountId: string): Promise<void> =>
    storeEvents(store, [newEvent(accountId, EVENT, EVENTS[EVENT].example)]);

  /** Waits until the events of the runs in these accounts have been delivered. Default: in all accounts. */
  async function drain(accountIds?: readonly string[]): Promise<void> {
    const end = Date.now() + DRAIN_MS;
    const of = {
      event: EVENT,
      ...(accountIds === undefined ? {} : { accountId: { $in: [...accountIds] } }),
    };
    const left = async () =>
      (await store.events.countDocuments({ ...of, pending: true })) +
      (await store.deliveries.countDocuments({ ...of, state: 'pending', attempts: 0 }));
    while ((await left()) > 0) {
      if (Date.now() > end) throw new Error('the backlog of deliveries does not shrink');
      await sleep(500);
    }
  }

  /** Creates events at this rate. @returns the delays of their first delivery attempts */
  async function run(rate: number, also: readonly string[] = []): Promise<Delays> {
    await drain();
    const since = new Date();
    const firing: Promise<void>[] = [];
    let fired = 0;
    for (const began = Date.now(); fired < rate * sizes.seconds; await sleep(TICK_MS))
      for (const due = (rate * (Date.now() - began)) / 1000; fired <= due; fired++) {
        const owner = owners[fired % owners.length];
        if (owner === undefined) throw new RangeError('no such owner');
        firing.push(fire(owner.accountId));
        if (fired % rate === 0) firing.push(...also.map(fire));
      }
    await Promise.all(firing);
    const accountIds = owners.map(({ accountId }) => accountId);
    await drain(accountIds);
    const events = await store.events
      .find({ event: EVENT, accountId: { $in: accountIds }, createdAt: { $gte: since } })
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
    for (let i = 0; i < sizes.runs; i++) if ((await run(rate)).p99 > sizes.p99Ms) return false;
    return true;
  }

  /** Steps up from the first rate while rates are sustained, or else down to the first one that is. */
  async function highestRate(): Promise<number> {
    let rate = sizes.firstRate;
    if (!(await isSustained(rate))) {
      do rate = Math.floor(rate / STEP);
      while (rate > 0 && !(await isSustained(rate)));
      return rate;
    }
    for (let next = rate; next < sizes.lastRate; rate = next) {
      next = Math.round(next * STEP);
      if (!(await isSustained(next))) break;
    }
    return rate;
  }

  await run(sizes.firstRate);
  const perSecond = await highestRate();
  const half = await run(Math.max(1, Math.round(perSecond / 2)));
  const ratios: number[] = [];
  // In each pair of runs an additional endpoint first responds and then hangs. It is a new one, so that none is disabled.
  for (let i = 0; i < sizes.pairs; i++) {
    const one = await makeOwner();
    const answering = await run(perSecond, [one.accountId]);
    one.receiver.answer(() => null);
    const hanging = await run(perSecond, [one.accountId]);
    one.receiver.answer(() => ({}));
    ratios.push(hanging.p99 / answering.p99);
  }
  const isolation = ratios.sort((a, b) => a - b)[ratios.length >> 1] ?? Number.NaN;
  return { perSecond, half, isolation };
}
