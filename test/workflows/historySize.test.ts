import test from 'ava';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { callsOf } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import { TARGET_HOST } from '../helpers/stack.ts';

/**
 * Number of history events of a call, which determine the load on the Temporal server; local activities keep the number low. In
 * the fast lane the tool is one as well.
 */
const EVENTS = 13;
const EVENTS_IN_FAST_LANE = 6;

test('a call without events, cancellation and retries has 13 history events, in the fast lane 6', async (t) => {
  t.timeout(180_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await useStack(), (it) => it.stop());
  const { accountId, call } = await makeAccount(stack, 100);
  const env = readEnv(stack.env);
  const client = await connectClient(env, loadKeyring(env));
  open.defer(() => client.connection.close());

  t.is((await call('ping', { host: TARGET_HOST, count: 1 })).status, 200);
  for (const key of ['k1', 'k2', 'k3'])
    t.is((await call('hash-text', { text: 'abc' }, { 'Idempotency-Key': key })).status, 200);
  const calls = await withStore(stack, (store) => callsOf(store, accountId));
  const sizes: number[] = [];
  for (const { _id } of calls)
    sizes.push((await client.workflow.getHandle(_id).fetchHistory()).events?.length ?? Number.NaN);
  t.log(sizes);
  t.is(Math.max(...sizes), EVENTS);
  // A worker that is too busy to accept a call leaves it to the orchestrator.
  t.is(Math.min(...sizes), EVENTS_IN_FAST_LANE);
});
