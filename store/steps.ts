import type { Document } from 'mongodb';
import type { AccountDoc, Hold, JournalEntry, Store } from './mongo.ts';

/** A conditional change of an account for the sake of one call, in expressions over the account's document. */
export interface Step {
  accountId: string;
  callId: string;
  /** Whether it is done. */
  when: Document;
  /** What becomes of which field, all at once as in `$set`; `$$REMOVE` takes a field away. */
  set: Record<string, unknown>;
}

/** The account after a step was done or not, and what it holds of the step's call. */
export interface StepResult
  extends Pick<AccountDoc, 'balance' | 'reserved' | 'shortfall' | 'running' | 'journal'> {
  hold: Hold | undefined;
  /** How the call ended, when that is still in the journal; which is cut to such entries and the leftovers. */
  entry: JournalEntry | undefined;
}

/** Does a step. Null: there is no such account. */
export type Steps = (step: Step) => Promise<StepResult | null>;

/** So many steps go into one update at most; MongoDB takes pipelines of up to 1,000 stages, and a step is two. */
const STEPS_AT_ONCE = 100;

interface Waiting {
  step: Step;
  resolve(stepped: StepResult | null): void;
  reject(error: unknown): void;
}

/** Two stages: the second sees what its own condition was before it changes any of what that looked at. */
const stagesOf = ({ when, set }: Step): Document[] => [
  { $set: { isDone: when } },
  {
    $set: Object.fromEntries(
      Object.entries(set).map(([field, value]) => [field, { $cond: ['$isDone', value, `$${field}`] }]),
    ),
  },
];

/**
 * Steps on accounts, each atomic. Those that meet on one account while an update is under way go into the next update
 * together, in the order in which they came: an update that meets another on its document is tried again and again by
 * MongoDB, and each costs a flush. What one update does is done as a whole or not at all; when it fails, every step in
 * it fails.
 *
 * @param leftovers expression: entries of the journal that each step brings home besides those of its call
 */
export function createSteps({ accounts }: Store, leftovers: Document): Steps {
  const waiting = new Map<string, Waiting[]>();

  async function update(accountId: string, batch: readonly Waiting[]): Promise<void> {
    const callIds = batch.map(({ step }) => step.callId);
    try {
      const account = await accounts.findOneAndUpdate(
        { _id: accountId },
        [...batch.flatMap(({ step }) => stagesOf(step)), { $unset: 'isDone' }],
        {
          returnDocument: 'after',
          // A busy account has many holds and a long journal, and every update would carry all of them home.
          projection: {
            balance: 1,
            reserved: 1,
            shortfall: 1,
            running: 1,
            ...Object.fromEntries(callIds.map((callId) => [`holds.${callId}`, 1])),
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

  async function work(accountId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) await update(accountId, queue.splice(0, STEPS_AT_ONCE));
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
      const fresh = [own];
      waiting.set(step.accountId, fresh);
      void work(step.accountId, fresh);
    });
}
