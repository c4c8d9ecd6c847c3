import test from 'ava';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { isProblem } from '../helpers/problem.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const TEXT = { text: 'abc' };

/** A stack without a pool for tools. */
let stack: Stack;

test.before(async () => {
  stack = await startStack({ env: { RATE_LIMIT: '1:2', POOL_WAIT: '1s' }, pools: ['orchestrator'] });
});
test.after.always(() => stack?.stop());

test('429 rate_limited, with the remaining quota and the time to wait', async (t) => {
  const caller = await makeAccount(stack, 100);
  // Requests without a valid body take a token and are refused fast enough to empty the bucket.
  const responses = await Promise.all(Array.from({ length: 8 }, () => caller.call('hash-text', '')));
  const limited = responses.filter(({ status }) => status === 429);
  t.true(limited.length > 0);
  for (const response of responses) {
    t.is(response.headers.get('RateLimit-Policy'), '"account";q=2;w=2');
    t.regex(response.headers.get('RateLimit') ?? '', /^"account";r=[01];t=[12]$/);
  }
  for (const response of limited) {
    t.is(response.headers.get('Retry-After'), '1');
    t.regex(response.headers.get('RateLimit') ?? '', /;r=0;/);
    await isProblem(t, response, 'rate_limited');
  }
});

test.serial('503 pool_busy when no worker starts the call', async (t) => {
  const caller = await makeAccount(stack, 1);
  const response = await caller.call('hash-text', TEXT);
  t.is(response.headers.get('Retry-After'), '5');
  await isProblem(t, response, 'pool_busy');
});

test.serial(
  '500 internal when an operator terminates the workflow; 504 deadline_exceeded when the deadline passes',
  async (t) => {
    await stack.kill('orchestrator');
    const env = readEnv(stack.env);
    const client = await connectClient(env, loadKeyring(env));
    t.teardown(() => client.connection.close());
    const [ended, waiting] = await Promise.all([makeAccount(stack, 1), makeAccount(stack, 1)]);
    const calls = [ended.call('hash-text', TEXT), waiting.call('hash-text', TEXT)] as const;
    const row = await until('the call exists', () =>
      withStore(stack, (store) => store.calls.findOne({ accountId: ended.accountId })),
    );
    await until('the workflow of the call exists', async () => {
      try {
        await client.workflow.getHandle(row._id).terminate('by hand');
        return true;
      } catch {
        return false; // the workflow has not started yet
      }
    });
    await isProblem(t, await calls[0], 'internal');
    await isProblem(t, await calls[1], 'deadline_exceeded');
  },
);
