import type { Document } from 'mongodb';
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

/** Maximum number of steps in one update. MongoDB allows 1,000 stages per pipeline, and a step needs two. */
const MAX_BATCH = 100;

interface Waiting {
  step: Step;
  resolve(stepped: StepResult | null): void;
  reject(error: unknown): void;
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

/**
 * Applies steps to accounts, each atomically. Steps that arrive while their account is being updated are batched, in
 * order, into the next update: MongoDB would retry conflicting updates of one document, and each update costs a disk
 * flush. A batch is applied as a whole; if its update fails, all of its steps fail. It fails if it would break the invariant
 * of the account's credits (`invariant.ts`).
 *
 * @param leftovers expression for journal entries that each step returns besides those of its call
 */
export function createSteps({ accounts }: Store, leftovers: Document): ApplyStep {
  const waiting = new Map<string, Waiting[]>();

  async function update(accountId: string, batch: readonly Waiting[]): Promise<void> {
    const callIds = batch.map(({ step }) => step.callId);
    try {
      const account = await accounts.findOneAndUpdate(
        { _id: accountId },
        checked([...batch.flatMap(({ step }) => stagesOf(step)), { $unset: 'isDone' }]),
        {
          returnDocument: 'after',
          // Limits the returned document to what the steps need, because a busy account has many holds and a long
          // journal.
          projection: {
            balance: 1,
            reserved: 1,
            shortfall: 1,
            running: 1,
            ...Object.fromEntries(callIds.map((callId) => [`holds.${callId}`, 1])),
            ...Object.fromEntries(
              batch.flatMap(({ step: { keyId } }) => (keyId === undefined ? [] : [[spendField(keyId), 1]])),
            ),
            journal: {
              $concatArrays: [
                {
                  $filter: { input: '$journal', as: 'entry', cond: { $in: ['$$entry.callId', callIds] } },
                },
                leftovers,
              ],
            },
          },
        },
      );
      for (const { step, resolve } of batch)
        resolve(
          account && {
            ...account,
            hold: account.holds?.[step.callId],
            entry: account.journal.find(({ callId }) => callId === step.callId),
          },
        );
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async function drainQueue(accountId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) await update(accountId, queue.splice(0, MAX_BATCH));
    waiting.delete(accountId);
  }

  return (step) =>
    new Promise((resolve, reject) => {
      const own = { step, resolve, reject };
      const queue = waiting.get(step.accountId);
      if (queue !== undefined) {
        queue.push(own);
        return;
      }
      const newQueue = [own];
      waiting.set(step.accountId, newQueue);
      void drainQueue(step.accountId, newQueue);
    });
}
