import type { Logger } from 'pino';
import { untilAborted } from '../egress/clock.ts';
import { ServiceError } from '../schemas/errors.ts';
import type { Accounts } from '../store/accounts.ts';
import type { Ledger, Settled } from '../store/ledger.ts';
import type { CallDoc } from '../store/mongo.ts';
import type { Results } from '../store/results.ts';
import type { CallResult, ToolResult } from '../workflows/types.ts';
import { adjust } from './adjustment.ts';
import type { Outcome } from './calls.ts';
import type { CallWorkflow } from './callWorkflow.ts';
import type { HandOver } from './handOver.ts';
import { persistInStore } from './persist.ts';

/** Who waits for an answer. */
export interface Waiting {
  /** Aborted when the caller hangs up. */
  hangup: AbortSignal;
  /** Epoch milliseconds at which the answer is due. */
  until: number;
}

/** What the caller is told. */
export type Ended = Pick<Outcome, 'ending' | 'available'>;

/** How a call comes to its answer, so that who is charged has the result, and who has no result is not charged. */
export interface Settling {
  /**
   * The output of a call that was charged. Where it cannot be had and nobody can ask for it again, its caller is told so
   * and has the price back.
   *
   * @throws why it cannot be had, to who can ask again
   */
  payOut(row: CallDoc, ended: () => Promise<CallResult>, waiting: Waiting): Promise<Ended>;
  /** Ends the call here and now, with this error unless it was charged already; nothing is charged after this answer. */
  giveUp(row: CallDoc, error: ServiceError, waiting: Waiting): Promise<Ended>;
}

interface Dependencies {
  workflow: Pick<CallWorkflow, 'result'>;
  ledger: Pick<Ledger, 'settle'>;
  results: Pick<Results, 'read'>;
  accounts: Accounts;
  handOver: HandOver;
  log: Logger;
}

/** For a step in the books that did not succeed while its caller waited; then only the sweeper is left. */
const BOOKS_MS = 15 * 60_000;

/** Without a fingerprint nobody can ask for the result again. */
export const isRepeatable = ({ idempotency }: CallDoc): boolean => idempotency?.fingerprint != null;

const timeLeft = ({ until }: Waiting): AbortSignal => AbortSignal.timeout(Math.max(0, until - Date.now()));

export function createSettling(deps: Dependencies): Settling {
  const { workflow, ledger, results, log } = deps;

  /**
   * Goes on while the caller waits no more: what is owed is owed, however long the database is away.
   *
   * @param undone what the log says when it was away for too long
   */
  const inTheBooks = <T>(row: CallDoc, step: () => Promise<T>, undone: string): Promise<T> => {
    const done = persistInStore(step, AbortSignal.timeout(BOOKS_MS));
    done.catch((error) => log.error({ err: error, callId: row._id, accountId: row.accountId }, undone));
    return done;
  };

  async function read(row: CallDoc, result: ToolResult, waiting: Waiting): Promise<string | Buffer> {
    if ('output' in result) return JSON.stringify(result.output);
    const signal = timeLeft(waiting);
    const { stored } = result;
    return untilAborted(
      persistInStore(() => results.read(row._id, stored), signal),
      signal,
    );
  }

  async function giveBack(row: CallDoc, fault: unknown): Promise<void> {
    const reason = `The result of call ${row._id} could not be handed over.`;
    const { accountId, cost: amount } = row;
    const adjustment = { accountId, amount, reason, reference: `call ${row._id}` };
    await inTheBooks(row, () => adjust(deps, adjustment), 'charged call not given back');
    log.error({ err: fault, callId: row._id, requestId: row.requestId }, 'charged call given back');
  }

  async function payOut(
    row: CallDoc,
    ended: () => Promise<CallResult>,
    waiting: Waiting,
    error?: ServiceError,
  ): Promise<Ended> {
    try {
      const { result, available } = await ended();
      return { available, ending: { output: await read(row, result, waiting) } };
    } catch (fault) {
      if (isRepeatable(row) || waiting.hangup.aborted) throw fault;
      // It goes on when the time is up, and what fails of it is in the log.
      await untilAborted(giveBack(row, fault), timeLeft(waiting)).catch(() => undefined);
      return { available: null, ending: { error: error ?? new ServiceError('internal', { cause: fault }) } };
    }
  }

  return {
    payOut: (row, ended, waiting) => payOut(row, ended, waiting),

    async giveUp(row, error, waiting) {
      log.error({ err: error, callId: row._id, requestId: row.requestId }, 'call given up');
      const { _id: callId, accountId } = row;
      const release = !row.actsOnWorld;
      const refund = { callId, accountId, wanted: 'refunded', code: error.code, release } as const;
      const settling = inTheBooks(row, () => ledger.settle(refund), 'the call waits for the sweeper');
      let settled: Settled;
      try {
        settled = await untilAborted(settling, timeLeft(waiting));
      } catch (fault) {
        // As above.
        settling
          .then(({ state }) => (state === 'charged' && !isRepeatable(row) ? giveBack(row, fault) : undefined))
          .catch(() => undefined);
        return { available: null, ending: { error } };
      }
      if (settled.state !== 'charged') return { available: settled.available, ending: { error } };
      // It was settled just before: what was paid for is handed over.
      return payOut(row, () => workflow.result(callId, timeLeft(waiting)), waiting, error);
    },
  };
}
