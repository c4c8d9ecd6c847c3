import { createServer } from 'node:http';
import test from 'ava';
import { makeAccount } from '../helpers/account.ts';
import { listenAsTarget, type Stack, startStack, TARGET_HOST } from '../helpers/stack.ts';

/** Calls at the same time, whose results take more than half a gigabyte together. */
const CALLS = 120;
const ACCOUNTS = 4;
const RESULT_BYTES = 5_000_000;

let stack: Stack;

test.before(async () => {
  const env = { RATE_LIMIT: '1000:1000', EGRESS_ALLOW: `${TARGET_HOST}/32` };
  stack = await startStack({ pools: ['orchestrator', 'network'], env });
});
test.after.always(async () => {
  await stack?.stop();
});

test('large results that exceed what the machine can process at once wait in the queue, and none fails', async (t) => {
  t.timeout(300_000);
  const body = Buffer.alloc(RESULT_BYTES, 'a');
  const target = createServer((_, response) => response.end(body));
  t.teardown(() => {
    target.close();
    target.closeAllConnections();
  });
  const url = `http://${await listenAsTarget(target)}/`;
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => makeAccount(stack, 1000)));
  const answers = await Promise.all(
    Array.from({ length: CALLS }, async (_, index) => {
      const response = await accounts[index % ACCOUNTS]?.call('http-request', { url });
      const text = (await response?.text()) ?? '';
      if (response?.status === 200) return text.length > RESULT_BYTES ? 'complete' : 'incomplete';
      return /"code":"(\w+)"/.exec(text)?.[1];
    }),
  );
  const counts = Object.fromEntries(
    [...Map.groupBy(answers, String)].map(([answer, { length }]) => [answer, length]),
  );
  t.log(counts);
  const { complete = 0, pool_busy = 0, ...others } = counts;
  t.deepEqual(others, {});
  t.is(complete + pool_busy, CALLS);
  t.true(complete > 0);
});
