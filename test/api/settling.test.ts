import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { begin, createCallRecords } from '../../api/calls/recordCall.ts';
import { createRefunds } from '../../api/calls/refunds.ts';
import type { CallOutcome } from '../../api/calls/toolCall.ts';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { ServiceError } from '../../schemas/errors.ts';
import hashText from '../../schemas/tools/hash-text.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { createPendingAnswers } from '../../store/calls/pendingAnswers.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import { createFiles } from '../../store/files/files.ts';
import { audit } from '../../store/ledger/audit.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { openReceiptKeys } from '../../store/receipts/receiptKeys.ts';
import { accountOf, callsOf } from '../helpers/ledgerCheck.ts';
import { startDatabase } from '../helpers/stack.ts';
import { startToxiproxy } from '../helpers/toxiproxy.ts';
import { until } from '../helpers/until.ts';
import { interceptStore } from '../store/intercept.ts';
import { openCall } from '../store/ledgerFixtures.ts';

const CREDITS = 100;
const PRICE = 10;
/** Deadlines of the caller in milliseconds: one is shorter and one is longer than the outage of MongoDB. */
const [SHORT_MS, LONG_MS] = [1500, 60_000];
const AWAY_MS = 3000;

const LEASE = { processId: 'this-process', isHeld: () => true };

/** Opens the database twice: the API's connection, which can be cut, and the workers' connection, which cannot. */
async function startFixture(t: ExecutionContext) {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const direct = new URL(mongodbUri);
  const { links } = open.adopt(await startToxiproxy({ mongodb: direct.host }, (line) => t.log(line)), (it) =>
    it.stop(),
  );
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const proxied = new URL(mongodbUri);
  proxied.host = links.mongodb.address;
  proxied.search = 'directConnection=true';
  const away = open.adopt(await openStore(proxied.href), (it) => it.close());
  const keyring = createKeyring([{ id: 'a', bytes: randomBytes(32) }]);
  const onError = (error: unknown) => t.log(String(error));
  const ledgerOf = (it: typeof store) =>
    open.adopt(createLedger(it, onError), (ledger) => ledger.flush().catch(onError));
  const ledger = ledgerOf(store);
  const answers = open.adopt(createPendingAnswers(away, LEASE, onError), (it) => it.close());
  const refunds = createRefunds({
    workflow: { result: () => Promise.reject(new Error('Temporal no longer has the workflow')) },
    ledger: ledgerOf(away),
    results: createResults(mongodbPieces(away), keyring),
    calls: createCalls(away),
    answers,
    paybacks: createPaybacks({ store: away, ledger: ledgerOf(away), accounts: createAccounts(away) }),
    log: pino({ level: 'silent' }),
  });

  /** Creates a call without an Idempotency-Key, and a function that charges it as its workflow does. */
  async function chargedCall() {
    const call = await openCall(store, { credits: CREDITS, price: PRICE });
    const { callId, accountId } = call;
    const row = await store.calls.findOneAndUpdate(
      { _id: callId },
      { $unset: { idempotency: '' }, $set: { pendingAnswer: { process: LEASE.processId, code: null } } },
      { returnDocument: 'after' },
    );
    if (row === null) throw new Error('no row');
    const charge = async () => {
      const held = await ledger.reserve(call);
      if (held.status !== 'held') throw new Error(held.status);
      return ledger.settle({ callId, accountId, wanted: 'charged', nonce: held.nonce });
    };
    return { callId, accountId, row, charge };
  }
  const opened = open.move();
  return {
    store,
    keyring,
    link: links.mongodb,
    results: createResults(mongodbPieces(store), keyring),
    refunds,
    answers,
    chargedCall,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const dueIn = (ms: number): number => performance.now() + ms;
const outputOf = ({ ending }: CallOutcome): string | null =>
  'output' in ending ? ending.output.toString() : null;
const codeOf = ({ ending }: CallOutcome): string | null => ('error' in ending ? ending.error.code : null);

test('a charged call returns its result when MongoDB is available again before the deadline', async (t) => {
  await using fixture = await startFixture(t);
  const { callId, accountId, row, charge } = await fixture.chargedCall();
  const { available } = await charge();
  const stored = await fixture.results.write(callId, Buffer.from('{"a":1}'), new Date(Date.now() + LONG_MS));
  await fixture.link.cut();
  const answer = fixture.refunds.resultOrRefund(row, { result: { stored }, available }, dueIn(LONG_MS));
  await sleep(AWAY_MS);
  await fixture.link.heal();
  t.is(outputOf(await answer), '{"a":1}');
  t.is((await accountOf(fixture.store, accountId)).balance, CREDITS - PRICE);
});

test('a charged call whose result is lost is refunded, at once or as soon as MongoDB is available again', async (t) => {
  await using fixture = await startFixture(t);
  for (const isAway of [false, true]) {
    const { accountId, row, charge } = await fixture.chargedCall();
    const { available } = await charge();
    const result = { stored: { id: 'expired', pieces: 1 } };
    if (isAway) await fixture.link.cut();
    const ended = await fixture.refunds.resultOrRefund(
      row,
      { result, available },
      // While MongoDB is available, the response waits until the call is refunded.
      dueIn(isAway ? SHORT_MS : LONG_MS),
    );
    t.is(codeOf(ended), 'internal');
    const balance = async () => (await accountOf(fixture.store, accountId)).balance;
    if (isAway) {
      t.is(await balance(), CREDITS - PRICE);
      await fixture.link.heal();
      await until('the price is refunded', async () => (await balance()) === CREDITS);
    }
    t.is(await balance(), CREDITS);
  }
  t.deepEqual((await audit(fixture.store)).drift, []);
});

test('a call whose caller got the error `cancelled` is never charged', async (t) => {
  await using fixture = await startFixture(t);
  for (const isCharged of [true, false]) {
    const { accountId, row, charge } = await fixture.chargedCall();
    if (isCharged) await charge();
    for (let repetition = 0; repetition < 2; repetition++)
      await fixture.refunds.refundFailed(row, 'cancelled', dueIn(LONG_MS));
    t.is((await accountOf(fixture.store, accountId)).balance, CREDITS);
    if (!isCharged) await t.throwsAsync(charge(), { message: /^closed$/ });
  }
  t.deepEqual((await audit(fixture.store)).drift, []);
});

test('a call whose result can be requested again with its key is not refunded', async (t) => {
  await using fixture = await startFixture(t);
  const { accountId, row, charge } = await fixture.chargedCall();
  const { available } = await charge();
  const { pendingAnswer: _pending, ...replayable } = row;
  const idempotency = { key: 'k', fingerprint: 'a:b', expiresAt: new Date(Date.now() + LONG_MS) };
  const result = { stored: { id: 'expired', pieces: 1 } };
  const answer = fixture.refunds.resultOrRefund(
    { ...replayable, idempotency },
    { result, available },
    dueIn(SHORT_MS),
  );
  await t.throwsAsync(answer, { message: /no longer kept/ });
  t.is((await accountOf(fixture.store, accountId)).balance, CREDITS - PRICE);
});

test('a call that was given up while MongoDB was unavailable is not charged after its response', async (t) => {
  await using fixture = await startFixture(t);
  for (const ending of ['charged', 'refunded']) {
    const { accountId, row, charge } = await fixture.chargedCall();
    await fixture.link.cut();
    const error = new ServiceError('deadline_exceeded');
    t.is(codeOf(await fixture.refunds.refundUnlessCharged(row, error, dueIn(SHORT_MS))), 'deadline_exceeded');
    // The API cannot reach MongoDB yet, so its response has not waited for that. The workflow reaches MongoDB first, and
    // charges the call.
    if (ending === 'charged') t.is((await charge()).state, 'charged');
    await fixture.link.heal();
    await until(`it is ${ending}`, async () => {
      const [call] = await callsOf(fixture.store, accountId);
      return call?.state !== 'running';
    });
    await until(
      'the shortfall is settled',
      async () => (await accountOf(fixture.store, accountId)).balance === CREDITS,
    );
  }
  t.deepEqual((await audit(fixture.store)).drift, []);
});

test('a call with several responses is settled when the last of them is lost, and stays charged if one is delivered', async (t) => {
  await using fixture = await startFixture(t);
  const { answers, store } = fixture;
  const { callId, row, accountId, charge } = await fixture.chargedCall();
  const first = answers.fresh();
  await store.calls.updateOne({ _id: callId }, { $set: { pendingAnswer: first } });
  const [second, third] = [answers.fresh(), answers.fresh()];
  t.true(await answers.adopt(callId, second));
  t.true(await answers.adopt(callId, third));
  t.true(await answers.adopt(callId, third), 'a take-over can be repeated');
  await charge();
  t.false(await answers.lost(callId, third));
  t.false(await answers.lost(callId, first));
  const pending = async () => (await store.calls.findOne({ _id: callId }))?.pendingAnswer;
  t.deepEqual(await pending(), { ...second, earlier: [] });
  const balance = async () => (await accountOf(store, accountId)).balance;
  t.is(await balance(), CREDITS - PRICE);

  fixture.refunds.refundLost(row, second);
  await until('the price is returned', async () => (await balance()) === CREDITS);

  const another = await fixture.chargedCall();
  await store.calls.updateOne({ _id: another.callId }, { $set: { pendingAnswer: first } });
  t.true(await answers.adopt(another.callId, second));
  await another.charge();
  t.false(await answers.lost(another.callId, second));
  answers.delivered(another.callId);
  await until('the first response to be recorded', async () => {
    const call = await store.calls.findOne({ _id: another.callId });
    return call !== null && call.pendingAnswer === undefined;
  });
  t.is((await accountOf(store, another.accountId)).balance, CREDITS - PRICE);
  t.deepEqual((await audit(store)).drift, []);
});

test('a response whose record is repeated, after another one was recorded, is recorded once', async (t) => {
  await using fixture = await startFixture(t);
  const { answers, store } = fixture;
  const { row } = await fixture.chargedCall();
  const [first, second] = [answers.fresh(), answers.fresh()];
  await store.calls.updateOne({ _id: row._id }, { $set: { pendingAnswer: answers.fresh() } });
  t.true(await answers.adopt(row._id, first));
  t.true(await answers.adopt(row._id, second));
  t.true(await answers.adopt(row._id, first));
  t.false(await answers.lost(row._id, first));
  t.false(await answers.lost(row._id, second));
  const [call] = await callsOf(store, row.accountId);
  t.is(call?.pendingAnswer?.earlier?.length, 0);
});

test('a claim that is repeated, after another request took over answering, keeps the response of its own request', async (t) => {
  await using fixture = await startFixture(t);
  const { answers, store, keyring } = fixture;
  const account = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: CREDITS,
  });
  const calls = createCalls(store);
  const others = answers.fresh();
  const records = createCallRecords({
    calls: {
      ...calls,
      // MongoDB's answer to the first attempt is lost.
      async claim(call) {
        await calls.claim(call);
        await answers.adopt(call._id, others);
        return calls.claim(call);
      },
    },
    ...{ answers, keyring, log: pino({ level: 'silent' }) },
    results: createResults(mongodbPieces(store), keyring),
    files: createFiles(store, keyring, null),
    receiptKeys: await openReceiptKeys(store, keyring),
    publicUrl: () => 'http://127.0.0.1',
    limits: { RATE_LIMIT: null, POOL_WAIT: 1000, CALLS_PER_POOL: 8 },
  });
  const call = {
    ...{ caller: { account, key: null }, tool: hashText, input: { text: 'abc' } },
    ...{ idempotencyKey: 'form a', max: 1, requestId: 'req_a', arrivedAt: performance.now() },
    hangup: new AbortController().signal,
  };
  const { row } = await records.claim(begin(call), 1);
  const { pendingAnswer: own } = row;
  if (own === undefined) throw new Error('no response is pending');
  t.not(own.response, others.response);
  t.false(await answers.lost(row._id, own));
  t.true(await answers.lost(row._id, others));
});

test('without its lease, a process sends all responses to a form, and settles the call when none of them is delivered', async (t) => {
  await using fixture = await startFixture(t);
  const { store } = fixture;
  const lease = { ...LEASE, isHeld: () => false };
  await using owned = new AsyncDisposableStack();
  const onError = (error: unknown) => t.log(String(error));
  const answers = owned.adopt(createPendingAnswers(store, lease, onError), (it) => it.close());
  const pending = async (callId: string) => (await store.calls.findOne({ _id: callId }))?.pendingAnswer;
  const open = async () => {
    const { callId } = await fixture.chargedCall();
    const [first, second] = [answers.fresh(), answers.fresh()];
    await store.calls.updateOne({ _id: callId }, { $set: { pendingAnswer: first } });
    t.true(await answers.adopt(callId, second));
    await answers.assertPending(callId, second);
    return { callId, first, second };
  };

  const delivered = await open();
  answers.delivered(delivered.callId);
  await answers.assertPending(delivered.callId, delivered.first);
  t.false(await answers.lost(delivered.callId, delivered.first));
  t.is(await pending(delivered.callId), undefined);

  const lost = await open();
  await answers.assertPending(lost.callId, lost.first);
  t.false(await answers.lost(lost.callId, lost.second));
  t.true(await answers.lost(lost.callId, lost.first));
  t.deepEqual(await pending(lost.callId), { process: null, code: null });
  await t.throwsAsync(answers.assertPending(lost.callId, answers.fresh()), { message: /was refunded/ });
});

test('without its lease, a process settles a call that it recorded as delivered without knowing it', async (t) => {
  await using fixture = await startFixture(t);
  const { store } = fixture;
  const lease = { ...LEASE, isHeld: () => false };
  await using owned = new AsyncDisposableStack();
  let losesAnswers = false;
  const faulty = interceptStore(store, async (operation, run) => {
    const answer = await run();
    if (losesAnswers && operation === 'calls.updateOne') throw new Error('the answer was lost');
    return answer;
  });
  const answers = owned.adopt(
    createPendingAnswers(faulty, lease, (error) => t.log(String(error))),
    (it) => it.close(),
  );
  const recorded = async () => {
    const { callId } = await fixture.chargedCall();
    const pendingAnswer = answers.fresh();
    await store.calls.updateOne({ _id: callId }, { $set: { pendingAnswer } });
    losesAnswers = true;
    await t.throwsAsync(answers.assertPending(callId, pendingAnswer), { message: /answer was lost/ });
    losesAnswers = false;
    t.is((await store.calls.findOne({ _id: callId }))?.pendingAnswer, undefined);
    return { callId, pendingAnswer };
  };

  const failed = await recorded();
  t.true(await answers.undelivered({ _id: failed.callId, ...failed }, 'internal'));
  const hungUp = await recorded();
  await answers.assertPending(hungUp.callId, hungUp.pendingAnswer);
  t.true(await answers.lost(hungUp.callId, hungUp.pendingAnswer));
  const sent = await recorded();
  await answers.assertPending(sent.callId, sent.pendingAnswer);
  answers.delivered(sent.callId);
  t.false(await answers.lost(sent.callId, sent.pendingAnswer));
});

test('without its lease, a process leaves a form that another process answers too to that process', async (t) => {
  await using fixture = await startFixture(t);
  const { store } = fixture;
  await using owned = new AsyncDisposableStack();
  const [mine, other] = ['without-lease', 'with-lease'].map((processId) => {
    const lease = { processId, isHeld: () => processId === 'with-lease' };
    return owned.adopt(
      createPendingAnswers(store, lease, (error) => t.log(String(error))),
      (it) => it.close(),
    );
  });
  if (mine === undefined || other === undefined) throw new Error('two processes');
  const { callId } = await fixture.chargedCall();
  const [first, second] = [other.fresh(), mine.fresh()];
  await store.calls.updateOne({ _id: callId }, { $set: { pendingAnswer: first } });
  t.true(await mine.adopt(callId, second));
  await t.throwsAsync(mine.assertPending(callId, second), { message: /another process may answer it/ });
  t.false(await mine.undelivered({ _id: callId, pendingAnswer: second }, 'internal'));
  await other.assertPending(callId, first);
  t.true(await other.undelivered({ _id: callId, pendingAnswer: first }, 'internal'));
  t.deepEqual((await store.calls.findOne({ _id: callId }))?.pendingAnswer, {
    process: null,
    code: 'internal',
  });
});
