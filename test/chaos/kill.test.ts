import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { audit } from '../../store/audit.ts';
import { openStore, type Store } from '../../store/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { seededRandom } from '../helpers/random.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { callOnce, insist } from './callers.ts';
import { revive, strike } from './victims.ts';

/** Kills in all, each of a victim in turn; the soak is the same with a bigger number. */
const KILLS = Number(process.env.TEST_KILLS ?? 10);
const CALLS = 10;
const CREDITS = 100_000;
/** Once the fault is over everything must have ended within this. */
const LIVENESS_MS = 60_000;

const VICTIMS = ['cpu', 'orchestrator', 'api', 'mongod', 'temporal'] as const;

/** Waits until no call runs and no credit is held. @returns what was still open when the time was over */
async function settle(store: Store): Promise<{ running: number; holding: number }> {
  const end = Date.now() + LIVENESS_MS;
  for (;;) {
    const running = await store.calls.countDocuments({ state: 'running' });
    const holding = await store.accounts.countDocuments({ reserved: { $gt: 0 } });
    if (running + holding === 0 || Date.now() > end) return { running, holding };
    await sleep(500);
  }
}

test('whoever is killed, every call ends and is charged once or not at all', async (t) => {
  t.timeout(KILLS * 150_000);
  const random = seededRandom((line) => t.log(line));
  await using open = new AsyncDisposableStack();
  const servers = open.adopt(await startOwnServers(), (it) => it.stop());
  const stack = open.adopt(await startStack({ servers, pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);

  for (let run = 0; run < KILLS; run++) {
    const victim = VICTIMS[run % VICTIMS.length] ?? 'api';
    const after = random.integer(0, 350);
    const away = random.integer(0, 3000);
    t.log(`run ${run}: ${victim} killed after ${after} ms, away for ${away} ms`);
    const balance = async () =>
      (await store.accounts.findOne({ _id: account.accountId }))?.balance ?? Number.NaN;
    const before = await balance();

    const careful = Array.from({ length: CALLS / 2 }, (_, i) =>
      insist(account, `${run} careful ${i}`, `key-${run}-${i}`),
    );
    const careless = Array.from({ length: CALLS / 2 }, (_, i) =>
      callOnce(account, `${run} careless ${i}`, null),
    );
    await sleep(after);
    await strike(victim, 'SIGKILL', stack, servers);
    await sleep(away);
    await revive(victim, stack, servers);

    const bodies = await Promise.all(careful);
    t.false(bodies.includes(null), `${victim}: every call with a key gets its result`);
    const answers = await Promise.all(careless);
    t.deepEqual(await settle(store), { running: 0, holding: 0 }, `${victim}: all has ended`);

    const charged = before - (await balance());
    const paid = answers.filter((answer) => answer?.status === 200).length;
    const lost = answers.filter((answer) => answer === null).length;
    t.true(
      charged >= CALLS / 2 + paid && charged <= CALLS / 2 + paid + lost,
      `${victim}: ${charged} charged, of ${paid} answered without a key and ${lost} cut off`,
    );
    for (const [i, body] of bodies.entries()) {
      const rows = await store.calls.find({ 'idempotency.key': `key-${run}-${i}` }).toArray();
      t.deepEqual(
        rows.map((row) => row.state),
        ['charged'],
        `${victim}: one charge a key`,
      );
      t.is(
        (await insist(account, `${run} careful ${i}`, `key-${run}-${i}`)) ?? '',
        body ?? '',
        'the replay is the same',
      );
    }
    t.deepEqual((await audit(store)).drift, [], `${victim}: the books add up`);
  }
});
