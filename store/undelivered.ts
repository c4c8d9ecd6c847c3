import { setTimeout as sleep } from 'node:timers/promises';
import type { Accounts } from './accounts.ts';
import { findExpired } from './lease.ts';
import type { Ledger } from './ledger.ts';
import type { CallDoc, Store } from './mongo.ts';

/** Settles calls whose callers got no result, so that nobody pays for one. Every step may be repeated, in any process. */
export interface Undelivered {
  /**
   * Ends a call whose caller got an error: refunds it if it has not ended yet, gives its price back if it was charged
   * (an adjustment with the reference `call <id>`, which is applied once), and removes `pendingAnswer`.
   *
   * @returns whether it had been charged
   */
  settle(call: CallDoc, code: string): Promise<boolean>;
  /**
   * Settles what API processes left behind: calls whose callers got an error, and calls whose process is gone. The latter
   * are cancelled as if their callers had hung up, and charges are given back unless the tool acts on the world.
   *
   * @param cancel asks for the cancellation of a call's workflow; no-op when it is over
   * @param onWait called every second while this waits
   */
  sweep(cancel: (callId: string) => Promise<void>, onWait?: () => void): Promise<SweptAnswers>;
}

/** What one sweep did. */
export interface SweptAnswers {
  cancelled: number;
  refunded: number;
}

interface Dependencies {
  store: Pick<Store, 'calls' | 'apiProcesses'>;
  ledger: Pick<Ledger, 'settle'>;
  accounts: Pick<Accounts, 'grant'>;
}

/** After an outage of MongoDB every lease looks expired until its process has renewed it. */
const SECOND_LOOK_MS = 5000;
const BATCH = 500;
const AT_ONCE = 20;

/** Calls without a process that could still answer. Names the field twice, for the partial index. */
export const ABANDONED = { pendingAnswer: { $exists: true }, 'pendingAnswer.process': null };

/** Whether a charge without a delivered result is given back: always after an error, else as for a caller who hung up. */
export const isRefundDue = ({
  pendingAnswer,
  actsOnWorld,
}: Pick<CallDoc, 'pendingAnswer' | 'actsOnWorld'>): boolean =>
  pendingAnswer !== undefined && (pendingAnswer.code !== null || !actsOnWorld);

export function createUndelivered({ store, ledger, accounts }: Dependencies): Undelivered {
  const { calls } = store;

  const close = (callId: string, releasesKey: boolean) =>
    calls.updateOne(
      { _id: callId },
      { $unset: { pendingAnswer: '', ...(releasesKey && { idempotency: '' }) } },
    );

  const settle: Undelivered['settle'] = async (call, code) => {
    const { _id: callId, accountId, cost, actsOnWorld } = call;
    const release = !actsOnWorld;
    const state =
      call.state === 'running'
        ? (await ledger.settle({ callId, accountId, wanted: 'refunded', code, release })).state
        : call.state;
    const charged = state === 'charged';
    if (charged)
      await accounts.grant({
        accountId,
        type: 'adjustment',
        amount: cost,
        reason: `The result of call ${callId} could not be delivered.`,
        reference: `call ${callId}`,
      });
    // A dashboard call has a key although its user cannot repeat it; the same form then makes a new call.
    await close(callId, charged && release);
    return charged;
  };

  /** Takes over the calls of processes that were gone at two looks. */
  async function takeOver(onWait: () => void): Promise<void> {
    const named = { pendingAnswer: { $exists: true }, 'pendingAnswer.process': { $type: 'string' } } as const;
    const suspects = await findExpired(store, await calls.distinct('pendingAnswer.process', named));
    if (suspects.length === 0) return;
    for (let waitedMs = 0; waitedMs < SECOND_LOOK_MS; waitedMs += 1000) {
      onWait();
      await sleep(1000);
    }
    const gone = await findExpired(store, suspects);
    await calls.updateMany(
      { ...named, 'pendingAnswer.process': { $in: gone } },
      { $set: { 'pendingAnswer.process': null } },
    );
  }

  return {
    settle,

    async sweep(cancel, onWait = () => undefined) {
      const swept: SweptAnswers = { cancelled: 0, refunded: 0 };
      await takeOver(onWait);
      const end = async (call: CallDoc): Promise<void> => {
        const code = call.pendingAnswer?.code ?? null;
        if (code === null && call.state === 'running') {
          // Its workflow refunds it, or charges it in this moment: a later sweep sees which.
          await cancel(call._id);
          swept.cancelled++;
        } else if (isRefundDue(call)) swept.refunded += Number(await settle(call, code ?? 'cancelled'));
        else await close(call._id, false);
      };
      const left = await calls.find(ABANDONED).limit(BATCH).toArray();
      const faults: unknown[] = [];
      while (left.length > 0) {
        onWait();
        for (const outcome of await Promise.allSettled(left.splice(0, AT_ONCE).map(end)))
          if (outcome.status === 'rejected') faults.push(outcome.reason);
      }
      if (faults.length > 0)
        throw new AggregateError(faults, 'calls without a delivered result are not settled');
      return swept;
    },
  };
}
