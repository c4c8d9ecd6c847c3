import test from 'ava';
import { createTimeoutLimit } from '../../api/calls/admission.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const RATE = { rate: 20, burst: 40 };

test('an account whose calls end at their time limit too often is refused, and only this account', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const fail = (error: unknown) => t.fail(String(error));
  // Two API processes count together.
  const limits = [1, 2].map(() => createTimeoutLimit(store, RATE, fail, 3));
  const [first, second] = limits;
  if (first === undefined || second === undefined) throw new Error('no limits');
  const counted = async () => {
    const found = await store.db.collection('timeouts').findOne({ key: /acc_1$/ });
    return Number(found?.points ?? 0);
  };
  const codes = ['target_timeout', 'deadline_exceeded', 'target_timeout'] as const;
  for (const [index, code] of codes.entries()) {
    limits[index % 2]?.count('acc_1', code);
    await until('the timeout is counted', async () => (await counted()) === index + 1, 60_000);
  }
  for (const code of ['target_failed', 'cancelled', 'pool_busy'] as const) first.count('acc_1', code);
  t.notThrows(() => first.check('acc_1'));

  first.count('acc_1', 'target_timeout');
  let refusal: unknown = null;
  await until(
    'the account is refused',
    async () => {
      try {
        first.check('acc_1');
      } catch (error) {
        refusal = error;
      }
      return refusal !== null;
    },
    60_000,
  );
  if (!(refusal instanceof ServiceError)) throw refusal;
  t.is(refusal.code, 'rate_limited');
  t.true((refusal.retryAfter ?? 0) > 0 && (refusal.retryAfter ?? 0) <= 600);
  t.notThrows(() => first.check('acc_2'));
});

test('without limits, timeouts are neither counted nor refused', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const limit = createTimeoutLimit(store, null, () => t.fail(), 0);
  limit.count('acc_1', 'target_timeout');
  t.notThrows(() => limit.check('acc_1'));
});
