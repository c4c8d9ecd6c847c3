import { randomUUID } from 'node:crypto';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

interface LedgerRow {
  accounts: number;
  concurrency: number;
  isGoal: boolean;
  /** Pairs of a reservation and a settlement per second. */
  pairsPerSecond: number;
}

/** Measures pairs of reserve and settle that several accounts make at the same time. */
async function benchAccounts(
  mongodbUri: string,
  { accounts, concurrency, isGoal }: Sizes['ledger']['loads'][number],
  pairs: number,
): Promise<LedgerRow> {
  await using open = new AsyncDisposableStack();
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const ledger = open.adopt(
    createLedger(store, (error) => process.emitWarning(String(error))),
    (it) => it.flush(),
  );
  const calls = createCalls(store);
  const ids: string[] = [];
  for (let i = 0; i < accounts; i++)
    ids.push(
      (await createAccounts(store).create({ email: `${randomUUID()}@example.com`, credits: 1_000_000 }))._id,
    );
  const rows: { callId: string; accountId: string }[] = [];
  await measure(pairs, concurrency, async (i) => {
    const accountId = ids[i % ids.length] ?? '';
    const { call } = await calls.claim({
      _id: randomUUID(),
      accountId,
      keyId: null,
      keyPrefix: null,
      tool: 'hash-text',
      cost: 1,
      requestId: 'bench',
      actsOnWorld: false,
    });
    rows.push({ callId: call._id, accountId });
  });
  const { perSecond } = await measure(pairs, concurrency, async (index) => {
    const row = rows[index];
    if (row === undefined) throw new RangeError('no such call');
    const held = await ledger.reserve({ ...row, tool: 'hash-text', pool: 'cpu', price: 1, maxRunning: null });
    if (held.status !== 'held') throw new Error(held.status);
    await ledger.settle({ ...row, wanted: 'charged', nonce: held.nonce });
  });
  return { accounts, concurrency, isGoal, pairsPerSecond: perSecond };
}

/**
 * Measures concurrent pairs of reserve and settle on the database, without HTTP and Temporal, for each load.
 * The documents of the calls are inserted beforehand.
 */
export async function benchLedger(
  mongodbUri: string,
  { loads, pairs }: Sizes['ledger'],
): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = [];
  for (const load of loads) rows.push(await benchAccounts(mongodbUri, load, pairs));
  return rows;
}
