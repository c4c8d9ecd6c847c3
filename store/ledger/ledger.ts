import { randomUUID } from 'node:crypto';
import DataLoader from 'dataloader';
import type { Document } from 'mongodb';
import { activeTraceparent } from '../../platform/trace.ts';
import { LOW_CREDITS } from '../../schemas/events.ts';
import type { CallDigests, HoldPool, JournalEntry, ToolTimes } from '../accounts/accountDocs.ts';
import { USAGE_INTERVAL, usageOf } from '../billing/usage.ts';
import type { CallDoc } from '../calls/callDocs.ts';
import type { CallPolicy } from '../calls/callPolicy.ts';
import type { Store } from '../mongo/mongo.ts';
import { createSteps, type StepResult } from './batchUpdates.ts';
import { createJournalCopier, type Posting } from './copyJournal.ts';
import { checked } from './invariant.ts';
import {
  describeBudget,
  type ExceededBudget,
  exceededBudget,
  type KeyBudget,
  releaseSpend,
  reserveSpend,
} from './keySpend.ts';

/** A request to reserve the price of a call. */
export interface Reservation extends Pick<CallPolicy, 'tool' | 'price' | 'maxRunning'> {
  callId: string;
  accountId: string;
  pool: HoldPool;
  /** The API key of the call; missing if it has none. */
  key?: KeyBudget | undefined;
}

/**
 * Result of a reservation; the tool may run only if it is `held`. `nonce` identifies the hold in a charge. `running`
 * is the number of calls of the account with a hold in this pool, including this one; it is missing in older workflow
 * histories.
 */
export type ReserveResult =
  | { status: 'held'; nonce: string; available: number; running?: number | undefined }
  | { status: 'insufficient' | 'busy' | 'suspended'; available: number }
  /** The call would exceed a budget of its API key. */
  | { status: 'over_budget'; available: number; budget: ExceededBudget; detail: string }
  /** The call has already ended. `code` is its error code; null if it has none. */
  | { status: 'closed'; code: string | null; available: number; charged?: true };

/**
 * Request to charge or refund a call. A charge requires the hold with this nonce. A refund releases the call's hold
 * if there is one; `release` also releases the Idempotency-Key. `times` and `digests` are stored with the call.
 */
export type Settlement = { callId: string; accountId: string; times?: ToolTimes | undefined } & (
  | { wanted: 'charged'; nonce: string; digests?: CallDigests | undefined }
  | { wanted: 'refunded'; code: string; release: boolean }
);

/** The recorded end of a call, which may differ from the requested one. */
export interface Settled {
  state: 'charged' | 'refunded';
  available: number;
  /** Set if the charge fired events, whose dispatch `callTool`, which requests all charges, starts as its child. */
  fired?: true;
}

export interface Ledger {
  /**
   * Creates a hold for the price. If the call already has a hold, that hold is returned.
   *
   * @throws if the journal is full or the account changed in the meantime; the caller retries
   */
  reserve(call: Reservation): Promise<ReserveResult>;
  /**
   * Charges or refunds a call, once. Can be repeated; returns the recorded state. @throws if the account does not
   * exist, or if it is not certain yet how the call has ended; the caller retries
   */
  settle(settlement: Settlement): Promise<Settled>;
  /** Releases a hold whose call has already ended, and gives back its key's budget, without changing the call's document. */
  dropStrayHold(accountId: string, callId: string, nonce: string): Promise<void>;
  /** Copies pending journal entries to their collections; for a graceful shutdown. */
  flush(): Promise<void>;
}

/** The result of a reservation for a call that has ended like this. */
const closed = (
  end: Pick<JournalEntry, 'state' | 'code'> | Pick<CallDoc, 'state' | 'code'> | null,
  available: number,
): ReserveResult => ({
  status: 'closed',
  code: end?.code ?? null,
  available,
  ...(end?.state === 'charged' && { charged: true }),
});

/**
 * Maximum number of journal entries of an account that gets a new hold. Above it, reservations wait until entries
 * have been copied.
 */
const JOURNAL_LIMIT = 2000;
/**
 * Delay in milliseconds between the first new journal entry of an account and the copying of its journal to `calls`,
 * `entries` and `events`. Entries written during the delay are copied in one batch, because a batch takes three writes
 * whatever its size. Until then, `calls` still has a finished call as running; requests that list calls therefore copy the
 * journal first.
 */
const COPY_AFTER_MS = 100;
/**
 * Age from which journal entries count as leftovers: the process that wrote them died before it copied them to
 * `calls`, `entries` and `events`.
 */
const LEFTOVER_AFTER_MS = 5000;
/**
 * Maximum number of leftovers copied with one settlement. Under load many entries can reach this age at once without
 * a crash.
 */
const LEFTOVER_BATCH = 20;

const after = (balance: unknown, cost: unknown): Document => ({ $subtract: [balance, cost] });

const leftovers: Document = {
  $slice: [
    {
      $filter: {
        input: '$journal',
        as: 'entry',
        cond: { $lt: ['$$entry.at', { $subtract: ['$$NOW', LEFTOVER_AFTER_MS] }] },
      },
    },
    LEFTOVER_BATCH,
  ],
};
const isMissing = (field: string): Document => ({ $eq: [{ $type: field }, 'missing'] });
const hasNotEnded = (callId: string): Document => ({ $not: { $in: [callId, '$journal.callId'] } });

/**
 * Creates the ledger. Each ledger step is one conditional update of the account's document, which also writes the
 * journal entry and its events. copyJournal.ts then copies the entries, which their ids make repeatable.
 *
 * A hold ends exactly once: the update that removes the hold writes the journal entry, and a removed hold cannot be
 * removed again. A call that ends without a hold also gets an entry. While that entry is in the journal, a late
 * reservation creates no hold. The entry leaves the journal only after the call's document shows the end: a later
 * `reserve` reads that document, releases its hold and returns `closed`.
 *
 * @param copyAfterMs how long entries wait to be copied in a batch
 * @param clock time of reservations, which decides the day and the month of budgets. Default: MongoDB's clock
 */
export function createLedger(
  store: Store,
  onError: (error: unknown) => void,
  copyAfterMs = COPY_AFTER_MS,
  clock?: () => Date,
): Ledger {
  const { accounts, calls } = store;
  const sumUsage = async (postings: readonly Posting[]): Promise<void> => {
    for (const { accountId, entry } of postings)
      if (entry.state === 'charged' && entry.seq % USAGE_INTERVAL === 0) await usageOf(store, accountId);
  };
  const copier = createJournalCopier(store, onError, copyAfterMs, sumUsage);
  const stepOn = createSteps(store, leftovers);
  const copyingLeftovers = new Set<string>();
  /** Loads state and code of calls by id; concurrent loads share one query. */
  const rows = new DataLoader(
    async (callIds: readonly string[]) => {
      const found = await calls
        .find({ _id: { $in: [...callIds] } }, { projection: { state: 1, code: 1 } })
        .toArray();
      const byId = new Map(found.map((row) => [row._id, row]));
      return callIds.map((callId) => byId.get(callId) ?? null);
    },
    { cache: false },
  );

  /**
   * Ends a call in one update: removes its hold, changes the balance if the call is charged, and writes the journal
   * entry. No-op if the hold to charge does not exist or the journal already has an entry of the call.
   */
  function end(settlement: Settlement): Promise<StepResult | null> {
    const { callId, accountId, wanted, times } = settlement;
    const charged = wanted === 'charged';
    const digests = charged ? settlement.digests : undefined;
    const hold = `$holds.${callId}`;
    const traceparent = activeTraceparent();
    const cost = { $ifNull: [`${hold}.cost`, 0] };
    const balanceAfter = charged ? after('$balance', cost) : '$balance';
    const seq = charged ? { $add: ['$seq', 1] } : '$seq';
    const crosses = (threshold: unknown): Document => ({
      $and: [{ $gte: ['$balance', threshold] }, { $lt: [balanceAfter, threshold] }],
    });
    const fires = (when: Document, event: string): Document => ({
      $cond: [when, [{ id: `evt_${randomUUID()}`, event }], []],
    });
    const entry = {
      id: `ent_${randomUUID()}`,
      callId,
      tool: { $ifNull: [`${hold}.tool`, null] },
      state: charged ? 'charged' : { $cond: [isMissing(hold), 'refused', 'refunded'] },
      cost,
      at: '$$NOW',
      code: charged ? null : { $literal: settlement.code },
      release: charged ? false : settlement.release,
      seq,
      balanceAfter,
      events: charged
        ? {
            $concatArrays: [
              fires(crosses(LOW_CREDITS), 'credits.low'),
              fires({ $and: [{ $gt: ['$balance', 0] }, { $lte: [balanceAfter, 0] }] }, 'credits.exhausted'),
            ],
          }
        : [],
      ...(charged && {
        period: `${hold}.period`,
        alerts: {
          $filter: {
            input: { $ifNull: ['$alerts', []] },
            as: 'threshold',
            cond: crosses('$$threshold'),
          },
        },
        // Without a threshold nothing is crossed: no balance is below a missing field.
        topUp: { $cond: [crosses('$topUpBelow'), true, '$$REMOVE'] },
      }),
      reservedAt: `${hold}.at`,
      ...(times !== undefined && { times: { $literal: times } }),
      ...(digests !== undefined && { digests: { $literal: digests } }),
      ...(traceparent !== undefined && { traceparent }),
    };
    const poolCounts = {
      $arrayToObject: {
        $map: {
          input: { $objectToArray: '$running' },
          as: 'pool',
          in: {
            k: '$$pool.k',
            v: { $subtract: ['$$pool.v', { $cond: [{ $eq: ['$$pool.k', `${hold}.pool`] }, 1, 0] }] },
          },
        },
      },
    };
    return stepOn({
      accountId,
      callId,
      when: charged
        ? { $eq: [`${hold}.nonce`, settlement.nonce] }
        : { $or: [{ $not: isMissing(hold) }, hasNotEnded(callId)] },
      set: {
        balance: balanceAfter,
        reserved: after('$reserved', cost),
        seq,
        running: poolCounts,
        // A charge leaves the spend of the key as it is: the reservation has added the price to it.
        ...(!charged && { keySpend: releaseSpend(`${hold}.period`, cost) }),
        journal: { $concatArrays: ['$journal', [entry]] },
        [`holds.${callId}`]: '$$REMOVE',
      },
    });
  }

  /** Copies entries that a crashed process left in the journal; at most one run per account at a time. */
  async function copyLeftovers(accountId: string, journal: readonly JournalEntry[]): Promise<void> {
    if (copyingLeftovers.has(accountId)) return;
    copyingLeftovers.add(accountId);
    try {
      const before = Date.now() - LEFTOVER_AFTER_MS;
      const old = journal.filter((entry) => entry.at.getTime() < before).slice(0, LEFTOVER_BATCH);
      await copier.copy(old.map((entry) => ({ accountId, entry })));
    } finally {
      copyingLeftovers.delete(accountId);
    }
  }

  async function recordedState(callId: string): Promise<Settled['state']> {
    const row = await rows.load(callId);
    return row?.state === 'charged' ? 'charged' : 'refunded';
  }

  async function dropStrayHold(accountId: string, callId: string, nonce: string): Promise<void> {
    const account = await accounts.findOne({ _id: accountId }, { projection: { [`holds.${callId}`]: 1 } });
    const hold = account?.holds?.[callId];
    if (hold?.nonce !== nonce) return;
    const release = {
      reserved: { $subtract: ['$reserved', hold.cost] },
      [`running.${hold.pool}`]: { $subtract: [`$running.${hold.pool}`, 1] },
      keySpend: releaseSpend(`$holds.${callId}.period`, hold.cost),
    };
    await accounts.updateOne(
      { _id: accountId, [`holds.${callId}.nonce`]: nonce },
      checked([{ $set: release }, { $unset: `holds.${callId}` }]),
    );
  }

  /** Creates a hold, or returns the reason why the call gets none. */
  async function hold(call: Reservation, nonce: string): Promise<ReserveResult> {
    const { callId, accountId, tool, pool, price, maxRunning, key } = call;
    const now = clock?.();
    const at = now === undefined ? '$$NOW' : { $literal: now };
    const spend = key === undefined ? null : reserveSpend(key, price, at);
    const running = { $ifNull: [`$running.${pool}`, 0] };
    const account = await stepOn({
      accountId,
      callId,
      keyId: key?.id,
      when: {
        $and: [
          isMissing(`$holds.${callId}`),
          hasNotEnded(callId),
          { $eq: ['$shortfall', 0] },
          ...(maxRunning === null ? [] : [{ $lt: [running, maxRunning] }]),
          { $lte: [{ $size: '$journal' }, JOURNAL_LIMIT] },
          { $gte: [{ $subtract: ['$balance', '$reserved'] }, price] },
          ...(spend?.when ?? []),
        ],
      },
      set: {
        reserved: { $add: ['$reserved', price] },
        [`running.${pool}`]: { $add: [running, 1] },
        ...spend?.set,
        [`holds.${callId}`]: { nonce, tool, pool, cost: price, at, ...(spend && { period: spend.period }) },
      },
    });
    if (account === null) return { status: 'closed', code: null, available: 0 };
    const available = account.balance - account.reserved;
    if (account.hold !== undefined)
      return { status: 'held', nonce: account.hold.nonce, available, running: account.running[pool] };
    if (account.entry !== undefined) return closed(account.entry, available);
    if (account.shortfall > 0) return { status: 'suspended', available };
    if (available < price) return { status: 'insufficient', available };
    const budget = key === undefined ? null : exceededBudget(key, account.keySpend, price, now ?? new Date());
    if (budget !== null)
      return { status: 'over_budget', available, budget, detail: describeBudget(budget, price) };
    if (maxRunning !== null && (account.running[pool] ?? 0) >= maxRunning)
      return { status: 'busy', available };
    await copyLeftovers(accountId, account.journal);
    await copier.flush();
    // The workflow retries the reservation.
    throw new Error('the account changed, or its journal is full');
  }

  return {
    flush: copier.flush,
    dropStrayHold,

    async reserve(call) {
      if (!Number.isSafeInteger(call.price) || call.price < 0)
        throw new RangeError(`the price is ${call.price}`);
      const result = await hold(call, randomUUID());
      if (result.status === 'closed' && result.charged) return result;
      // The call's state is read after the hold was created: a process that ends the call later also ends the hold.
      const row = await rows.load(call.callId);
      if (row?.state === 'running') return result;
      // A repeated reservation may find that the call itself has used up the credits, or the entry of a refund that came
      // after the charge and has no effect.
      if (result.status !== 'held') return row === null ? result : closed(row, result.available);
      await dropStrayHold(call.accountId, call.callId, result.nonce);
      return closed(row, result.available + call.price);
    },

    async settle(settlement) {
      const { callId, accountId } = settlement;
      // The account is read before the call's document: an entry leaves the journal only after it was copied to that
      // document, so at least one of the two shows the end of the call.
      const account = await end(settlement);
      if (account === null) throw new Error(`no account ${accountId}`);
      const { balance, reserved, journal, entry, hold: left } = account;
      // A new primary can read what was before the step, until it knows what a majority has acknowledged to the earlier one.
      const isBefore = settlement.wanted === 'refunded' || left?.nonce === settlement.nonce;
      if (entry === undefined && left !== undefined && isBefore)
        throw new Error(`the end of call ${callId} is not visible yet`);
      const available = balance - reserved;
      // The account's document already records the charge, so a charge without events can wait for the next batch. A
      // refund is copied now because it may release an Idempotency-Key, and events because they are dispatched next.
      const isCharge = settlement.wanted === 'charged';
      if (entry?.state === 'charged' && entry.events.length === 0) copier.copyLater({ accountId, entry });
      else if (entry !== undefined) await copier.copy([{ accountId, entry }], isCharge);
      await copyLeftovers(accountId, journal);
      if (entry?.state === 'charged')
        return { state: 'charged', available, ...(isCharge && entry.events.length > 0 && { fired: true }) };
      // Returns the recorded state, because a refund does not undo a charge, even if it released the hold of a late
      // reservation.
      return { state: await recordedState(callId), available };
    },
  };
}
