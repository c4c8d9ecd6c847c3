import test from 'ava';
import { makeAccount } from '../helpers/account.ts';
import { internalUrlOf } from '../helpers/processLog.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Number of calls of the account that floods the pool: more than ten times the pool's slots on a small machine. */
const CALLS = 24;
/** Slots that one account can hold with `WORKER_SLOTS=2`: one in the lane of first calls, two in that of further calls. */
const SHARE = 3;
const LONG = { password: 'flood', workFactor: 13 };

let stack: Stack;

test.before(async () => {
  const env = { WORKER_SLOTS: '2', POOL_WAIT: '80s', RATE_LIMIT: '1000:1000', LOG_LEVEL: 'info' };
  stack = await startStack({ pools: ['orchestrator', 'cpu'], env });
});
test.after.always(async () => {
  await stack?.stop();
});

/** Returns the value of the first sample with this name and label in a worker's metrics. */
async function sample(internalUrl: string, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`${internalUrl}/metrics`)).text();
  const line = text
    .split('\n')
    .find((each) => each.startsWith(`utility_tools_${name}{`) && each.includes(label));
  return Number(line?.split(' ').at(-1));
}

test("one account uses several slots of an idle pool, and another account is served before the first one's queue is empty", async (t) => {
  t.timeout(300_000);
  const flooding = await makeAccount(stack, 1000);
  const other = await makeAccount(stack, 10);
  const cpu = await internalUrlOf(stack, 'cpu');

  let answered = 0;
  const flood = Array.from({ length: CALLS }, async () => {
    const response = await flooding.call('bcrypt-hash', LONG);
    await response.arrayBuffer();
    answered++;
    return response.status;
  });
  await until(
    'the account runs as many calls as it may',
    async () => (await sample(cpu, 'pool_busy')) === SHARE,
    60_000,
  );
  const orchestrator = await internalUrlOf(stack, 'orchestrator');
  await until(
    'the queue is long',
    async () => (await sample(orchestrator, 'queue_length', 'queue="tools-cpu"')) > (CALLS - SHARE) / 2,
    60_000,
  );
  const response = await other.call('bcrypt-hash', { password: 'short', workFactor: 4 });
  const before = answered;
  t.is(response.status, 200);
  t.true(before < CALLS - SHARE, `${before} of ${CALLS} long calls were answered before the short one`);
  t.deepEqual(new Set(await Promise.all(flood)), new Set([200]));
});
