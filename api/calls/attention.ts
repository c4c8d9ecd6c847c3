import { LRUCache } from 'lru-cache';
import { ERRORS, type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import { createNotice } from '../../store/billing/notices.ts';
import type { Refusals } from '../../store/calls/refusals.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { budgetOf, spentOf } from '../../store/ledger/keySpend.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { Caller, State } from '../http/context.ts';

/**
 * Records what needs the attention of an account's owner. Nothing of it waits for MongoDB, and a call that is accepted costs
 * no command, apart from the one that takes its key over a share of a budget.
 */
export interface Attention {
  /**
   * Records a request with a key that was refused before it became a call. Ignores other errors.
   *
   * @param tool null if the request names no tool that exists
   */
  refused(request: Pick<State, 'caller' | 'requestId'>, tool: string | null, error: unknown): void;
  /** Records a request whose key is revoked, expired or may not be used from the address of the client. */
  keyRefused(key: ApiKeyDoc, code: ErrorCode, requestId: string): void;
  /** Notifies the owner, if wanted, when the price of an accepted call takes its key over a share of a budget. */
  spending(caller: Caller, price: number): void;
}

/** Shares of a budget in percent at which the owner gets a notice. */
const BUDGET_SHARES = [80, 100] as const;
/** Number of notices that a process remembers, so that it neither writes them again nor asks again whether they are wanted. */
const KNOWN_NOTICES = 10_000;
/** How long it remembers one, in milliseconds: the owner can switch the mails on meanwhile. */
const KNOWN_MS = 600_000;

type NewNotice = Parameters<typeof createNotice>[1];

/** The highest share of a budget that has been reached, in percent; null if none was. */
export const reachedShare = (spent: number, budget: number | null): number | null =>
  budget === null ? null : (BUDGET_SHARES.findLast((share) => spent * 100 >= share * budget) ?? null);

const dayOf = (now: Date): string => now.toISOString().slice(0, 10);
const monthOf = (now: Date): string => now.toISOString().slice(0, 7);

/** @param onError receives errors of the database; such a notice is written when its cause occurs again */
export function createAttention(
  store: Pick<Store, 'accounts' | 'notices'>,
  refusals: Pick<Refusals, 'record'>,
  onError: (error: unknown) => void,
): Attention {
  const known = new LRUCache<string, true>({ max: KNOWN_NOTICES, ttl: KNOWN_MS });

  /** Writes a notice, if the owner wants mail. Its id keeps other processes from writing it too. */
  function notify(notice: NewNotice): void {
    if (known.has(notice._id)) return;
    known.set(notice._id, true);
    createNotice(store, notice).catch((error: unknown) => {
      known.delete(notice._id);
      onError(error);
    });
  }

  function record(key: ApiKeyDoc, tool: string | null, error: ServiceError, requestId: string): void {
    const { _id: keyId, accountId, prefix: keyPrefix } = key;
    const { code, members } = error;
    const faults = members.errors ?? [];
    refusals.record({ accountId, keyId, keyPrefix, tool, code, faults, requestId });
    const _id = `${accountId} refused ${dayOf(new Date())}`;
    notify({ _id, kind: 'refused', accountId, code, tool, keyPrefix });
  }

  return {
    refused({ caller: { key }, requestId }, tool, error) {
      if (key === null || !(error instanceof ServiceError)) return;
      // Other statuses are failures of the service.
      const { status } = ERRORS[error.code];
      if (status >= 400 && status < 500) record(key, tool, error, requestId);
    },

    keyRefused(key, code, requestId) {
      record(key, null, new ServiceError(code), requestId);
    },

    spending({ account, key }, price) {
      if (account.mailsAttention !== true || key === null) return;
      const { dailyBudget, monthlyBudget } = budgetOf(key);
      const now = new Date();
      const { inDay, inMonth } = spentOf(account.keySpend?.[key._id], now);
      for (const [period, start, spent, credits] of [
        ['day', dayOf(now), inDay, dailyBudget],
        ['month', monthOf(now), inMonth, monthlyBudget],
      ] as const) {
        const percent = reachedShare(spent + price, credits);
        if (percent === null || credits === null) continue;
        const _id = `${key._id} ${start} ${percent}`;
        const { name: keyName } = key;
        notify({
          _id,
          kind: 'budget',
          accountId: account._id,
          keyId: key._id,
          keyName,
          period,
          percent,
          credits,
        });
      }
    },
  };
}
