import test from 'ava';
import { createAttemptLimit } from '../../api/auth/attemptLimit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

test('an address can have 300 passwords and passkeys checked in an hour, correct ones included', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const limit = createAttemptLimit(store, { rate: 20, burst: 40 });
  // The limits make the unique index in the background; without it, events at the same time could be counted apart.
  await until('the counters have their index', () =>
    store.db
      .collection('attempts')
      .indexExists('key_1')
      .catch(() => false),
  );
  const signIn = async (address: string, i: number) => {
    const attempt = { address, email: `${i}@example.com`, device: null };
    await limit.countPasswordAttempt(attempt);
    await limit.countCorrectPassword(attempt);
  };
  const signInWithPasskey = async (address: string) => {
    await limit.countPasskeyAttempt(address);
    await limit.resetPasskeyAttempt(address);
  };
  // Batches below the limits of attempts that were not completed.
  for (let batch = 0; batch < 15; batch++)
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        Promise.all([signIn('192.0.2.1', batch * 10 + i), signInWithPasskey('192.0.2.1')]),
      ),
    );
  await t.throwsAsync(signIn('192.0.2.1', 150), { code: 'rate_limited' });
  await t.throwsAsync(signInWithPasskey('192.0.2.1'), { code: 'rate_limited' });
  await t.notThrowsAsync(signIn('192.0.2.2', 150));
});
