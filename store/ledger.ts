import { randomUUID } from 'node:crypto';
import DataLoader from 'dataloader';
import type { Document } from 'mongodb';
import { LOW_CREDITS } from '../schemas/events.ts';
import type { Pool } from '../schemas/tool.ts';
import type { JournalEntry, Store } from './mongo.ts';
import { createProjection } from './projection.ts';
import { createSteps, type StepResult } from './steps.ts';
import { activeTraceparent } from './trace.ts';

/** Input of a reservation. */
export interface Reservation {
  callId: string;
  accountId: string;
  tool: string;
  pool: Pool;
  price: number;
  /** Most concurrent calls of the account in the pool; null: unlimited. */
  maxRunning: number | null;
}

/**
 * The tool may run only after `held`. `nonce` identifies the hold in a charge. `running` is the number of calls of the
 * account with a hold in this pool, including this one; it is missing in older workflow histories.
 */
export type ReserveResult =
  | { status: 'held'; nonce: string; available: number; running?: number | undefined }
  | { status: 'insufficient' | 'busy' | 'suspended'; available: number }
  /** The call has already ended, with this code. */
  | { status: 'closed'; code: string | null; available: number };

/** Requested end of a call. A refund releases any hold of the call or none; a charge needs the hold of its nonce. */
export type Settlement = { callId: string; accountId: string } & (
  | { wanted: 'charged'; nonce: string }
  | { wanted: 'refunded'; code: string; release: boolean }
);

/** Recorded end of a call, which may differ from the requested one. */
export interface Settled {
  state: 'charged' | 'refunded';
  available: number;
  /** The settlement created events to dispatch. After a crash the sweeper dispatches them. */
  fired?: true;
}

export interface Ledger {
  /**
   * Holds the price. A repeated call returns its existing hold.
   *
   * @throws if the account changed or does not exist; retry
   */
  reserve(call: Reservation): Promise<ReserveResult>;
  /** Charges or refunds a call, once. Repeatable; returns the recorded state. @throws if the account does not exist */
  settle(settlement: Settlement): Promise<Settled>;
  /** Releases a hold that outlived its call, without changing the call's record. */
  dropStrayHold(accountId: string, callId: string, nonce: string): Promise<void>;
  /** Writes pending entries; for a graceful shutdown. */
  flush(): Promise<void>;
}

/** With more journal entries than this an account takes no new hold until they are copied. */
const JOURNAL_LIMIT = 2000;
/**
 * How long an entry waits to be copied in a batch; a batch takes three writes. Readers flush pending entries first. Until
 * then a finished call still shows as running.
 */
const COPY_AFTER_MS = 100;
/** Older entries were left by a process that died between the step and the copy. */
const LEFTOVER_AFTER_MS = 5000;
/** Leftovers copied with one settlement. Under load entries can also grow old without a crash, many at a time. */
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
 * The ledger steps. Each is one conditional update of the account's document, which also writes the journal entry and its
 * events. projection.ts then copies entries by id.
 *
 * A hold ends exactly once: the update that removes the hold writes the entry, and a removed hold cannot be removed again.
 * A call that ends without a hold gets an entry too. While this entry is in the journal the call gets no hold. When it
 * leaves the journal the call's document has ended, so `reserve` releases a late hold and returns `closed`.
 *
 * @param copyAfterMs how long entries wait to be copied in a batch
 */
export function createLedger(
  store: Store,
  onError: (error: unknown) => void,
  copyAfterMs = COPY_AFTER_MS,
): Ledger {
  const { accounts, calls } = store;
  const projection = createProjection(store, onError, copyAfterMs);
  const stepOn = createSteps(store, leftovers);
  const copyingLeftovers = new Set<string>();
  /** State and code of calls; concurrent reads are batched. */
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
   * Ends a call in one update: removes its hold, changes the balance if charged, and writes the entry. No-op if the hold
   * to charge does not exist or the journal already has an entry of the call.
   */
  function end(settlement: Settlement): Promise<StepResult | null> {
    const { callId, accountId, wanted } = settlement;
    const charged = wanted === 'charged';
    const hold = `$holds.${callId}`;
    const traceparent = activeTraceparent();
    const cost = { $ifNull: [`${hold}.cost`, 0] };
    const balanceAfter = charged ? after('$balance', cost) : '$balance';
    const seq = charged ? { $add: ['$seq', 1] } : '$seq';
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
              fires(
                { $and: [{ $gte: ['$balance', LOW_CREDITS] }, { $lt: [balanceAfter, LOW_CREDITS] }] },
                'credits.low',
              ),
              fires({ $and: [{ $gt: ['$balance', 0] }, { $lte: [balanceAfter, 0] }] }, 'credits.exhausted'),
            ],
          }
        : [],
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
        journal: { $concatArrays: ['$journal', [entry]] },
        [`holds.${callId}`]: '$$REMOVE',
      },
    });
  }

  /** Copies entries that a crashed process left in the journal; once at a time per account. */
  async function copyLeftovers(accountId: string, journal: readonly JournalEntry[]): Promise<void> {
    if (copyingLeftovers.has(accountId)) return;
    copyingLeftovers.add(accountId);
    try {
      const before = Date.now() - LEFTOVER_AFTER_MS;
      const old = journal.filter((entry) => entry.at.getTime() < before).slice(0, LEFTOVER_BATCH);
      await projection.copy(old.map((entry) => ({ accountId, entry })));
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
    await accounts.updateOne(
      { _id: accountId, [`holds.${callId}.nonce`]: nonce },
      { $inc: { reserved: -hold.cost, [`running.${hold.pool}`]: -1 }, $unset: { [`holds.${callId}`]: '' } },
    );
  }

  /** Creates a hold, or returns why not. */
  async function hold(call: Reservation, nonce: string): Promise<ReserveResult> {
    const { callId, accountId, tool, pool, price, maxRunning } = call;
    const running = { $ifNull: [`$running.${pool}`, 0] };
    const account = await stepOn({
      accountId,
      callId,
      when: {
        $and: [
          isMissing(`$holds.${callId}`),
          hasNotEnded(callId),
          { $eq: ['$shortfall', 0] },
          ...(maxRunning === null ? [] : [{ $lt: [running, maxRunning] }]),
          { $lte: [{ $size: '$journal' }, JOURNAL_LIMIT] },
          { $gte: [{ $subtract: ['$balance', '$reserved'] }, price] },
        ],
      },
      set: {
        reserved: { $add: ['$reserved', price] },
        [`running.${pool}`]: { $add: [running, 1] },
        [`holds.${callId}`]: { nonce, tool, pool, cost: price, at: '$$NOW' },
      },
    });
    if (account === null) return { status: 'closed', code: null, available: 0 };
    const available = account.balance - account.reserved;
    if (account.hold !== undefined)
      return { status: 'held', nonce: account.hold.nonce, available, running: account.running[pool] };
    if (account.entry !== undefined) return { status: 'closed', code: account.entry.code, available };
    if (account.shortfall > 0) return { status: 'suspended', available };
    if (available < price) return { status: 'insufficient', available };
    if (maxRunning !== null && (account.running[pool] ?? 0) >= maxRunning)
      return { status: 'busy', available };
    await copyLeftovers(accountId, account.journal);
    await projection.flush();
    // The caller retries.
    throw new Error('the account changed, or its journal is full');
  }

  return {
    flush: projection.flush,
    dropStrayHold,

    async reserve(call) {
      const result = await hold(call, randomUUID());
      if (result.status !== 'held') return result;
      // Checked after the hold exists: whichever process ends the call from here on also ends the hold.
      const row = await rows.load(call.callId);
      if (row?.state === 'running') return result;
      await dropStrayHold(call.accountId, call.callId, result.nonce);
      return { status: 'closed', code: row?.code ?? null, available: result.available + call.price };
    },

    async settle(settlement) {
      const { callId, accountId } = settlement;
      // The account is read before the call: an entry leaves the journal only after it was copied to the call.
      const account = await end(settlement);
      if (account === null) throw new Error(`no account ${accountId}`);
      const { balance, reserved, journal, entry } = account;
      const available = balance - reserved;
      // A charge without events is recorded in the account, so its copy can wait. Refunds are copied now because they
      // may release an Idempotency-Key, and events because they are dispatched next.
      if (entry?.state === 'charged' && entry.events.length === 0) projection.copyLater({ accountId, entry });
      else if (entry !== undefined) await projection.copy([{ accountId, entry }]);
      await copyLeftovers(accountId, journal);
      if (entry?.state === 'charged')
        return { state: 'charged', available, ...(entry.events.length > 0 && { fired: true }) };
      // A repeated refund, or one that released the hold of a late reservation, does not undo a charge.
      return { state: await recordedState(callId), available };
    },
  };
}
