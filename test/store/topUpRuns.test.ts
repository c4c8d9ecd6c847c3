import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import type { Charge, ChargeResult } from '../../api/billing/stripeCharge.ts';
import { type Charger, runNextTopUp } from '../../api/billing/topUpRuns.ts';
import type { Pack } from '../../schemas/formats/packs.ts';
import { type Accounts, createAccounts } from '../../store/accounts/accounts.ts';
import { closeAccount } from '../../store/accounts/closeAccount.ts';
import { OPERATOR } from '../../store/accounts/securityLog.ts';
import { createPayments } from '../../store/billing/payments.ts';
import type { TopUpRunDoc } from '../../store/billing/topUpRunDocs.ts';
import { createTopUpRuns, MAX_DECLINES, type TopUpRuns } from '../../store/billing/topUpRuns.ts';
import { audit } from '../../store/ledger/audit.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { type Random, seededRandom } from '../helpers/random.ts';
import { startDatabase } from '../helpers/stack.ts';
import { crashing } from './crashes.ts';
import { interceptStore } from './intercept.ts';
import { insertCalls } from './ledgerFixtures.ts';

let store: Store;
let accounts: Accounts;
let topUpRuns: TopUpRuns;
let database: Awaited<ReturnType<typeof startDatabase>>;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
  await ensureIndexes(store);
  accounts = createAccounts(store);
  topUpRuns = createTopUpRuns(store);
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

const PACK: Pack = { credits: 60, amount: 500, currency: 'EUR' };
const BELOW = 50;
const log = pino({ level: 'silent' });

/**
 * A stand-in for Stripe, with what its documentation promises: a payment is made once for each key, and a repeated request gets the
 * first response. Answers get lost at random, before or after the payment.
 */
function startBank(random: Random | null = null, result: () => 'paid' | 'failed' = () => 'paid') {
  const responses = new Map<string, ChargeResult>();
  const charger: Charger = {
    needsCard: false,
    async charge({ topUpId, isWanted }: Charge) {
      if (!isWanted) return responses.get(topUpId) ?? { status: 'unwanted' };
      const fate = random?.integer(1, 10) ?? 5;
      if (fate === 1) throw new Error('the request got lost');
      const status = result();
      const first: ChargeResult =
        status === 'paid'
          ? { status, paymentId: `pi_${randomUUID()}`, test: false }
          : { status: 'failed', reason: 'declined' };
      const response = responses.get(topUpId) ?? first;
      responses.set(topUpId, response);
      if (fate > 7 && random !== null) throw new Error('the response got lost');
      return response;
    },
  };
  return { charger, responses };
}

/** Opens an account with automatic top-ups. */
async function openAccount(credits: number, below = BELOW, monthlyLimit = 100_000): Promise<string> {
  const { _id } = await accounts.create({ email: `${randomUUID()}@example.com`, credits });
  await topUpRuns.agree(_id, { reference: randomUUID(), below, pack: PACK, monthlyLimit }, false);
  return _id;
}

/** Charges calls of these prices at the same time, each of them twice. */
async function spend(t: ExecutionContext, accountId: string, ...prices: number[]): Promise<void> {
  const ledger = createLedger(store, (error) => t.fail(String(error)));
  const calls = prices.map((price) => ({
    callId: randomUUID(),
    accountId,
    tool: 'hash-text',
    pool: 'cpu' as const,
    price,
    maxRunning: null,
  }));
  await insertCalls(store, calls);
  await Promise.all(
    calls.map(async (call) => {
      const held = await ledger.reserve(call);
      if (held.status !== 'held') return t.fail(held.status);
      const { callId } = call;
      for (let i = 0; i < 2; i++)
        await ledger.settle({ callId, accountId, wanted: 'charged', nonce: held.nonce });
    }),
  );
  await ledger.flush();
}

/** Advances everything that is due. */
async function run(charger: Charger, packs: readonly Pack[] = [PACK], used = store): Promise<void> {
  const payments = createPayments(used, createAccounts(used));
  const dependencies = { topUpRuns: createTopUpRuns(used), payments, charger, packs, log };
  while (await runNextTopUp(dependencies));
}

const crossingsOf = (accountId: string): Promise<TopUpRunDoc[]> =>
  store.topUpRuns.find({ accountId }).sort({ at: 1 }).toArray();

/** Adds crossings as the ledger does, without charges. */
async function cross(accountId: string, count = 1): Promise<void> {
  const at = new Date();
  await store.topUpRuns.insertMany(
    Array.from({ length: count }, () => ({
      _id: `topup-${randomUUID()}`,
      ...({ accountId, at, state: 'due', tries: 0, dueAt: at } as const),
    })),
  );
}

async function stateOf(accountId: string) {
  const [account, settings] = await Promise.all([accounts.find(accountId), topUpRuns.settings(accountId)]);
  return {
    balance: account?.balance,
    ledgerReads: account?.topUpBelow,
    state: settings?.state,
    failure: settings?.failure?.reason,
  };
}

test.serial('a crossing of the threshold causes one top-up, however the charges arrive', async (t) => {
  const { charger, responses } = startBank();
  const accountId = await openAccount(100);
  const balance = async () => (await accounts.find(accountId))?.balance;
  await spend(t, accountId, 50);
  await run(charger);
  t.is(await balance(), 50, 'the balance is at the threshold');
  await spend(t, accountId, 1);
  await spend(t, accountId, 5, 5);
  await run(charger);
  await run(charger);
  t.is(await balance(), 99);
  await spend(t, accountId, ...Array.from({ length: 30 }, () => 3));
  await run(charger);
  t.is(await balance(), 9 + PACK.credits);
  t.is(responses.size, 2);
  t.deepEqual(
    (await crossingsOf(accountId)).map(({ state, dueAt }) => [state, dueAt]),
    [
      ['paid', null],
      ['paid', null],
    ],
  );
  await topUpRuns.switchOff(accountId);
  await spend(t, accountId, 60);
  t.is((await crossingsOf(accountId)).length, 2);
});

test.serial('no top-up is lost or paid twice when processes crash and responses get lost', async (t) => {
  const random = seededRandom((line) => t.log(line));
  const { charger, responses } = startBank(random);
  const ids = await Promise.all(Array.from({ length: 8 }, () => openAccount(BELOW)));
  for (const accountId of ids) await spend(t, accountId, 1);
  const crashes = interceptStore(store, crashing(random));
  const unfinished = { accountId: { $in: ids }, dueAt: { $ne: null } };
  while ((await store.topUpRuns.countDocuments(unfinished)) > 0) {
    // Leases and pauses end.
    await store.topUpRuns.updateMany(unfinished, { $set: { dueAt: new Date(0) } });
    await Promise.allSettled(Array.from({ length: 3 }, () => run(charger, [PACK], crashes)));
  }
  for (const accountId of ids) {
    const [crossing, ...more] = await crossingsOf(accountId);
    t.like(crossing, { state: 'paid' });
    t.deepEqual(more, []);
    t.is((await accounts.find(accountId))?.balance, BELOW - 1 + PACK.credits);
    t.is(await store.payments.countDocuments({ accountId }), 1);
    t.is(await topUpRuns.spentInMonth(accountId), PACK.amount);
  }
  t.is(responses.size, ids.length);
  t.deepEqual((await audit(store)).drift, []);
});

test.serial('the ceiling of a month holds for concurrent crossings, and is told once', async (t) => {
  const { charger, responses } = startBank();
  const accountId = await openAccount(10, 1_000_000, 3 * PACK.amount + 499);
  await accounts.setAttentionMails(accountId, true);
  await cross(accountId, 12);
  await Promise.all(Array.from({ length: 6 }, () => run(charger)));
  t.is(responses.size, 3);
  t.is(await topUpRuns.spentInMonth(accountId), 3 * PACK.amount);
  await cross(accountId);
  await run(charger);
  t.deepEqual(await stateOf(accountId), {
    balance: 10 + 3 * PACK.credits,
    ledgerReads: 1_000_000,
    state: 'on',
    failure: 'limit',
  });
  const skipped = (await crossingsOf(accountId)).filter(({ state }) => state === 'skipped');
  t.deepEqual(
    skipped.map(({ reason }) => reason),
    Array(10).fill('limit'),
  );
  t.is(await store.notices.countDocuments({ accountId, kind: 'topUp' }), 1);
});

test.serial(
  'top-ups switch themselves off after several declines in a row, and tell the owner',
  async (t) => {
    const outcomes: ('paid' | 'failed')[] = ['failed', 'failed', 'paid', 'failed', 'failed', 'failed'];
    const { charger } = startBank(null, () => outcomes.shift() ?? 'paid');
    const accountId = await openAccount(10, 1_000_000);
    await accounts.setAttentionMails(accountId, true);
    for (let i = 0; i < 5; i++) {
      await cross(accountId);
      await run(charger);
      t.is((await stateOf(accountId)).state, 'on');
    }
    await cross(accountId);
    await run(charger);
    const off = { balance: 10 + PACK.credits, ledgerReads: undefined, state: 'off', failure: 'declined' };
    t.deepEqual(await stateOf(accountId), off);
    t.is((await topUpRuns.settings(accountId))?.declines, MAX_DECLINES);
    const notices = await store.notices.find({ accountId, kind: 'topUp' }).sort({ at: 1 }).toArray();
    t.deepEqual(
      notices.map((it) => it.kind === 'topUp' && it.isOff),
      [false, false, false, false, true],
    );
    t.is(await topUpRuns.spentInMonth(accountId), PACK.amount);
    await cross(accountId);
    await run(charger);
    t.like((await crossingsOf(accountId)).at(-1), { state: 'skipped', reason: 'off' });
  },
);

interface Objection {
  reason: TopUpRunDoc['reason'];
  /** State of the settings afterwards. */
  state: 'on' | 'off';
  below?: number;
  packs?: readonly Pack[];
  needsCard?: boolean;
  prepare?(accountId: string): Promise<unknown>;
}

const OBJECTIONS: readonly Objection[] = [
  { reason: 'recovered', state: 'on', below: BELOW },
  { reason: 'pack', state: 'off', packs: [{ ...PACK, amount: PACK.amount + 1 }] },
  { reason: 'card', state: 'off', needsCard: true },
  { reason: 'off', state: 'off', prepare: (id) => topUpRuns.switchOff(id) },
  {
    reason: 'off',
    state: 'on',
    prepare: (_id) =>
      store.accounts.updateOne({ _id }, { $set: { suspension: { at: new Date(), reason: 'x' } } }),
  },
];

test.serial('no payment is made if the owner would not expect it', async (t) => {
  const { charger, responses } = startBank();
  for (const { reason, state, below = 1000, packs = [PACK], needsCard = false, prepare } of OBJECTIONS) {
    const accountId = await openAccount(100, below);
    await prepare?.(accountId);
    await cross(accountId);
    await run({ ...charger, needsCard }, packs);
    t.like((await crossingsOf(accountId))[0], { state: 'skipped', reason }, reason);
    t.like(await stateOf(accountId), { balance: 100, state }, reason);
  }
  t.is(responses.size, 0);
});

test.serial(
  'after an owner has switched top-ups off, a payment that was made is booked, and no other is made',
  async (t) => {
    for (const [wasMade, balance, state] of [
      [true, 49 + PACK.credits, 'paid'],
      [false, 49, 'skipped'],
    ] as const) {
      const { charger, responses } = startBank();
      const accountId = await openAccount(BELOW);
      await spend(t, accountId, 1);
      const unreachable: Charger = {
        needsCard: false,
        async charge(charge) {
          if (wasMade) await charger.charge(charge);
          throw new Error('the connection was lost');
        },
      };
      await run(unreachable);
      await topUpRuns.switchOff(accountId);
      await store.topUpRuns.updateMany({ accountId }, { $set: { dueAt: new Date(0) } });
      await run(charger);
      t.like((await crossingsOf(accountId))[0], { state, dueAt: null });
      t.is((await accounts.find(accountId))?.balance, balance);
      t.is(responses.size, wasMade ? 1 : 0);
    }
  },
);

test.serial(
  'a card switches on what the owner agreed to last, and a closed account has no settings',
  async (t) => {
    const email = `${randomUUID()}@example.com`;
    const { _id: accountId } = await accounts.create({ email, credits: 5 });
    const agreement = { below: 50, pack: PACK, monthlyLimit: 5000 };
    const card = { customerId: 'cus_1', paymentMethodId: 'pm_1' };
    await topUpRuns.agree(accountId, { ...agreement, reference: 'first' }, true);
    await topUpRuns.agree(accountId, { ...agreement, below: 70, reference: 'second' }, true);
    await topUpRuns.cardSaved(accountId, 'first', card);
    t.like(await stateOf(accountId), { state: 'pending', ledgerReads: undefined });
    for (let i = 0; i < 2; i++) await topUpRuns.cardSaved(accountId, 'second', card);
    t.like(await stateOf(accountId), { state: 'on', ledgerReads: 70 });
    await topUpRuns.agree(accountId, { ...agreement, reference: 'third' }, true);
    t.like(await stateOf(accountId), { state: 'on', ledgerReads: 50 });
    t.deepEqual((await topUpRuns.settings(accountId))?.card, card);
    await topUpRuns.switchOff(accountId);
    await topUpRuns.cardSaved(accountId, 'third', { ...card, paymentMethodId: 'pm_2' });
    t.like(await stateOf(accountId), { state: 'off', ledgerReads: undefined });

    await closeAccount(store, { accountId, email, actor: OPERATOR });
    t.is(await topUpRuns.settings(accountId), null);
    await topUpRuns.agree(accountId, { ...agreement, reference: 'fourth' }, false);
    t.is(await topUpRuns.settings(accountId), null);
  },
);
