import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { startServers } from '../../dev/stack.ts';
import { openStore } from '../../store/mongo.ts';
import { callOnce } from '../chaos/callers.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, closeBooks, until } from '../helpers/books.ts';
import { startStack } from '../helpers/stack.ts';

/** Milliseconds of load; the soak is the same for an hour. */
const LOAD_MS = Number(process.env.TEST_WAL_MS ?? 15_000);
const AT_ONCE = 8;
const CREDITS = 10_000_000;
/** Stand-stills make the server cancel its queries. */
const STAND_STILL_EVERY_MS = 10_000;
const STAND_STILL_MS = 2_000;
/** At 256 MB the server is started again, 15 s later; load goes on meanwhile. */
const LONGEST = 400_000_000;
/** What is kept on the disk between checkpoints, and one transaction more. */
const USUAL = 32_000_000;
const RESTARTED_MS = 120_000;

/** One after the other, so that Temporal can write in between. */
async function grow(database: string, bytes: number): Promise<void> {
  using db = new DatabaseSync(database, { timeout: 30_000 });
  db.exec('PRAGMA wal_autocheckpoint = 0; CREATE TABLE ballast (bytes BLOB)');
  for (let written = 0; written < bytes; written += 4_000_000) {
    db.exec('INSERT INTO ballast VALUES (zeroblob(4000000))');
    await sleep(5);
  }
}

test('the write-ahead log of Temporal stays short under load, and a reader that never ends does not change that', async (t) => {
  t.timeout(LOAD_MS + 600_000);
  await using open = new AsyncDisposableStack();
  const dataDir = open.adopt(await mkdtemp(join(tmpdir(), 'wal-test-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  const log = (line: string) => t.log(line);
  const servers = open.adopt(await startServers({ dataDir, log, supervise: true }), (it) => it.stop());
  const stack = open.adopt(await startStack({ servers, pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);
  const database = join(dataDir, 'temporal.sqlite');
  const length = () =>
    stat(`${database}-wal`).then(
      ({ size }) => size,
      () => 0,
    );

  let longest = 0;
  let paid = 0;
  const end = Date.now() + LOAD_MS;
  const caller = async () => {
    while (Date.now() < end)
      if ((await callOnce(account, `${Math.random()}`, null))?.status === 200) paid += 1;
  };
  const watch = async () => {
    for (; Date.now() < end; await sleep(250)) longest = Math.max(longest, await length());
  };
  const standStill = async () => {
    while (Date.now() + STAND_STILL_EVERY_MS < end) {
      await sleep(STAND_STILL_EVERY_MS - STAND_STILL_MS);
      await servers.temporal?.kill('SIGSTOP');
      await sleep(STAND_STILL_MS);
      await servers.temporal?.kill('SIGCONT');
    }
  };
  await Promise.all([watch(), standStill(), ...Array.from({ length: AT_ONCE }, caller)]);
  t.log(`${paid} calls in ${LOAD_MS} ms; the log was at most ${longest} bytes long`);
  t.true(paid > 0);
  t.true(longest <= LONGEST, `${longest} bytes`);

  // A reader of our own stands for the statement that the driver forgot; it goes with the server.
  const pid = servers.temporal?.pid;
  {
    using reader = new DatabaseSync(database);
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM namespaces').get();
    await grow(database, 300_000_000);
    t.true((await length()) > USUAL, 'nothing ends the log');
    await until('Temporal is ended', async () => servers.temporal?.pid !== pid, RESTARTED_MS);
  }
  await until(
    'the log is short again',
    async () => {
      if ((await callOnce(account, 'afterwards', null))?.status === 200) paid += 1;
      return (await length()) <= USUAL;
    },
    RESTARTED_MS,
  );
  t.deepEqual(await closeBooks(store), []);
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - paid);
});
