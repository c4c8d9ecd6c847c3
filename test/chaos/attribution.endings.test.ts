import test from 'ava';
import { audit } from '../../store/ledger/audit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { PRICES } from '../helpers/prices.ts';
import { until } from '../helpers/until.ts';
import { attributeAll, untilAtRest } from './attribution/attributeAll.ts';
import { createEndings } from './attribution/endings.ts';
import { startObservedStack } from './attribution/observedStack.ts';
import { newOwner } from './attribution/owners.ts';

const CREDITS = 1000;
/** Milliseconds after the end of a connection within which the price of the lost result is returned. */
const RETURNED_WITHIN_MS = 60_000;

test('a result that was lost on its connection is not charged, however the connection ended', async (t) => {
  t.timeout(600_000);
  await using open = new AsyncDisposableStack();
  const observed = await startObservedStack(open);
  const store = open.adopt(await openStore(observed.stack.mongodbUri), (it) => it.close());
  const never = () => false;

  for (const ending of ['reset', 'halfCloseEarly', 'halfClose', 'pipelined', 'dropped', 'evicted'] as const) {
    const owner = await newOwner(observed, CREDITS);
    const { observations, account } = owner;
    await createEndings(observed, owner)[ending](ending);
    if (ending !== 'halfClose')
      t.true(
        observations.some(({ isLost }) => isLost),
        ending,
      );
    const paid = observations
      .filter(({ isLost }) => !isLost)
      .reduce((sum, { kind }) => sum + (PRICES[kind.tool] ?? 0), 0);
    const began = Date.now();
    await until(
      `${ending}: only received results are charged`,
      async () => (await store.accounts.findOne({ _id: account.accountId }))?.balance === CREDITS - paid,
      RETURNED_WITHIN_MS,
    ).catch((error) => t.log(String(error)));
    await untilAtRest(store);
    const { violations, total } = await attributeAll(store, observed, [owner], never);
    t.log(`${ending}: at rest after ${Date.now() - began} ms, ${JSON.stringify(total)}`);
    t.deepEqual(violations, [], ending);
  }
  t.deepEqual((await audit(store)).drift, [], 'the ledger is consistent');
});
