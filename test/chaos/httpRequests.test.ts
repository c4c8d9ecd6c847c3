import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { recordAt } from '../helpers/json.ts';
import { auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { seededRandom } from '../helpers/random.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { restart, sendSignal } from './faults.ts';

/** Number of kills, distributed over the processes in turn; soak tests set a larger number. */
const KILLS = Number(process.env.TEST_KILLS ?? 3);
const CALLS = 12;
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];
/** Milliseconds for which calls with an Idempotency-Key are retried. */
const RETRY_MS = 90_000;

const PROCESSES = ['network', 'orchestrator', 'temporal', 'mongod', 'api'] as const;

test('when a process is killed, the target receives an unsafe request at most once', async (t) => {
  t.timeout(120_000 + KILLS * 150_000);
  const random = seededRandom((line) => t.log(line));
  await using open = new AsyncDisposableStack();

  /**
   * How often the target received each request, by method and path. The target responds to `/<name>/<ms>` after `ms`
   * milliseconds.
   */
  const arrived = new Map<string, number>();
  const target = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    arrived.set(line, (arrived.get(line) ?? 0) + 1);
    setTimeout(() => response.end('done'), Number(line.split('/').at(-1)));
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

  /** Makes one call with the given method and path. Returns null when the connection broke. */
  async function call(line: string, headers: Record<string, string> = {}): Promise<Response | null> {
    const [method, path] = line.split(' ');
    try {
      return await account.call('http-request', { method, url: `http://127.0.0.1:${port}${path}` }, headers);
    } catch {
      return null; // the API process has been killed and has not restarted yet
    }
  }

  /** Retries a call with the same Idempotency-Key until the response is final. @returns its status; null after 90 s */
  async function callUntilResult(line: string): Promise<number | null> {
    for (const end = Date.now() + RETRY_MS; Date.now() < end; await sleep(250)) {
      const response = await call(line, { 'Idempotency-Key': line.replaceAll(/\W/g, '-') });
      if (response?.status === 200 || response?.headers.get('Idempotent-Replayed') === 'true')
        return response.status;
    }
    return null;
  }

  for (let run = 0; run < KILLS; run++) {
    const processName = PROCESSES[run % PROCESSES.length] ?? 'network';
    const count = random.integer(0, CALLS / 2);
    const after = random.integer(0, 200);
    const downMs = random.integer(0, 2000);
    t.log(`run ${run}: ${processName} killed ${after} ms after ${count} arrivals, down for ${downMs} ms`);
    const enough = arrived.size + count;
    const requests = Array.from(
      { length: CALLS },
      (_, i) => `${random.pick(METHODS)} /${run}-${i}/${random.integer(0, 400)}`,
    );
    const keyed = requests.slice(0, CALLS / 2).map(callUntilResult);
    const unkeyed = requests.slice(CALLS / 2).map((line) => call(line));
    await until(`${count} arrive`, async () => arrived.size >= enough);
    await sleep(after);
    await sendSignal(processName, 'SIGKILL', stack, servers);
    await sleep(downMs);
    await restart(processName, stack, servers);

    const statuses = await Promise.all(keyed);
    t.false(statuses.includes(null), `${processName}: every call with a key ends`);
    const responses = await Promise.all(unkeyed);
    t.deepEqual(
      await auditWhenIdle(store),
      [],
      `${processName}: all calls have ended and the ledger is consistent`,
    );

    for (const line of requests) t.true((arrived.get(line) ?? 0) <= 1, `${processName}: ${line}`);
    for (const [i, response] of responses.entries())
      if (response?.status === 200) {
        t.is(recordAt(await response.json()).body, 'done');
        t.is(
          arrived.get(requests[CALLS / 2 + i] ?? ''),
          1,
          `${processName}: an answered request arrived once`,
        );
      }
    for (const [i, status] of statuses.entries())
      if (status === 200)
        t.is(arrived.get(requests[i] ?? ''), 1, `${processName}: an answered request arrived once`);
  }
  const charged = (await callsOf(store, account.accountId)).filter(({ state }) => state === 'charged');
  t.true(
    charged.length > 0 && charged.length <= arrived.size,
    `${charged.length} charged, ${arrived.size} arrived`,
  );
});
