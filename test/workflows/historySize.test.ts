import test from 'ava';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { callsOf } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';

/**
 * Maximum number of history events of a call, which determine the load on the Temporal server; local activities keep
 * the number low.
 */
const MAX_EVENTS = 13;

test('a call without events, cancellation and retries has at most 13 history events', async (t) => {
  t.timeout(180_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await useStack(), (it) => it.stop());
  const { accountId, call } = await makeAccount(stack, 100);
  const env = readEnv(stack.env);
  const client = await connectClient(env, loadKeyring(env));
  open.defer(() => client.connection.close());

  t.is((await call('hash-text', { text: 'abc' })).status, 200);
  t.is((await call('hash-text', { text: 'abc' }, { 'Idempotency-Key': 'k' })).status, 200);
  const calls = await withStore(stack, (store) => callsOf(store, accountId));
  t.is(calls.length, 2);
  for (const { _id } of calls) {
    const { events } = await client.workflow.getHandle(_id).fetchHistory();
    t.log(`${events?.length} events`);
    t.true((events?.length ?? Number.NaN) <= MAX_EVENTS);
  }
});
