import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { audit } from '../../store/ledger/audit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { createRandom, seededRandom } from '../helpers/random.ts';
import type { StackOptions } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { attributeAll, repeatKeyed, untilAtRest } from './attribution/attributeAll.ts';
import { startObservedStack } from './attribution/observedStack.ts';
import { makeBusyOwner, topUp } from './attribution/owners.ts';
import { callOnce } from './calls.ts';
import type { Fault } from './faults.ts';

/** Rounds in which each fault occurs once; soak tests set more. */
const ROUNDS = Number(process.env.TEST_FAILOVERS ?? 3);
/** Limit from a failure until calls succeed again. The promise is 30 s; the rest is a margin for loaded machines. */
const RECOVERED_MS = 60_000;
/** Pause between the starts of calls that only check whether calls succeed. */
const PROBE_EVERY_MS = 1_000;
/** Results that callers must get before a failure, and again before its end. */
const RESULTS = 10;
/** More than all calls of an account cost. */
const PLENTY = 1_000_000;
/** Longest time of one fault with the return of its server. */
const FAULT_MS = 180_000;
const FAULTS_PER_ROUND = 4;

/** Starts a call every second until one of them succeeds. @returns milliseconds until the first success */
async function untilOneSucceeds({ call }: Pick<TestAccount, 'call'>): Promise<number> {
  const began = Date.now();
  const success = Promise.withResolvers<number>();
  const attempts: Promise<void>[] = [];
  let isOver = false;
  const attempt = async () => {
    const response = await callOnce({ call }, 'probe', null);
    await response?.text();
    if (response?.status !== 200) return;
    isOver = true;
    success.resolve(Date.now() - began);
  };
  for (; !isOver; await sleep(PROBE_EVERY_MS)) {
    if (Date.now() - began > RECOVERED_MS) throw new Error(`no call succeeded within ${RECOVERED_MS} ms`);
    attempts.push(attempt());
  }
  await Promise.all(attempts);
  return success.promise;
}

/**
 * Makes servers fail in turn while callers make calls. Checks that calls succeed again while each failure lasts, and at
 * the end that every credit is attributed to a call and every webhook was delivered.
 *
 * @param servers those that fail
 * @param faultsOf the faults of a round, by its number; each ends when the servers work as before
 */
export async function surviveFailovers(
  t: ExecutionContext,
  open: AsyncDisposableStack,
  servers: NonNullable<StackOptions['servers']>,
  faultsOf: (round: number) => readonly Fault[],
): Promise<void> {
  t.timeout(600_000 + ROUNDS * FAULTS_PER_ROUND * FAULT_MS);
  const random = seededRandom((line) => t.log(line));
  const observed = await startObservedStack(open, { servers });
  const { stack } = observed;
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const accounts = createAccounts(store);
  const prober = await makeAccount(stack, PLENTY);
  const fork = () => createRandom(random.integer(1, 2 ** 31 - 1));
  const { owner, run } = await makeBusyOwner(observed, 0, fork);

  let isOver = false;
  const work = run(accounts, () => isOver);
  // It may fail before it is awaited.
  work.catch(() => undefined);
  const results = () =>
    owner.observations.filter(({ response }) => response?.status === 200 && !response.replayed).length;
  const untilMoreResults = async () => {
    const enough = results() + RESULTS;
    await until('callers get results', async () => results() >= enough);
  };
  const untilCallsSucceed = async () =>
    Math.max(...(await Promise.all(stack.baseUrls.map((baseUrl) => untilOneSucceeds(prober.at(baseUrl))))));
  try {
    for (let round = 0; round < ROUNDS; round++)
      for (const { name, begin, end } of faultsOf(round)) {
        await untilMoreResults();
        await begin();
        const began = Date.now();
        try {
          t.log(`${name}: calls succeed after ${await untilCallsSucceed()} ms`);
          await untilMoreResults();
        } finally {
          await end();
        }
        t.log(`${name}: over after ${Date.now() - began} ms`);
      }
  } finally {
    isOver = true;
  }
  await work;
  await untilAtRest(store);
  await topUp(accounts, owner, PLENTY);
  await repeatKeyed(owner);
  await untilAtRest(store);
  const { violations, total } = await attributeAll(store, observed, [owner], () => false);
  t.log(JSON.stringify(total));
  t.deepEqual(violations, []);
  t.deepEqual((await audit(store)).drift, [], 'the ledger is consistent');
}
