import httpRequest from '../../schemas/tools/http-request.ts';
import { check } from '../../store/ledger/audit.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { CallRequest } from './api.ts';
import type { Processes } from './processes.ts';

const PRICE = httpRequest.price;

/** Whether nothing of the account is left to do for the sweeper or for an API process. */
export async function isSettled({ accounts, calls }: Store, accountId: string): Promise<boolean> {
  const account = await accounts.findOne({ _id: accountId });
  const open = await calls
    .find({ accountId, $or: [{ state: 'running' }, { pendingAnswer: { $exists: true } }] })
    .toArray();
  return account?.reserved === 0 && open.length === 0;
}

interface Facts {
  accountId: string;
  requests: readonly CallRequest[];
  processes: Processes;
  /** Credits that the account got at its start and by purchases. */
  granted: number;
  /** Whether nothing happened that prevents a result. */
  isUndisturbed: boolean;
}

/** Reads all documents of an account. */
async function readAll(store: Store, accountId: string) {
  const account = await store.accounts.findOne({ _id: accountId });
  if (account === null) throw new Error(`no account ${accountId}`);
  const [calls, entries, grants, events] = await Promise.all([
    store.calls.find({ accountId }).toArray(),
    store.entries.find({ accountId }).sort({ seq: 1 }).toArray(),
    store.grants.find({ accountId }).toArray(),
    store.events.find({ accountId }).toArray(),
  ]);
  return { account, calls, entries, grants, events };
}

type Records = Awaited<ReturnType<typeof readAll>>;

/** Audits the account, with the same rules as `npm run audit`. */
function auditRecords({ account, calls, entries, grants, events }: Records): string[] {
  const inJournal = account.journal.filter(({ state }) => state === 'charged');
  const copied = calls.filter(
    ({ _id, state }) => state === 'charged' && !inJournal.some(({ callId }) => callId === _id),
  );
  const pendingEvents = new Set(inJournal.flatMap((entry) => entry.events.map(({ id }) => id)));
  const fired = Map.groupBy(
    events.filter(({ _id }) => !pendingEvents.has(_id)),
    ({ event }) => event,
  );
  const drift = check(account, {
    entries,
    grants,
    charged: new Map(copied.map(({ _id, charged }) => [_id, charged])),
    spent: copied.flatMap(({ charged: credits, period }) =>
      period === undefined ? [] : [{ credits, period }],
    ),
    fired: new Map([...fired].map(([event, of]) => [event, of.length])),
  });
  return drift.map(({ what, expected, found }) => `audit: ${what} is ${found}, not ${expected}`);
}

/**
 * Checks the invariants of docs/contract.md when all faults have ended and all calls have been settled. Returns the violated
 * ones, and how each request ended.
 */
export async function checkCalls(
  store: Store,
  { accountId, requests, processes, granted, isUndisturbed }: Facts,
): Promise<{ faults: string[]; endings: string[] }> {
  const records = await readAll(store, accountId);
  const { account, calls, entries, grants } = records;
  const { temporal, runs, hasLapsed, hasDiedUnheld } = processes;
  const faults = auditRecords(records);
  const expect = (what: string, holds: boolean) => {
    if (!holds) faults.push(what);
  };
  const charges = entries.filter(({ type }) => type === 'charge');
  const returns = grants.filter(({ type }) => type === 'adjustment');
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  expect(
    'the balance is what was granted, less the charges, plus the returns',
    account.balance ===
      granted + sum(charges.map(({ amount }) => amount)) + sum(returns.map(({ applied }) => applied)),
  );
  expect('no balance is negative', account.balance >= 0);
  expect('nothing is reserved', account.reserved === 0 && Object.keys(account.holds).length === 0);
  expect(
    'no call counts as running',
    Object.values(account.running).every((count) => count === 0),
  );

  const endings: string[] = [];
  const paidKeys: string[] = [];
  for (const call of calls) {
    const own = charges.filter(({ callId }) => callId === call._id);
    const returned = returns.some(({ _id }) => _id.endsWith(`call ${call._id}`));
    const isPaid = own.length > 0 && !returned;
    const answers = requests.filter(({ callId }) => callId === call._id);
    const sent = requests.filter(
      ({ requestId, callId }) => callId === call._id || requestId === call.requestId,
    );
    const isLost = sent.some(({ api, isUnsendable }) => hasLapsed(api) || isUnsendable);
    const arrived = answers.some(({ isComplete, status }) => isComplete && status === 200);
    const gotError = sent.some(({ isComplete, status }) => isComplete && status !== 200);
    const canReplay =
      call.idempotency !== undefined ? call.idempotency.fingerprint !== null && call.keyId !== null : false;
    const execution = temporal.executions.get(call._id);
    const succeeded = execution?.closed?.workflowExecutionCompletedEventAttributes != null;

    expect('a call is charged at most once', own.length <= 1);
    expect(
      'a charge is the price',
      own.every(({ amount }) => amount === -PRICE),
    );
    expect('a call has ended', call.state !== 'running');
    expect('the call says whether it was charged', (call.state === 'charged') === (own.length === 1));
    expect('only a charge is returned', !returned || own.length === 1);
    expect('a workflow with a result has charged the call', !succeeded || own.length === 1);
    expect('a result that arrived is paid', !arrived || isPaid || isLost);
    if (!canReplay && !arrived) {
      expect('a caller with an error does not pay', !(gotError && isPaid) || isLost);
      expect(
        'a result that did not arrive is returned',
        !isPaid || call.actsOnWorld || sent.some(({ api }) => hasDiedUnheld(api)),
      );
    }
    expect('a result that can be replayed is not returned', !(canReplay && returned));
    expect(
      'a tool with side effects runs once',
      !call.actsOnWorld || (runs.get(call._id) ?? 0) <= 1 || temporal.lost.has(call._id),
    );
    if (isPaid && canReplay) paidKeys.push(call.idempotency?.key ?? '');
    endings.push(
      `${call.state}${returned ? ' and returned' : ''}, ${arrived ? 'arrived' : gotError ? 'error' : 'nothing arrived'}`,
    );
  }
  expect('no key is paid twice', new Set(paidKeys).size === paidKeys.length);
  expect(
    'a request that nothing disturbs gets its result',
    !isUndisturbed || requests.every(({ isComplete, status }) => isComplete && status === 200),
  );
  return { faults: [...new Set(faults)], endings };
}
