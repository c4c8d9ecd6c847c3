import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, callsOf, closeBooks } from '../helpers/books.ts';
import { type Random, seededRandom } from '../helpers/random.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { type Link, startToxiproxy } from '../helpers/toxiproxy.ts';
import { callOnce, insist } from './callers.ts';
import { strike } from './victims.ts';

/** Each fault once; the soak has more rounds of longer ones. */
const ROUNDS = Number(process.env.TEST_FAULT_ROUNDS ?? 1);
const LONGEST_MS = Number(process.env.TEST_FAULT_MS ?? 5000);
const EQUAL = 50;
const CARELESS = 5;
const CREDITS = 100_000;

interface Fault {
  name: string;
  begin(): Promise<void>;
  end(): Promise<void>;
}

const linkFaults = (name: string, link: Link, random: Random): Fault[] => [
  {
    name: `${name} is slow`,
    begin: () =>
      link.poison({ type: 'latency', attributes: { latency: random.integer(100, 600), jitter: 100 } }),
    end: link.heal,
  },
  { name: `${name} is cut off`, begin: link.cut, end: link.heal },
  {
    name: `${name} is half open`,
    begin: () => link.poison({ type: 'timeout', attributes: { timeout: 0 } }),
    end: link.heal,
  },
];

test('slow, cut and half-open connections, and processes that stand still: all ends, and is charged once', async (t) => {
  t.timeout(ROUNDS * 11 * (LONGEST_MS + 120_000));
  const random = seededRandom((line) => t.log(line));
  await using open = new AsyncDisposableStack();
  const servers = open.adopt(await startOwnServers(), (it) => it.stop());
  const proxy = open.adopt(
    await startToxiproxy(
      { mongodb: new URL(servers.mongodbUri).host, temporal: servers.temporalAddress },
      (line) => t.log(line),
    ),
    (it) => it.stop(),
  );
  const { mongodb, temporal } = proxy.links;
  // The set would tell the driver its member's own address, which leads past the proxy.
  const mongodbUri = `mongodb://${mongodb.address}/?directConnection=true`;
  const stack = open.adopt(
    await startStack({
      servers: { mongodbUri, temporalAddress: temporal.address },
      pools: ['orchestrator', 'cpu'],
    }),
    (it) => it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);
  const faults = [
    ...linkFaults('MongoDB', mongodb, random),
    ...linkFaults('Temporal', temporal, random),
    ...['api', 'orchestrator', 'cpu', 'mongod', 'temporal'].map(
      (victim): Fault => ({
        name: `${victim} stands still`,
        begin: () => strike(victim, 'SIGSTOP', stack, servers),
        end: () => strike(victim, 'SIGCONT', stack, servers),
      }),
    ),
  ];

  let charged = 0;
  for (let round = 0; round < ROUNDS; round++)
    for (const [number, fault] of faults.entries()) {
      const [after, lasts] = [random.integer(0, 300), random.integer(1000, LONGEST_MS)];
      const key = `equal-${round}-${number}`;
      const equal = Array.from({ length: EQUAL }, () => insist(account, key, key));
      const careless = Array.from({ length: CARELESS }, (_, i) => callOnce(account, `${key} ${i}`, null));
      await sleep(after);
      await fault.begin();
      try {
        await sleep(lasts);
      } finally {
        await fault.end();
      }
      const began = Date.now();
      const bodies = new Set(await Promise.all(equal));
      t.is(bodies.size, 1, `${fault.name}: equal calls, equal bodies`);
      t.false(bodies.has(null), `${fault.name}: they get their result`);
      const paid = (await Promise.all(careless)).filter((answer) => answer?.status === 200).length;
      t.deepEqual(await closeBooks(store), [], `${fault.name}: all has ended, and the books are right`);
      t.log(`${fault.name} for ${lasts} ms: all ended ${Date.now() - began} ms after it`);

      const rows = (await callsOf(store, account.accountId)).filter(({ state }) => state === 'charged');
      t.is(
        rows.filter((row) => row.idempotency?.key === key).length,
        1,
        `${fault.name}: one charge for ${EQUAL}`,
      );
      const more = rows.length - charged - 1;
      t.true(
        more >= paid && more <= CARELESS,
        `${fault.name}: ${more} others charged, ${paid} of them answered`,
      );
      charged = rows.length;
    }
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - charged);
});
