import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import test from 'ava';
import { until } from '../helpers/until.ts';
import { type Call, type Harness, NONCE, OUTPUT, startHarness } from './workflowHarness.ts';

const QUEUED_WITHIN_MS = 120_000;
/** Far longer than Temporal takes to put a scheduled activity into the queue. */
const ARRIVAL_MS = 1_000;
const TEST_MS = 300_000;

let harness: Harness;

test.before(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  harness = await startHarness();
});
test.after.always(async () => {
  await harness?.[Symbol.asyncDispose]();
});

/** Starts a pool for one test. Its worker has one slot, and the test decides when a job ends. */
async function startPool(pool: 'network' | 'browser') {
  const worker = await harness.startToolWorker(pool, 1);
  /** Account of each job, in the order in which the jobs started. */
  const begun: string[] = [];
  const calls: Call[] = [];
  const ends: (() => void)[] = [];
  let released = false;
  const release = () => {
    released = true;
    for (const end of ends.splice(0)) end();
  };
  return {
    begun,
    /** Starts a call. @param running the account's number of calls in the pool, as the ledger reports it */
    async start(accountId: string, running: number): Promise<void> {
      const part = {
        reserve: async () => ({ status: 'held', nonce: NONCE, available: 93, running }) as const,
        async tool() {
          begun.push(accountId);
          if (!released) await new Promise<void>((end) => ends.push(end));
          return OUTPUT;
        },
      };
      calls.push(await harness.call(part, { pool }, 'orchestrator', accountId));
    },
    /** Waits until one call runs and all others are in the queue. */
    async queued(): Promise<void> {
      const isScheduled = async ({ handle }: Call) =>
        (await handle.describe()).raw.pendingActivities?.length === 1;
      await until(
        `${calls.length} calls have come to the pool`,
        async () =>
          begun.length > 0 &&
          (await Promise.all(calls.map(isScheduled))).every(Boolean) &&
          (await harness.queued(`tools-${pool}`)) >= calls.length - begun.length,
        QUEUED_WITHIN_MS,
      );
      // Temporal's count is approximate: it can still include the call that runs.
      await sleep(ARRIVAL_MS);
    },
    /** Ends the running job, and waits until the next one has started. */
    async next(): Promise<void> {
      const count = begun.length;
      ends.shift()?.();
      while (begun.length === count) await sleep(10);
    },
    /** Ends each job as it starts, until all calls have ended. */
    async finish(): Promise<void> {
      release();
      await Promise.all(calls.map(({ handle }) => handle.result()));
    },
    async [Symbol.asyncDispose]() {
      release();
      await worker[Symbol.asyncDispose]();
    },
  };
}

test.serial('a call waits for at most one job, and not for the queue of another account', async (t) => {
  t.timeout(TEST_MS);
  await using pool = await startPool('network');
  // With equal weights, the order in which these calls reach the queue does not matter.
  for (let i = 0; i < 8; i++) await pool.start('flooder', 8);
  await pool.queued();
  await pool.start('other', 1);
  await pool.queued();
  await pool.next();
  t.deepEqual(pool.begun, ['flooder', 'other']);
  await pool.finish();
  t.is(pool.begun.length, 9);
});

test.serial('accounts with equal numbers of calls get equal numbers of slots', async (t) => {
  t.timeout(TEST_MS);
  await using pool = await startPool('browser');
  const accounts = ['first', 'second', 'third'];
  for (const accountId of accounts) for (let i = 1; i <= 6; i++) await pool.start(accountId, i);
  await pool.queued();
  while (pool.begun.length < 10) await pool.next();
  for (const accountId of accounts) {
    const share = pool.begun.filter((each) => each === accountId).length;
    t.true(share >= 2 && share <= 5, `${accountId} had ${share} of ${pool.begun.length}`);
  }
  await pool.finish();
  t.is(pool.begun.length, 18);
});
