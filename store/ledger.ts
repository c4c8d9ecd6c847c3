import { randomUUID } from 'node:crypto';
import DataLoader from 'dataloader';
import type { Document } from 'mongodb';
import { LOW_CREDITS } from '../schemas/events.ts';
import type { Pool } from '../schemas/tool.ts';
import type { JournalEntry, Store } from './mongo.ts';
import { createProjection } from './projection.ts';
import { createSteps, type StepResult } from './steps.ts';

/** What a reservation needs to know of a call. */
export interface Reservation {
  callId: string;
  accountId: string;
  tool: string;
  pool: Pool;
  price: number;
  /** Most calls of this account that may run in the pool at once; null: any number. */
  maxRunning: number | null;
}

/**
 * `held` is the only answer that lets the tool run. `nonce`: what a charge must show. `running`: calls of the account
 * that hold credits in this pool, this one included; results in older workflow histories do not have it.
 */
export type ReserveResult =
  | { status: 'held'; nonce: string; available: number; running?: number | undefined }
  | { status: 'insufficient' | 'busy' | 'suspended'; available: number }
  /** The call was ended before it began, with this code. */
  | { status: 'closed'; code: string | null; available: number };

/** How a call is to end. A refund takes whatever hold there is, or none; a charge only the one its nonce names. */
export type Settlement = { callId: string; accountId: string } & (
  | { wanted: 'charged'; nonce: string }
  | { wanted: 'refunded'; code: string; release: boolean }
);

/** How it ended, whoever ended it. */
export interface Settled {
  state: 'charged' | 'refunded';
  available: number;
  /** It made events, which are to be handed over. Says so at least once for each; the sweeper finds the rest. */
  fired?: true;
}

export interface Ledger {
  reserve(call: Reservation): Promise<ReserveResult>;
  settle(settlement: Settlement): Promise<Settled>;
  /** Gives back a hold that outlived its call; the call's record stays as it is. */
  dropStrayHold(accountId: string, callId: string, nonce: string): Promise<void>;
  /** Writes what is still pending; for an orderly end of the process. */
  flush(): Promise<void>;
}

/** An account with so many unprojected journal entries takes no new hold until they are copied. */
const JOURNAL_LIMIT = 2000;
/**
 * How long an entry may wait to be copied together with others: each copy is three writes. Who reads the books copies what
 * waits; until then the row of a call that has ended says that it runs, and whoever goes by it asks the workflow.
 */
const COPY_AFTER_MS = 100;
/** An entry that is older than this was left by a process that died between the step and its copy. */
const LEFTOVER_AFTER_MS = 5000;
/** So many of them are copied with one settlement: on a slow day entries grow old by themselves, and many at once. */
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
 * The money steps. Each is one conditional update of the account's own document, so nothing is read and then written,
 * and the journal entry with its events appears in the same step; what follows (projection.ts) only copies, by id.
 *
 * A hold ends exactly once: the step that removes it writes the entry, and a hold that is gone cannot be removed again.
 * A call that ends without one leaves an entry too. While that is in the journal no hold of the call is taken, and when
 * it leaves the journal the call's row is closed, so a reservation that lands late is told so or told nothing at all.
 *
 * @param copyAfterMs how long entries may wait to be copied together
 */
export function createLedger(
  store: Store,
  onError: (error: unknown) => void,
  copyAfterMs = COPY_AFTER_MS,
): Ledger {
  const { accounts, calls } = store;
  const projection = createProjection(store, onError, copyAfterMs);
  const stepOn = createSteps(store, leftovers);
  const tidying = new Set<string>();
  /** Rows of calls, those that are asked for together read together. */
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
   * Ends a call: removes its hold, moves the balance when charged, and writes the entry, all in one step. Not done when
   * there is no such hold to charge, or when the journal says already how the call ended.
   */
  function end(settlement: Settlement): Promise<StepResult | null> {
    const { callId, accountId, wanted } = settlement;
    const charged = wanted === 'charged';
    const hold = `$holds.${callId}`;
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

  /** Copies what a process that died between a step and its copy left behind; one at a time for an account. */
  async function copyLeftovers(accountId: string, journal: readonly JournalEntry[]): Promise<void> {
    if (tidying.has(accountId)) return;
    tidying.add(accountId);
    try {
      const before = Date.now() - LEFTOVER_AFTER_MS;
      const old = journal.filter((entry) => entry.at.getTime() < before).slice(0, LEFTOVER_BATCH);
      await projection.copy(old.map((entry) => ({ accountId, entry })));
    } finally {
      tidying.delete(accountId);
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

  /** Takes a hold, or says why there is none. */
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
    throw new Error('the account changed, or its journal is full'); // the caller tries again
  }

  return {
    flush: projection.flush,
    dropStrayHold,

    async reserve(call) {
      const result = await hold(call, randomUUID());
      if (result.status !== 'held') return result;
      // After the hold, never before: whoever ends the call from here on finds the hold and takes it.
      const row = await rows.load(call.callId);
      if (row?.state === 'running') return result;
      await dropStrayHold(call.accountId, call.callId, result.nonce);
      return { status: 'closed', code: row?.code ?? null, available: result.available + call.price };
    },

    async settle(settlement) {
      const { callId, accountId } = settlement;
      // The account before the call's row: an entry leaves the journal only after it stands in the row.
      const account = await end(settlement);
      if (account === null) throw new Error(`no account ${accountId}`);
      const { balance, reserved, journal, entry } = account;
      const available = balance - reserved;
      // A plain charge is on record in the account itself. A refund may set an Idempotency-Key free, and an event has to
      // be there before it is handed over: their callers wait for the copy.
      if (entry?.state === 'charged' && entry.events.length === 0) projection.copyLater({ accountId, entry });
      else if (entry !== undefined) await projection.copy([{ accountId, entry }]);
      await copyLeftovers(accountId, journal);
      if (entry?.state === 'charged')
        return { state: 'charged', available, ...(entry.events.length > 0 && { fired: true }) };
      // A refund that comes again, or that took a late reservation's hold, does not undo a charge.
      return { state: await recordedState(callId), available };
    },
  };
}
