import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { startHandOver } from '../../api/handOver.ts';
import { createAccounts } from '../../store/accounts.ts';
import { openStore } from '../../store/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { startReceiver } from '../helpers/receiver.ts';
import type { Stack } from '../helpers/stack.ts';

const ENDPOINTS = 10;
const SECONDS = 20;
/** What p99 may be for a rate to count as sustained. */
const P99_MS = 2000;
const FIRST_RATE = 10;
/** For what was fired too fast to come in time. */
const DRAIN_MS = 120_000;

/** From an event's commit to the first byte of its first attempt. */
interface Delays {
  p50: number;
  p99: number;
}

export interface WebhooksRow {
  /** Highest rate of events with p99 within two seconds. */
  perSecond: number;
  /** At half of it. */
  half: Delays;
  /** p99 of the others at the highest rate, when one more endpoint hangs on every attempt by when it answers. */
  isolation: number;
}

/** Events a second that are delivered as they come, and how long each takes, with and without a receiver that hangs. */
export async function benchWebhooks(stack: Stack): Promise<WebhooksRow> {
  await using open = new AsyncDisposableStack();
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const connection = open.adopt(await Connection.connect({ address: stack.temporalAddress }), (it) =>
    it.close(),
  );
  const client = new Client({ connection, namespace: stack.namespace });
  const accounts = createAccounts(store);

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
    await startHandOver(client, accountId);
  }

  /** What was too much for the machine is not to be the next run's burden. */
  async function drain(): Promise<void> {
    const end = Date.now() + DRAIN_MS;
    const left = async () =>
      (await store.events.countDocuments({ pending: true })) +
      (await store.deliveries.countDocuments({ state: 'pending', attempts: 0 }));
    while ((await left()) > 0) {
      if (Date.now() > end) throw new Error('deliveries pile up');
      await sleep(500);
    }
  }

  /** Fires at this rate, and says how long first attempts took; Infinity for what has not come in time. */
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
    const cameAt = new Map<string, number>();
    for (const { receiver } of owners)
      for (const { id, at } of receiver.received) cameAt.set(id, Math.min(at, cameAt.get(id) ?? at));
    const delays = events
      .map(({ _id, createdAt }) => (cameAt.get(_id) ?? Number.POSITIVE_INFINITY) - createdAt.getTime())
      .sort((a, b) => a - b);
    const at = (quantile: number) => delays[Math.floor((delays.length - 1) * quantile)] ?? Number.NaN;
    return { p50: at(0.5), p99: at(0.99) };
  }

  await run(FIRST_RATE);
  let perSecond = 0;
  for (let rate = FIRST_RATE; (await run(rate)).p99 <= P99_MS; rate = Math.round(rate * 1.5))
    perSecond = rate;

  const half = await run(Math.max(1, Math.round(perSecond / 2)));
  const one = await makeOwner();
  const answering = await run(perSecond, [one.accountId]);
  one.receiver.answer(() => null);
  const hanging = await run(perSecond, [one.accountId]);
  return { perSecond, half, isolation: hanging.p99 / answering.p99 };
}
