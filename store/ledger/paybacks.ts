import { setTimeout as sleep } from 'node:timers/promises';
import { type Accounts, grantId } from '../accounts/accounts.ts';
import type { CallDoc } from '../calls/callDocs.ts';
import { EARLIER, EARLIER_INSTEAD } from '../calls/pendingAnswers.ts';
import { findExpired } from '../mongo/lease.ts';
import type { Store } from '../mongo/mongo.ts';
import { copyJournal } from './copyJournal.ts';
import type { Ledger } from './ledger.ts';

/**
 * Settles calls whose callers got no result, so that the callers are not charged. May be repeated, in any process.
 */
export interface Paybacks {
  /**
   * Settles a call whose caller got an error: refunds a running call, returns the price of a charged one (an adjustment
   * with the reference `call <id>`, applied once), and removes `pendingAnswer`.
   *
   * @returns whether the call had been charged
   */
  settle(call: CallDoc, code: string): Promise<boolean>;
  /**
   * Settles abandoned calls: those whose callers got an error, and those whose API process is gone. The latter are
   * treated as if their callers had disconnected: running calls are cancelled, and charged ones are refunded unless
   * they can have side effects outside the service (`actsOnWorld`).
   *
   * @param cancel requests the cancellation of a call's workflow; no-op if it has ended
   * @param onWait called at least once a second during waits, to send a heartbeat
   */
  sweep(cancel: (callId: string) => Promise<void>, onWait?: () => void): Promise<SweptAnswers>;
}

/** Number of calls that one sweep cancelled, and that it refunded. */
interface SweptAnswers {
  cancelled: number;
  refunded: number;
}

interface Dependencies {
  store: Store;
  ledger: Pick<Ledger, 'settle'>;
  accounts: Pick<Accounts, 'grant'>;
}

/**
 * How long to wait before expired leases are checked again. After an outage of MongoDB all leases look expired until
 * they are renewed.
 */
const RECHECK_MS = 5000;
const BATCH = 500;
const CONCURRENCY = 20;

/**
 * Filter for calls whose caller can no longer be answered by any process. `$exists` makes MongoDB use the partial
 * index.
 */
export const ABANDONED = { pendingAnswer: { $exists: true }, 'pendingAnswer.process': null };

/**
 * Whether a charged call without a delivered result is refunded: always if the caller got an error; else, because the
 * caller may have disconnected, unless the call can have side effects outside the service (`actsOnWorld`).
 */
export const isRefundDue = ({
  pendingAnswer,
  actsOnWorld,
}: Pick<CallDoc, 'pendingAnswer' | 'actsOnWorld'>): boolean =>
  pendingAnswer !== undefined && (pendingAnswer.code !== null || !actsOnWorld);

/** Reference of the grant that returns the price of a call. */
const referenceOf = (callId: string): string => `call ${callId}`;

/** Whether the price of a charged call was returned. */
export const isPaidBack = async (
  { grants }: Pick<Store, 'grants'>,
  { _id, accountId }: Pick<CallDoc, '_id' | 'accountId'>,
): Promise<boolean> =>
  (await grants.findOne({
    _id: grantId({ accountId, type: 'adjustment', reference: referenceOf(_id) }),
  })) !== null;

export function createPaybacks({ store, ledger, accounts }: Dependencies): Paybacks {
  const { calls } = store;

  const close = (callId: string, releasesKey: boolean) =>
    calls.updateOne(
      { _id: callId },
      { $unset: { pendingAnswer: '', ...(releasesKey && { idempotency: '' }) } },
    );

  const settle: Paybacks['settle'] = async (call, code) => {
    const { _id: callId, accountId, cost, actsOnWorld } = call;
    const release = !actsOnWorld;
    const state =
      call.state === 'running'
        ? (await ledger.settle({ callId, accountId, wanted: 'refunded', code, release })).state
        : call.state;
    const charged = state === 'charged';
    // A call that returned the result of an earlier one has cost nothing.
    if (charged && cost > 0) {
      // The period of the charge is in the call's document only after the journal was copied.
      await copyJournal(store, accountId);
      const period = (await calls.findOne({ _id: callId }))?.period;
      await accounts.grant({
        accountId,
        type: 'adjustment',
        amount: cost,
        reason: `The result of call ${callId} could not be delivered.`,
        reference: referenceOf(callId),
        ...(period !== undefined && { returned: { callId, period } }),
      });
    }
    // Releases the Idempotency-Key of a dashboard call, so that resubmitting the form makes a new call.
    await close(callId, charged && release);
    return charged;
  };

  /**
   * Marks the calls of a process as abandoned if the lease of the process was expired at two checks, 5 s apart. A call that a
   * running process may answer too is left to that process.
   */
  async function takeOver(onWait: () => void): Promise<void> {
    const named = { pendingAnswer: { $exists: true }, 'pendingAnswer.process': { $type: 'string' } } as const;
    const suspects = await findExpired(store, await calls.distinct('pendingAnswer.process', named));
    if (suspects.length === 0) return;
    for (let waitedMs = 0; waitedMs < RECHECK_MS; waitedMs += 1000) {
      onWait();
      await sleep(1000);
    }
    const gone = await findExpired(store, suspects);
    const isGone = { $in: ['$$response.process', gone] };
    const alive = { $filter: { input: EARLIER, as: 'response', cond: { $not: [isGone] } } };
    await calls.updateMany({ ...named, 'pendingAnswer.process': { $in: gone } }, [
      { $set: { 'pendingAnswer.earlier': alive } },
      {
        $set: {
          pendingAnswer: {
            $cond: [
              { $eq: [{ $size: '$pendingAnswer.earlier' }, 0] },
              { $mergeObjects: ['$pendingAnswer', { process: null }] },
              EARLIER_INSTEAD,
            ],
          },
        },
      },
    ]);
  }

  return {
    settle,

    async sweep(cancel, onWait = () => undefined) {
      const swept: SweptAnswers = { cancelled: 0, refunded: 0 };
      await takeOver(onWait);
      const end = async (call: CallDoc): Promise<void> => {
        const code = call.pendingAnswer?.code ?? null;
        if (code === null && call.state === 'running') {
          // The cancelled workflow refunds the call, unless it is already charging it. A later sweep reads which of
          // the two happened.
          await cancel(call._id);
          swept.cancelled++;
        } else if (isRefundDue(call)) swept.refunded += Number(await settle(call, code ?? 'cancelled'));
        else await close(call._id, false);
      };
      const abandoned = await calls.find(ABANDONED).limit(BATCH).toArray();
      const faults: unknown[] = [];
      while (abandoned.length > 0) {
        onWait();
        for (const outcome of await Promise.allSettled(abandoned.splice(0, CONCURRENCY).map(end)))
          if (outcome.status === 'rejected') faults.push(outcome.reason);
      }
      if (faults.length > 0)
        throw new AggregateError(
          faults,
          'some calls without a delivered result could not be settled; the next sweep retries',
        );
      return swept;
    },
  };
}
