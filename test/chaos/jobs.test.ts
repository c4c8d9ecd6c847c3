import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { audit } from '../../store/ledger/audit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { accountOf } from '../helpers/ledgerCheck.ts';
import { seededRandom } from '../helpers/random.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { restart, sendSignal } from './faults.ts';

/** Number of kills, distributed over the processes in turn; soak tests set a larger number. */
const KILLS = Number(process.env.TEST_JOB_KILLS ?? 6);
const JOBS = 12;
const CREDITS = 100_000;
/** Milliseconds after a kill within which all jobs must have ended. */
const LIVENESS_MS = 120_000;

const PROCESSES = ['orchestrator', 'cpu', 'api', 'mongod', 'temporal', 'delivery'] as const;

test('when a process is killed, every job ends once, with its result, its charge and its callback', async (t) => {
  t.timeout(KILLS * 240_000);
  const random = seededRandom((line) => t.log(line));
  await using owned = new AsyncDisposableStack();
  const receiver = owned.adopt(await startReceiver(), (it) => it.close());
  const servers = owned.adopt(await startOwnServers(), (it) => it.stop());
  const pools = ['orchestrator', 'delivery', 'cpu'];
  const stack = owned.adopt(await startStack({ servers, pools }), (it) => it.stop());
  const store = owned.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);
  const jobs = jobsOf(account, stack.baseUrl);

  /** Creates a job as a robust client does: with a key, until it is accepted. */
  const accepted = (text: string) =>
    until(
      `job ${text} is accepted`,
      async () => {
        const body = { tool: 'hash-text', input: { text }, callbackUrl: receiver.url };
        const row = await jobs.create(body, { 'Idempotency-Key': text }).catch(() => null);
        if (row === null) await sleep(random.integer(50, 500));
        return row;
      },
      LIVENESS_MS,
    );

  const ids = new Set<string>();
  for (let run = 0; run < KILLS; run++) {
    const processName = PROCESSES[run % PROCESSES.length] ?? 'api';
    const after = random.integer(0, 600);
    const downMs = random.integer(0, 3000);
    t.log(`run ${run}: ${processName} killed after ${after} ms, down for ${downMs} ms`);
    const creating = Array.from({ length: JOBS }, (_, i) => accepted(`${run}-${i}`));
    await sleep(after);
    await sendSignal(processName, 'SIGKILL', stack, servers);
    await sleep(downMs);
    await restart(processName, stack, servers);

    const rows = await Promise.all(creating);
    for (const { id } of rows) ids.add(id);
    await until(
      `${processName}: all jobs have ended`,
      async () => (await store.jobs.countDocuments({ endedAt: null })) === 0,
      LIVENESS_MS,
    );
    const ended = await store.jobs.find({ _id: { $in: rows.map(({ id }) => id) } }).toArray();
    t.deepEqual([...new Set(ended.map(({ state, code }) => code ?? state))], ['succeeded'], processName);
    for (const { id } of rows) t.is((await jobs.result(id)).status, 200, processName);
  }
  t.is(ids.size, KILLS * JOBS, 'one job per key');
  await until(
    'all callbacks are delivered',
    async () => (await store.jobs.countDocuments({ 'callback.state': { $ne: 'delivered' } })) === 0,
    LIVENESS_MS,
  );
  t.is(new Set(receiver.received.map(({ id }) => id)).size, KILLS * JOBS);
  await until('no credits are held', async () => (await accountOf(store, account.accountId)).reserved === 0);
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - KILLS * JOBS);
  t.is(await store.calls.countDocuments({ state: 'charged' }), KILLS * JOBS);
  t.deepEqual((await audit(store)).drift, []);
});

test('a job whose workflow is lost ends without a charge', async (t) => {
  t.timeout(300_000);
  await using owned = new AsyncDisposableStack();
  const stack = owned.adopt(await startStack({ pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const store = owned.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const { id } = await jobs.create({ tool: 'hash-text', input: { text: 'abc' } });
  await jobs.ended(id);
  // As if the step that stores the end had not been made before Temporal's database was lost.
  const lost = `${id}-lost`;
  const [job, call] = [await store.jobs.findOne({ _id: id }), await store.calls.findOne({ _id: id })];
  if (job === null || call === null) throw new Error('no job');
  await store.calls.insertOne({ ...call, _id: lost, state: 'running', charged: 0, finishedAt: null });
  await store.jobs.insertOne({
    ...job,
    _id: lost,
    state: 'running',
    startedAt: call.startedAt,
    endedAt: null,
  });
  t.like(await jobs.ended(lost), { state: 'failed', code: 'internal', charged: 0 });
  t.is((await (await jobs.result(lost)).json()).code, 'internal');
  t.is((await accountOf(store, account.accountId)).balance, 9);
});
