import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { createAccounts } from '../../store/accounts.ts';
import { createApiKeys } from '../../store/apiKeys.ts';
import { audit } from '../../store/audit.ts';
import { openStore, type Store } from '../../store/mongo.ts';
import { seededRandom } from '../helpers/random.ts';
import { type Stack, startOwnServers, startStack } from '../helpers/stack.ts';

/** Kills in all, each of a victim in turn; the soak is the same with a bigger number. */
const KILLS = Number(process.env.TEST_KILLS ?? 10);
const CALLS = 10;
const CREDITS = 100_000;
/** Once the fault is over everything must have ended within this. */
const LIVENESS_MS = 60_000;
/** Callers with a key try again for so long. */
const PATIENCE_MS = 90_000;

type Servers = Awaited<ReturnType<typeof startOwnServers>>;
const VICTIMS = ['cpu', 'orchestrator', 'api', 'mongod', 'temporal'] as const;
type Victim = (typeof VICTIMS)[number];

async function kill(victim: Victim, stack: Stack, servers: Servers): Promise<void> {
  if (victim === 'mongod' || victim === 'temporal') await servers[victim].kill('SIGKILL');
  else await stack.kill(victim, 'SIGKILL');
}

async function revive(victim: Victim, stack: Stack, servers: Servers): Promise<void> {
  if (victim === 'mongod' || victim === 'temporal') await servers[victim].start();
  else await stack.restart(victim);
}

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
  const account = await createAccounts(store).create({ email: 'kill@example.com', credits: CREDITS });
  const keys = createApiKeys(store, (error) => t.log(error));
  open.defer(() => keys.flush());
  const { key } = await keys.create({
    accountId: account._id,
    name: 'kill',
    scope: 'tools',
    tools: null,
    expiresAt: null,
  });

  /** One call; null when the connection broke. */
  async function call(text: string, idempotencyKey: string | null): Promise<Response | null> {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    try {
      return await fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
        method: 'POST',
        headers: idempotencyKey === null ? headers : { ...headers, 'Idempotency-Key': idempotencyKey },
        body: JSON.stringify({ text }),
      });
    } catch {
      return null; // the API was killed, or is not there yet
    }
  }

  /** As a careful client does it: the same key until there is an answer that counts. */
  async function insist(text: string, idempotencyKey: string): Promise<string | null> {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(250)) {
      const response = await call(text, idempotencyKey);
      if (response?.status === 200) return response.text();
      if (response !== null && response.status < 500)
        t.fail(`${idempotencyKey}: ${response.status} ${await response.text()}`);
    }
    return null;
  }

  for (let run = 0; run < KILLS; run++) {
    const victim = VICTIMS[run % VICTIMS.length] ?? 'api';
    const after = random.integer(0, 350);
    const away = random.integer(0, 3000);
    t.log(`run ${run}: ${victim} killed after ${after} ms, away for ${away} ms`);
    const balance = async () => (await store.accounts.findOne({ _id: account._id }))?.balance ?? Number.NaN;
    const before = await balance();

    const careful = Array.from({ length: CALLS / 2 }, (_, i) =>
      insist(`${run} careful ${i}`, `key-${run}-${i}`),
    );
    const careless = Array.from({ length: CALLS / 2 }, (_, i) => call(`${run} careless ${i}`, null));
    await sleep(after);
    await kill(victim, stack, servers);
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
        (await insist(`${run} careful ${i}`, `key-${run}-${i}`)) ?? '',
        body ?? '',
        'the replay is the same',
      );
    }
    t.deepEqual((await audit(store)).drift, [], `${victim}: the books add up`);
  }
});
