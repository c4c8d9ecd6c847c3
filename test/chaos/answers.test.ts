import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { sweep } from '../../store/calls/sweeper.ts';
import { audit } from '../../store/ledger/audit.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { accountOf } from '../helpers/ledgerCheck.ts';
import { until } from '../helpers/until.ts';
import { openDatabases } from '../store/ledgerFixtures.ts';

const CREDITS = 30;
const PRICE = 10;
/**
 * Milliseconds within which an orphaned call must be settled: its lease of 15 s, and then several rounds of the
 * sweeper, which runs every 5 s.
 */
const LIVENESS_MS = 120_000;
const CHILD = fileURLToPath(new URL('../helpers/answering-child.ts', import.meta.url));
/** Upper bound of the number of database operations of a child process, so that the loop ends. */
const MOST_OPERATIONS = 40;

const openAccount = async (store: Store): Promise<string> =>
  (await createAccounts(store).create({ email: `${randomUUID()}@example.com`, credits: CREDITS }))._id;

/** Runs the child process until it is killed. Returns the lines it printed: what its caller received. */
const runChild = (...args: string[]): Promise<string[]> =>
  new Promise((resolve) => {
    execFile(process.execPath, [CHILD, ...args], (_error, stdout) => resolve(stdout.trim().split('\n')));
  });

test('when the API process is killed before any database operation of an answer, no error is charged and no result is free', async (t) => {
  t.timeout(900_000);
  await using open = new AsyncDisposableStack();
  const { stores } = open.use(await openDatabases(1));
  const [store] = stores;
  if (store === undefined) throw new Error('no database');
  const uri = new URL(store.client.options.hosts[0] ? `mongodb://${store.client.options.hosts[0]}` : '');
  uri.pathname = `/${store.db.databaseName}`;
  uri.search = 'directConnection=true';
  const ledger = open.adopt(
    createLedger(store, (error) => t.fail(String(error))),
    (it) => it.flush(),
  );

  const seen: { accountId: string; what: string; lines: string[] }[] = [];
  await Promise.all(
    ['answered', 'unreadable', 'given up', 'charged and given up'].map(async (ending) => {
      for (let killAt = 0; ; killAt++) {
        if (killAt > MOST_OPERATIONS) throw new Error(`${ending} does not end`);
        const accountId = await openAccount(store);
        const lines = await runChild(uri.href, accountId, randomUUID(), ending, String(killAt));
        seen.push({ accountId, what: `${ending}, killed before operation ${killAt}`, lines });
        if (lines.includes('survived')) break;
      }
    }),
  );
  t.log(`${seen.length} processes killed`);

  const paybacks = createPaybacks({ store, ledger, accounts: createAccounts(store) });
  const cancelled = new Set<string>();
  const began = Date.now();
  await until(
    'all is settled',
    async () => {
      await paybacks.sweep(async (callId) => {
        cancelled.add(callId);
      });
      // The workflow of a running call ends when it is cancelled.
      await sweep(store, ledger, async (callId) => cancelled.has(callId));
      const pending = await store.calls.countDocuments({ pendingAnswer: { $exists: true } });
      return pending === 0;
    },
    LIVENESS_MS,
  );
  t.log(`settled after ${Date.now() - began} ms`);
  t.true(cancelled.size > 0);
  for (const { accountId, what, lines } of seen) {
    const paid = lines.includes('result') ? PRICE : 0;
    const { balance, reserved } = await accountOf(store, accountId);
    t.deepEqual(
      { balance, reserved },
      { balance: CREDITS - paid, reserved: 0 },
      `${what}: ${lines.join(', ')}`,
    );
  }
  const { drift, owed } = await audit(store);
  t.deepEqual({ drift, owed }, { drift: [], owed: undefined });
});
