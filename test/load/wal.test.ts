import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { startServers } from '../../dev/stack.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { callOnce } from '../chaos/calls.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Milliseconds for which the load lasts; soak tests set one hour. */
const LOAD_MS = Number(process.env.TEST_WAL_MS ?? 15_000);
/** Number of concurrent callers. */
const CALLERS = 8;
const CREDITS = 10_000_000;
/**
 * Interval in milliseconds at which the Temporal server is paused with SIGSTOP, which makes it cancel database queries.
 */
const PAUSE_EVERY_MS = 10_000;
const PAUSE_MS = 2_000;
/**
 * Maximum size of the write-ahead log in bytes. The server is restarted 15 s after the log reaches 256 MB, and the log
 * grows until then.
 */
const LONGEST = 400_000_000;
/** Usual maximum size in bytes: what stays on the disk between checkpoints, plus one transaction. */
const USUAL = 32_000_000;
const RESTARTED_MS = 120_000;

/** Makes the write-ahead log grow by small transactions, so that Temporal can write between them. */
async function grow(database: string, bytes: number): Promise<void> {
  using db = new DatabaseSync(database, { timeout: 30_000 });
  db.exec('PRAGMA wal_autocheckpoint = 0; CREATE TABLE ballast (bytes BLOB)');
  for (let written = 0; written < bytes; written += 4_000_000) {
    db.exec('INSERT INTO ballast VALUES (zeroblob(4000000))');
    await sleep(5);
  }
}

test("Temporal's write-ahead log stays short under load, even with a reader that never ends", async (t) => {
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
  let charged = 0;
  const end = Date.now() + LOAD_MS;
  const caller = async (_: unknown, number: number) => {
    for (let i = 0; Date.now() < end; i++)
      if ((await callOnce(account, `${number}, ${i}`, null))?.status === 200) charged += 1;
  };
  const watch = async () => {
    for (; Date.now() < end; await sleep(250)) longest = Math.max(longest, await length());
  };
  const pauseServer = async () => {
    while (Date.now() + PAUSE_EVERY_MS < end) {
      await sleep(PAUSE_EVERY_MS - PAUSE_MS);
      await servers.temporal?.kill('SIGSTOP');
      await sleep(PAUSE_MS);
      await servers.temporal?.kill('SIGCONT');
    }
  };
  await Promise.all([watch(), pauseServer(), ...Array.from({ length: CALLERS }, caller)]);
  t.log(`${charged} calls in ${LOAD_MS} ms; the log was at most ${longest} bytes long`);
  t.true(charged > 0);
  t.true(longest <= LONGEST, `${longest} bytes`);

  // This reader has the effect of a statement that the SQLite driver left open: it stays until the Temporal server is
  // restarted.
  const pid = servers.temporal?.pid;
  {
    using reader = new DatabaseSync(database);
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM namespaces').get();
    await grow(database, 300_000_000);
    t.true((await length()) > USUAL, 'checkpoints are blocked');
    await until('Temporal is restarted', async () => servers.temporal?.pid !== pid, RESTARTED_MS);
  }
  await until(
    'the log is short again',
    async () => {
      if ((await callOnce(account, 'afterwards', null))?.status === 200) charged += 1;
      return (await length()) <= USUAL;
    },
    RESTARTED_MS,
  );
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - charged);
});
