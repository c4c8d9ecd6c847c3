import test from 'ava';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { type Stack, startStack } from '../helpers/stack.ts';

/** Number of concurrent calls beyond those that the credits pay for. */
const EXCESS = 30;
const LOW_THRESHOLD = 25;
/** Every call must end within its time limit of 100 s, so this number depends on the machine: soak tests use 999. */
const MOST_CREDITS = Number(process.env.TEST_CREDITS ?? 399);

let stack: Stack;
let store: Store;

test.before(async () => {
  stack = await startStack({ apis: 2, pools: ['orchestrator', 'cpu'], env: { POOL_WAIT: '80s' } });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

for (const credits of [0, 1, 17, 63, MOST_CREDITS])
  test.serial(
    `credits for ${credits} calls pay for exactly ${credits} of ${credits + EXCESS} concurrent calls`,
    async (t) => {
      t.timeout(300_000);
      const account = await makeAccount(stack, credits);
      const began = performance.now();
      const responses = await Promise.all(
        Array.from({ length: credits + EXCESS }, async (_, i) => {
          const { call } = account.at(stack.baseUrls[i % stack.baseUrls.length] ?? '');
          const response = await call('hash-text', { text: `call ${i}` });
          return { status: response.status, body: await response.text() };
        }),
      );
      t.log(`${responses.length} calls in ${Math.round(performance.now() - began)} ms`);

      const count = (status: number) => responses.filter((response) => response.status === status).length;
      const others = responses.filter(({ status }) => status !== 200 && status !== 402);
      t.deepEqual(others, []);
      t.is(count(200), credits);
      t.is(count(402), EXCESS);

      t.deepEqual(await auditWhenIdle(store), []);
      const { balance, reserved, running } = await accountOf(store, account.accountId);
      t.deepEqual({ balance, reserved, running: running.cpu ?? 0 }, { balance: 0, reserved: 0, running: 0 });

      const fired = await store.events.find({ accountId: account.accountId }).toArray();
      const times = (event: string) => fired.filter((row) => row.event === event).length;
      t.is(times('credits.low'), credits >= LOW_THRESHOLD ? 1 : 0);
      t.is(times('credits.exhausted'), credits > 0 ? 1 : 0);

      const lines = await store.entries.find({ accountId: account.accountId }).sort({ seq: 1 }).toArray();
      t.deepEqual(
        lines.map(({ seq, balanceAfter }) => ({ seq, balanceAfter })),
        credits === 0
          ? []
          : Array.from({ length: credits + 1 }, (_, i) => ({ seq: i + 1, balanceAfter: credits - i })),
      );
    },
  );
