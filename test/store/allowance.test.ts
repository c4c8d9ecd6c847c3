import { randomUUID } from 'node:crypto';
import test from 'ava';
import { type Accounts, createAccounts } from '../../store/accounts/accounts.ts';
import { grantAllowances, monthOf } from '../../store/ledger/allowance.ts';
import { audit } from '../../store/ledger/audit.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';

let store: Store;
let accounts: Accounts;
let database: Awaited<ReturnType<typeof startDatabase>>;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
  await ensureIndexes(store);
  accounts = createAccounts(store);
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

async function newAccount(monthlyAllowance: number): Promise<string> {
  const { _id } = await accounts.create({ email: `${randomUUID()}@example.com`, credits: 0 });
  await accounts.setMonthlyAllowance(_id, monthlyAllowance);
  return _id;
}

const balanceOf = async (accountId: string) => (await accounts.find(accountId))?.balance;

/** Grants the allowance of a month to all accounts, or to at most `atMost` of them. Returns the number of grants. */
async function run(month: string, atMost = Number.POSITIVE_INFINITY): Promise<number> {
  let granted = 0;
  for await (const _accountId of grantAllowances(store, accounts, month)) if (++granted >= atMost) break;
  return granted;
}

test('the months of allowances begin and end in UTC', (t) => {
  t.is(monthOf(new Date('2026-10-31T23:59:59.999Z')), '2026-10');
  t.is(monthOf(new Date('2026-11-01T08:59:59+09:00')), '2026-10');
  t.is(monthOf(new Date('2026-11-01T09:00:00+09:00')), '2026-11');
});

test.serial(
  'each month is granted once; missed months and accounts without an allowance are not granted',
  async (t) => {
    const [hundred, seven, none] = [await newAccount(100), await newAccount(7), await newAccount(0)];
    const balances = () => Promise.all([hundred, seven, none].map(balanceOf));
    t.is(await run('2026-10'), 2);
    t.is(await run('2026-10'), 0);
    t.deepEqual(await balances(), [100, 7, 0]);
    // No run takes place in November and December, so these months are missed.
    t.is(await run('2027-01'), 2);
    t.deepEqual(await balances(), [200, 14, 0]);
    // Simulates a process whose clock is behind: nothing is granted for an earlier month.
    t.is(await run('2026-12'), 0);
    // A changed allowance applies from the next month on.
    await accounts.setMonthlyAllowance(hundred, 500);
    await accounts.setMonthlyAllowance(none, 1);
    t.is(await run('2027-01'), 1);
    t.deepEqual(await balances(), [200, 14, 1]);
    await accounts.setMonthlyAllowance(seven, 0);
    await run('2027-02');
    t.deepEqual(await balances(), [700, 14, 2]);
    const lines = await store.entries.find({ accountId: hundred }).sort({ seq: 1 }).toArray();
    t.deepEqual(
      lines.map(({ type, amount, source, reference }) => [type, amount, source, reference]),
      [
        ['allowance', 100, 'allowance', '2026-10'],
        ['allowance', 100, 'allowance', '2027-01'],
        ['allowance', 500, 'allowance', '2027-02'],
      ],
    );
    t.is(await store.events.countDocuments({ accountId: hundred, event: 'credits.granted' }), 3);
    for (const accountId of [hundred, seven, none]) await accounts.setMonthlyAllowance(accountId, 0);
    t.deepEqual((await audit(store)).drift, []);
  },
);

test.serial('runs that are interrupted or concurrent grant each account once', async (t) => {
  const owners = await Promise.all(Array.from({ length: 30 }, () => newAccount(10)));
  await run('2026-10', 4);
  // Simulates a run that was interrupted after a grant and before it recorded the grant.
  await store.accounts.updateOne({ allowanceMonth: '2026-10' }, { $unset: { allowanceMonth: '' } });
  await Promise.all([run('2026-10'), run('2026-10', 3), run('2026-10')]);
  await run('2026-10');
  t.deepEqual(
    await Promise.all(owners.map(balanceOf)),
    owners.map(() => 10),
  );
  t.deepEqual((await audit(store)).drift, []);
});

test.serial('an allowance settles a shortfall first', async (t) => {
  const accountId = await newAccount(100);
  await accounts.grant({ accountId, type: 'adjustment', amount: -30, reference: 'taken', reason: null });
  await run('2028-01');
  t.like(await accounts.find(accountId), { balance: 70, shortfall: 0 });
  t.deepEqual((await audit(store)).drift, []);
});
