import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { seededRandom } from '../helpers/random.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { startToxiproxy } from '../helpers/toxiproxy.ts';
import { callOnce, callUntilResult } from './calls.ts';
import { linkFaults, stopFault } from './faults.ts';

/** Number of rounds; each fault occurs once per round. Soak tests set more rounds and longer faults. */
const ROUNDS = Number(process.env.TEST_FAULT_ROUNDS ?? 1);
const LONGEST_MS = Number(process.env.TEST_FAULT_MS ?? 5000);
const IDENTICAL = 50;
const UNKEYED = 5;
const CREDITS = 100_000;

test('with slow, cut and half-open connections and stopped processes, all calls end and are charged once', async (t) => {
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
  // A direct connection, because otherwise the driver would discover the replica set member's own address and bypass
  // the proxy.
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
  const latency = () => random.integer(100, 600);
  const faults = [
    ...linkFaults('MongoDB', mongodb, latency),
    ...linkFaults('Temporal', temporal, latency),
    ...['api', 'orchestrator', 'cpu', 'mongod', 'temporal'].map((name) => stopFault(name, stack, servers)),
  ];

  let charged = 0;
  for (let round = 0; round < ROUNDS; round++)
    for (const [number, fault] of faults.entries()) {
      const [after, lasts] = [random.integer(0, 300), random.integer(1000, LONGEST_MS)];
      const key = `identical-${round}-${number}`;
      const identical = Array.from({ length: IDENTICAL }, () => callUntilResult(account, key, key));
      const unkeyed = Array.from({ length: UNKEYED }, (_, i) => callOnce(account, `${key} ${i}`, null));
      await sleep(after);
      await fault.begin();
      try {
        await sleep(lasts);
      } finally {
        await fault.end();
      }
      const began = Date.now();
      const bodies = new Set(await Promise.all(identical));
      t.is(bodies.size, 1, `${fault.name}: identical calls get identical bodies`);
      t.false(bodies.has(null), `${fault.name}: identical calls get their result`);
      const succeeded = (await Promise.all(unkeyed)).filter((response) => response?.status === 200).length;
      t.deepEqual(
        await auditWhenIdle(store),
        [],
        `${fault.name}: all calls have ended and the ledger is consistent`,
      );
      t.log(`${fault.name} for ${lasts} ms: all calls ended ${Date.now() - began} ms after the fault`);

      const rows = (await callsOf(store, account.accountId)).filter(({ state }) => state === 'charged');
      t.is(
        rows.filter((row) => row.idempotency?.key === key).length,
        1,
        `${fault.name}: one charge for ${IDENTICAL}`,
      );
      const more = rows.length - charged - 1;
      t.true(
        more >= succeeded && more <= UNKEYED,
        `${fault.name}: ${more} unkeyed calls charged, ${succeeded} of them answered`,
      );
      charged = rows.length;
    }
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - charged);
});
