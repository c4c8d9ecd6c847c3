import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { audit } from '../../store/ledger/audit.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf } from '../helpers/ledgerCheck.ts';
import { seededRandom } from '../helpers/random.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { callOnce, callUntilResult, throughMcp } from './calls.ts';
import { restart, sendSignal } from './faults.ts';

/** Number of kills, distributed over the processes in turn; soak tests set a larger number. */
const KILLS = Number(process.env.TEST_KILLS ?? 10);
const CALLS = 10;
const CREDITS = 100_000;
/** Milliseconds after a kill within which all calls must have ended. */
const LIVENESS_MS = 60_000;

const PROCESSES = ['cpu', 'orchestrator', 'api', 'mongod', 'temporal'] as const;

/**
 * Waits until no call runs and no account holds credits, or until the time limit. @returns the number of running calls
 * and of accounts with held credits
 */
async function waitUntilSettled(store: Store): Promise<{ running: number; holding: number }> {
  const end = Date.now() + LIVENESS_MS;
  for (;;) {
    const running = await store.calls.countDocuments({ state: 'running' });
    const holding = await store.accounts.countDocuments({ reserved: { $gt: 0 } });
    if (running + holding === 0 || Date.now() > end) return { running, holding };
    await sleep(500);
  }
}

test('when a process is killed, every call ends and is charged at most once', async (t) => {
  t.timeout(KILLS * 150_000);
  const random = seededRandom((line) => t.log(line));
  await using open = new AsyncDisposableStack();
  const servers = open.adopt(await startOwnServers(), (it) => it.stop());
  const stack = open.adopt(await startStack({ servers, pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);
  const { baseUrl } = stack;
  /** The interfaces of the service that the callers use in turn. */
  const callers = [
    account,
    throughMcp({ baseUrl, account }, 'legacy'),
    throughMcp({ baseUrl, account }, 'modern'),
  ];
  const callerOf = (i: number) => callers[i % callers.length] ?? account;

  /** Number of results that callers received; each costs one credit. */
  let received = 0;
  for (let run = 0; run < KILLS; run++) {
    const processName = PROCESSES[run % PROCESSES.length] ?? 'api';
    const after = random.integer(0, 350);
    const downMs = random.integer(0, 3000);
    t.log(`run ${run}: ${processName} killed after ${after} ms, down for ${downMs} ms`);
    const began = new Date();

    const keyed = Array.from({ length: CALLS / 2 }, (_, i) =>
      callUntilResult(callerOf(i), `${run} keyed ${i}`, `key-${run}-${i}`),
    );
    const unkeyed = Array.from({ length: CALLS / 2 }, (_, i) =>
      callOnce(callerOf(i), `${run} unkeyed ${i}`, null),
    );
    await sleep(after);
    await sendSignal(processName, 'SIGKILL', stack, servers);
    await sleep(downMs);
    await restart(processName, stack, servers);

    const bodies = await Promise.all(keyed);
    t.false(bodies.includes(null), `${processName}: every call with a key gets its result`);
    const responses = await Promise.all(unkeyed);
    t.deepEqual(
      await waitUntilSettled(store),
      { running: 0, holding: 0 },
      `${processName}: all calls have ended`,
    );

    // Counts charged calls instead of comparing balances, because the sweeper refunds calls of an earlier run whose
    // results were not delivered.
    const charged = await store.calls.countDocuments({ state: 'charged', startedAt: { $gte: began } });
    const succeeded = responses.filter((response) => response?.status === 200).length;
    const lost = responses.filter((response) => response === null).length;
    t.true(
      charged >= CALLS / 2 + succeeded && charged <= CALLS / 2 + succeeded + lost,
      `${processName}: ${charged} charged; without a key ${succeeded} answered and ${lost} disconnected`,
    );
    received += CALLS / 2 + succeeded;
    for (const [i, body] of bodies.entries()) {
      const rows = await store.calls.find({ 'idempotency.key': `key-${run}-${i}` }).toArray();
      t.deepEqual(
        rows.map((row) => row.state),
        ['charged'],
        `${processName}: one charge per key`,
      );
      t.is(
        (await callUntilResult(callerOf(i), `${run} keyed ${i}`, `key-${run}-${i}`)) ?? '',
        body ?? '',
        'the replay has the same body',
      );
    }
    t.deepEqual((await audit(store)).drift, [], `${processName}: the ledger is consistent`);
  }
  await until(
    'undelivered results are refunded',
    async () => (await store.calls.countDocuments({ pendingAnswer: { $exists: true } })) === 0,
    LIVENESS_MS,
  );
  const { balance } = await accountOf(store, account.accountId);
  t.true(CREDITS - balance <= received, `${CREDITS - balance} paid for ${received} results`);
});
