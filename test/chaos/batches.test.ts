import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { BatchManifest, BatchRow } from '../../schemas/batches.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { audit } from '../../store/ledger/audit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { batchesOf, linesOf, NDJSON } from '../helpers/batches.ts';
import { recordAt } from '../helpers/json.ts';
import { accountOf, auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { seededRandom } from '../helpers/random.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { restart, sendSignal } from './faults.ts';

/**
 * Number of kills, distributed over the processes in turn, and rows of the batch. The goal is 200 and 10,000, which take hours; soak
 * tests set larger numbers.
 */
const KILLS = Number(process.env.TEST_BATCH_KILLS ?? 10);
const ROWS = Number(process.env.TEST_BATCH_ROWS ?? 800);
/** The same for a worker that runs chunks. */
const WORKER_KILLS = Number(process.env.TEST_CHUNK_KILLS ?? 4);
const WORKER_ROWS = WORKER_KILLS * 1000;
/** Milliseconds within which the batch must end after the last kill. */
const LIVENESS_MS = 60_000 + ROWS * 500;

const PROCESSES = ['orchestrator', 'cpu', 'api', 'mongod', 'temporal', 'network', 'delivery'] as const;

test('a batch ends with every row once, whatever is killed meanwhile', async (t) => {
  t.timeout(KILLS * 120_000 + LIVENESS_MS);
  const random = seededRandom((line) => t.log(line));
  await using owned = new AsyncDisposableStack();
  const receiver = owned.adopt(await startReceiver(), (it) => it.close());
  const servers = owned.adopt(await startOwnServers(), (it) => it.stop());
  const pools = ['orchestrator', 'delivery', 'cpu', 'network'];
  const stack = owned.adopt(await startStack({ servers, pools }), (it) => it.stop());
  const store = owned.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  // Too few for all rows, so that the batch also pauses for credits.
  const credits = Math.round(ROWS * 0.6);
  const account = await makeAccount(stack, credits);
  const batches = batchesOf(account, stack.baseUrl);

  // Every tenth row fails.
  const lineOf = (i: number) =>
    i % 10 === 9
      ? { tool: 'http-request', input: { url: 'http://127.0.0.1:9/' } }
      : { tool: 'qr-generate', input: { text: `${i}` } };
  const body = Array.from({ length: ROWS }, (_, i) => JSON.stringify({ id: `r${i}`, ...lineOf(i) })).join(
    '\n',
  );
  // Rows that run in chunks take little time: for each kill the batch may spend a share of the credits.
  const limitOf = (run: number) => Math.max(1, Math.round((credits * (run + 1)) / KILLS));
  const create = () =>
    batches.send(
      NDJSON,
      body,
      { 'Idempotency-Key': 'k' },
      `?maxCredits=${limitOf(0)}&callbackUrl=${encodeURIComponent(receiver.url)}`,
    );
  /** Continues the batch if it has reached its limit, which a killed process may prevent. */
  const raise = async (id: string, maxCredits: number | null): Promise<void> => {
    if ((await tryGet(id))?.pauseReason === 'max_credits')
      await batches.act(id, 'resume', { maxCredits }).catch((error) => t.log(String(error)));
  };
  const tryGet = (id: string): Promise<BatchRow | null> => batches.get(id).catch(() => null);

  async function kill(name: (typeof PROCESSES)[number]): Promise<void> {
    const downMs = random.integer(0, 2000);
    t.log(`${name} killed, down for ${downMs} ms`);
    await sendSignal(name, 'SIGKILL', stack, servers);
    await sleep(downMs);
    await restart(name, stack, servers);
  }

  // The batch is created as by a robust client, with a key, while the API is killed.
  const creating = until(
    'the batch is accepted',
    async () => {
      const response = await create().catch(() => null);
      if (response?.status === 202) return response.json();
      await sleep(random.integer(50, 500));
      return null;
    },
    LIVENESS_MS,
  );
  await sleep(random.integer(0, 300));
  await kill('api');
  const { id } = await creating;
  t.is((await (await create()).json()).id, id);

  for (let run = 0; run < KILLS; run++) {
    await raise(id, limitOf(run));
    await sleep(random.integer(0, 300));
    await kill(PROCESSES[run % PROCESSES.length] ?? 'api');
    const row = await tryGet(id);
    t.log(`run ${run}: ${row?.state} ${JSON.stringify(row?.counts)}`);
  }
  await until(
    'the batch has paused for credits, or ended',
    async () => {
      await raise(id, null);
      const row = await tryGet(id);
      return row?.pauseReason === 'insufficient_credits' || row?.endedAt != null;
    },
    LIVENESS_MS,
  );
  const { accountId } = account;
  const more = { accountId, type: 'adjustment', amount: ROWS, reason: 'test', reference: 'more' } as const;
  await createAccounts(store).grant(more);
  const ended = await until(
    'the batch has ended',
    async () => {
      const row = await tryGet(id);
      return row?.endedAt != null && row;
    },
    LIVENESS_MS,
  );
  const refused = Math.floor(ROWS / 10);
  t.like(ended, {
    state: 'completed',
    counts: { rows: ROWS, open: 0, charged: ROWS - refused, refused, cancelled: 0 },
  });

  await until('no credits are held', async () => (await accountOf(store, account.accountId)).reserved === 0);
  const charged = ended.credits.charged;
  t.is((await accountOf(store, account.accountId)).balance, credits + ROWS - charged);
  const manifest: BatchManifest = await (await batches.request(`/${id}/manifest`)).json();
  const { open: _open, ...sums } = ended.counts;
  t.like(manifest, { ...sums, credits: charged });
  t.is(manifest.output.missing, 0);
  const lines = linesOf(await (await batches.request(`/${id}/results`)).text());
  t.deepEqual(
    lines.map(({ row }) => row),
    Array.from({ length: ROWS }, (_, i) => i),
  );
  t.is(new Set(lines.map(({ callId }) => callId)).size, ROWS);
  t.true(
    lines.every(
      ({ output, error, row }) =>
        (output === null) === (Number(row) % 10 === 9) && (error === null) !== (output === null),
    ),
  );
  t.is(
    lines.reduce((sum, line) => sum + Number(line.charged), 0),
    charged,
  );
  t.deepEqual((await audit(store)).drift, []);
  const completed = () => receiver.received.filter(({ event }) => event === 'batch.completed');
  await until('the callback has arrived', async () => completed().length > 0, LIVENESS_MS);
  t.is(new Set(completed().map(({ id: callback }) => callback)).size, 1);
});

test('a worker that is killed while it runs a chunk leaves no row half done', async (t) => {
  t.timeout(WORKER_KILLS * 60_000 + LIVENESS_MS);
  await using owned = new AsyncDisposableStack();
  const stack = owned.adopt(await startStack({ pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const store = owned.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, WORKER_ROWS);
  const batches = batchesOf(account, stack.baseUrl);
  const inputs = Array.from({ length: WORKER_ROWS }, (_, i) => ({ text: `text ${i}` }));
  const { id } = await batches.create({ tool: 'hash-text', inputs });

  let left = 0;
  let ended = 0;
  for (let run = 0; run < WORKER_KILLS; run++) {
    const before = ended;
    await until(
      'rows run, and others have ended',
      async () => {
        ended = (await batches.get(id)).counts.charged;
        return ended > before && (await store.jobs.findOne({ batchId: id, state: 'running' })) !== null;
      },
      LIVENESS_MS,
    );
    await stack.kill('cpu', 'SIGKILL');
    const running = await store.jobs.countDocuments({ batchId: id, state: 'running' });
    t.log(`run ${run}: ${ended} rows have ended, ${running} are left`);
    left += running;
    await stack.restart('cpu');
  }
  t.true(left > 0);
  const batch = await until(
    'the batch has ended',
    async () => {
      const row = await batches.get(id);
      return row.endedAt !== null && row;
    },
    LIVENESS_MS,
  );
  t.like(batch, { state: 'completed', counts: { rows: WORKER_ROWS, charged: WORKER_ROWS, refused: 0 } });
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, 0);
  const lines = linesOf(await (await batches.request(`/${id}/results`)).text());
  t.true(
    lines.every(
      ({ row, output }) => recordAt(output).hash === createHash('sha256').update(`text ${row}`).digest('hex'),
    ),
  );
  const charges = await store.entries.find({ accountId: account.accountId, type: 'charge' }).toArray();
  t.deepEqual(charges.map(({ callId }) => callId).sort(), lines.map(({ callId }) => String(callId)).sort());
  const manifest: BatchManifest = await (await batches.request(`/${id}/manifest`)).json();
  t.like(manifest, { rows: WORKER_ROWS, charged: WORKER_ROWS, credits: WORKER_ROWS });
});
