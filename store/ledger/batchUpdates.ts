import { type Document, MongoBulkWriteError, type WithId } from 'mongodb';
import type { AccountDoc, Hold, JournalEntry } from '../accounts/accountDocs.ts';
import type { Store } from '../mongo/mongo.ts';
import { checked } from './invariant.ts';
import { spendField } from './keySpend.ts';

/** A conditional update of an account for one call, in aggregation expressions over the account's document. */
interface Step {
  accountId: string;
  callId: string;
  /** API key whose spend the result contains. */
  keyId?: string | undefined;
  /** The step is applied only if this expression is true. */
  when: Document;
  /** New values by field, as in `$set`; `$$REMOVE` removes a field. */
  set: Record<string, unknown>;
}

/** The account after a step, applied or not, with the hold and entry of the step's call. */
export interface StepResult
  extends Pick<AccountDoc, 'balance' | 'reserved' | 'shortfall' | 'running' | 'keySpend' | 'journal'> {
  hold: Hold | undefined;
  /**
   * The call's journal entry, if it is still in the journal. `journal` contains only entries of the calls in the same
   * update, and the leftovers.
   */
  entry: JournalEntry | undefined;
}

/** Applies a ledger step to an account. Returns null if the account does not exist. */
type ApplyStep = (step: Step) => Promise<StepResult | null>;

/** Maximum number of steps of an account in one update. MongoDB allows 1,000 stages per pipeline, and a step needs two. */
const MAX_STEPS = 100;
/** Maximum number of accounts in one command. */
const MAX_ACCOUNTS = 100;
/**
 * Number of commands at the same time. Up to it, a step does not wait for other accounts. Above it, the steps that wait share
 * the next command, and with it one flush of the disk and one round of replication.
 */
const MAX_COMMANDS = 2;
/**
 * Milliseconds after which a command counts as blocked: a transaction has locked one of its accounts, for 15 s and more if its process
 * was killed. The other accounts then no longer wait for it.
 */
const BLOCKED_MS = 1_000;

interface Waiting {
  step: Step;
  resolve(stepped: StepResult | null): void;
  reject(error: unknown): void;
}

/** The steps of one account that are applied in one update. */
interface Batch {
  accountId: string;
  steps: readonly Waiting[];
}

/**
 * The two pipeline stages of a step. The first evaluates the condition before the second changes the fields that the
 * condition reads.
 */
const stagesOf = ({ when, set }: Step): Document[] => [
  { $set: { isDone: when } },
  {
    $set: Object.fromEntries(
      Object.entries(set).map(([field, value]) => [field, { $cond: ['$isDone', value, `$${field}`] }]),
    ),
  },
];

const updateOf = ({ steps }: Batch): Document[] =>
  checked([...steps.flatMap(({ step }) => stagesOf(step)), { $unset: 'isDone' }]);

/**
 * Limits the returned documents to what the steps need, because a busy account has many holds and a long journal.
 *
 * @param leftovers see `createSteps`
 */
function projectionOf(batches: readonly Batch[], leftovers: Document): Document {
  const steps = batches.flatMap((batch) => batch.steps.map(({ step }) => step));
  const callIds = steps.map(({ callId }) => callId);
  return {
    balance: 1,
    reserved: 1,
    shortfall: 1,
    running: 1,
    ...Object.fromEntries(callIds.map((callId) => [`holds.${callId}`, 1])),
    ...Object.fromEntries(
      steps.flatMap(({ keyId }) => (keyId === undefined ? [] : [[spendField(keyId), 1]])),
    ),
    journal: {
      $concatArrays: [
        { $filter: { input: '$journal', as: 'entry', cond: { $in: ['$$entry.callId', callIds] } } },
        leftovers,
      ],
    },
  };
}

function rejectAll({ steps }: Batch, error: unknown): void {
  for (const { reject } of steps) reject(error);
}

function resolveAll({ steps }: Batch, account: WithId<AccountDoc> | null): void {
  for (const { step, resolve } of steps)
    resolve(
      account && {
        ...account,
        hold: account.holds?.[step.callId],
        entry: account.journal.find(({ callId }) => callId === step.callId),
      },
    );
}

/**
 * Applies steps to accounts, each atomically. Steps that arrive while their account is being updated are batched, in
 * order, into the next update: MongoDB would retry conflicting updates of one document, and each update costs a disk
 * flush. A batch is applied as a whole; if its update fails, all of its steps fail. It fails if it would break the invariant
 * of the account's credits (`invariant.ts`). Under load, the updates of several accounts share a command (group commit), and a
 * further command reads their results.
 *
 * @param leftovers expression for journal entries that each step returns besides those of its call
 */
export function createSteps({ accounts }: Store, leftovers: Document): ApplyStep {
  /** The waiting steps by account, the account that has waited longest first. */
  const waiting = new Map<string, Waiting[]>();
  const updating = new Set<string>();
  let commands = 0;

  /**
   * Updates several accounts. The results are read afterwards: other processes may have changed the accounts again by then,
   * but not the hold or the entry of a step's call, unless they have ended this call.
   */
  async function updateMany(batches: readonly Batch[]): Promise<void> {
    const updates = batches.map((batch) => ({
      // Each changes one account, but MongoDB need not remember the result of `updateMany` for a repetition by the driver, which
      // costs a tenth of its time. If the command fails, the callers repeat their steps.
      updateMany: { filter: { _id: batch.accountId }, update: updateOf(batch) },
    }));
    const failed = new Map<number, unknown>();
    await accounts.bulkWrite(updates, { ordered: false }).catch((error: unknown) => {
      if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
      const faults = [error.writeErrors].flat();
      // The driver throws the same error without faults if the command got no reply, so that nothing is known of its updates.
      if (faults.length === 0) throw error;
      for (const { index, errmsg } of faults) failed.set(index, new Error(errmsg, { cause: error }));
    });
    const applied = batches.filter((_, index) => !failed.has(index));
    for (const [index, error] of failed) {
      const batch = batches[index];
      if (batch !== undefined) rejectAll(batch, error);
    }
    const found = await accounts
      .find(
        { _id: { $in: applied.map(({ accountId }) => accountId) } },
        // Reads at least the updates above, and nothing that could still be rolled back.
        { projection: projectionOf(applied, leftovers), readConcern: { level: 'majority' } },
      )
      .toArray();
    const byId = new Map(found.map((account) => [account._id, account]));
    for (const batch of applied) resolveAll(batch, byId.get(batch.accountId) ?? null);
  }

  /** Takes the steps of accounts that are not being updated. */
  function takeBatches(): Batch[] {
    const batches: Batch[] = [];
    for (const [accountId, queue] of waiting) {
      if (batches.length === MAX_ACCOUNTS) break;
      if (updating.has(accountId)) continue;
      batches.push({ accountId, steps: queue.splice(0, MAX_STEPS) });
      if (queue.length === 0) waiting.delete(accountId);
    }
    return batches;
  }

  async function update(batches: readonly Batch[]): Promise<void> {
    const [first, ...others] = batches;
    try {
      if (first === undefined || others.length > 0) return await updateMany(batches);
      const account = await accounts.findOneAndUpdate({ _id: first.accountId }, updateOf(first), {
        returnDocument: 'after',
        projection: projectionOf(batches, leftovers),
      });
      resolveAll(first, account);
    } catch (error) {
      // A step that has its result already ignores this.
      for (const batch of batches) rejectAll(batch, error);
    }
  }

  /**
   * Starts commands. One that is blocked no longer counts, and its accounts are updated once more, each on its own: a step that is
   * applied already finds its result then.
   */
  function startUpdates(): void {
    while (commands < MAX_COMMANDS) {
      const batches = takeBatches();
      if (batches.length === 0) return;
      let counted = 1;
      commands += counted;
      for (const { accountId } of batches) updating.add(accountId);
      const end = (ended: readonly Batch[]): void => {
        commands -= counted;
        counted = 0;
        for (const { accountId } of ended) updating.delete(accountId);
        startUpdates();
      };
      const timer = setTimeout(() => {
        end([]);
        if (batches.length > 1) for (const batch of batches) void update([batch]).then(() => end([batch]));
      }, BLOCKED_MS);
      void update(batches).then(() => {
        clearTimeout(timer);
        end(batches);
      });
    }
  }

  return (step) =>
    new Promise((resolve, reject) => {
      const queue = waiting.get(step.accountId) ?? [];
      queue.push({ step, resolve, reject });
      waiting.set(step.accountId, queue);
      // Later, so that steps which are requested together share an update.
      queueMicrotask(startUpdates);
    });
}
