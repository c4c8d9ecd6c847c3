import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { callsOf, closeBooks, until } from '../helpers/books.ts';
import { listen } from '../helpers/egress.ts';
import { recordAt } from '../helpers/json.ts';
import { seededRandom } from '../helpers/random.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { revive, strike } from './victims.ts';

/** Kills in all, each of a victim in turn; the soak is the same with a bigger number. */
const KILLS = Number(process.env.TEST_KILLS ?? 3);
const CALLS = 12;
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];
/** Callers with a key try again for so long. */
const PATIENCE_MS = 90_000;

const VICTIMS = ['network', 'orchestrator', 'temporal', 'mongod', 'api'] as const;

test('whoever is killed, a request that changes something arrives at most once', async (t) => {
  t.timeout(120_000 + KILLS * 150_000);
  const random = seededRandom((line) => t.log(line));
  await using open = new AsyncDisposableStack();

  /** How often each request arrived, by its method and path; `/<name>/<ms>` is answered after so long. */
  const arrived = new Map<string, number>();
  const target = createServer((request, response) => {
    const asked = `${request.method} ${request.url}`;
    arrived.set(asked, (arrived.get(asked) ?? 0) + 1);
    setTimeout(() => response.end('done'), Number(asked.split('/').at(-1)));
  });
  const port = await listen(target);
  open.defer(() => {
    target.close();
    target.closeAllConnections();
  });

  const servers = open.adopt(await startOwnServers(), (it) => it.stop());
  const env = { EGRESS_ALLOW: `127.0.0.1:${port}` };
  const stack = open.adopt(await startStack({ servers, env, pools: ['orchestrator', 'network'] }), (it) =>
    it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, 1_000_000);

  /** One call; null when the connection broke. */
  async function call(asked: string, headers: Record<string, string> = {}): Promise<Response | null> {
    const [method, path] = asked.split(' ');
    try {
      return await account.call('http-request', { method, url: `http://127.0.0.1:${port}${path}` }, headers);
    } catch {
      return null; // the API was killed, or is not there yet
    }
  }

  /** As a careful client does it: the same key until there is an answer that stays. */
  async function insist(asked: string): Promise<number | null> {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(250)) {
      const response = await call(asked, { 'Idempotency-Key': asked.replaceAll(/\W/g, '-') });
      if (response?.status === 200 || response?.headers.get('Idempotent-Replayed') === 'true')
        return response.status;
    }
    return null;
  }

  for (let run = 0; run < KILLS; run++) {
    const victim = VICTIMS[run % VICTIMS.length] ?? 'network';
    const count = random.integer(0, CALLS / 2);
    const after = random.integer(0, 200);
    const away = random.integer(0, 2000);
    t.log(`run ${run}: ${victim} killed ${after} ms after ${count} have arrived, away for ${away} ms`);
    const enough = arrived.size + count;
    const requests = Array.from(
      { length: CALLS },
      (_, i) => `${random.pick(METHODS)} /${run}-${i}/${random.integer(0, 400)}`,
    );
    const careful = requests.slice(0, CALLS / 2).map(insist);
    const careless = requests.slice(CALLS / 2).map((asked) => call(asked));
    await until(`${count} arrive`, async () => arrived.size >= enough);
    await sleep(after);
    await strike(victim, 'SIGKILL', stack, servers);
    await sleep(away);
    await revive(victim, stack, servers);

    const kept = await Promise.all(careful);
    t.false(kept.includes(null), `${victim}: every call with a key ends`);
    const answers = await Promise.all(careless);
    t.deepEqual(await closeBooks(store), [], `${victim}: all has ended, and the books are right`);

    for (const asked of requests) t.true((arrived.get(asked) ?? 0) <= 1, `${victim}: ${asked}`);
    for (const [i, answer] of answers.entries())
      if (answer?.status === 200) {
        t.is(recordAt(await answer.json()).body, 'done');
        t.is(arrived.get(requests[CALLS / 2 + i] ?? ''), 1, `${victim}: who got an answer was served`);
      }
    for (const [i, status] of kept.entries())
      if (status === 200) t.is(arrived.get(requests[i] ?? ''), 1, `${victim}: who got an answer was served`);
  }
  const charged = (await callsOf(store, account.accountId)).filter(({ state }) => state === 'charged');
  t.true(
    charged.length > 0 && charged.length <= arrived.size,
    `${charged.length} charged, ${arrived.size} served`,
  );
});
