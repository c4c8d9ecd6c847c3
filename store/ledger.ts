import { randomUUID } from 'node:crypto';
import type { Document } from 'mongodb';
import { LOW_CREDITS } from '../schemas/events.ts';
import type { Pool } from '../schemas/tool.ts';
import { createLanes } from './lanes.ts';
import type { AccountDoc, JournalEntry, Store } from './mongo.ts';
import { createProjection } from './projection.ts';

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

/** `held` is the only answer that lets the tool run; its nonce is what a charge must show. */
export type ReserveResult =
  | { status: 'held'; nonce: string; available: number }
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
 * Steps that one process has under way on one account: MongoDB tries a write that meets another on the same document
 * again and again, and with many at once that is a fifth of its work.
 */
const STEPS_AT_ONCE = 8;
/** How long an entry may wait to be copied together with others; who reads the books copies what waits. */
const COPY_AFTER_MS = 5;
/** An entry that is older than this was left by a process that died between the step and its copy. */
const LEFTOVER_AFTER_MS = 5000;
/** So many of them are copied with one settlement: on a slow day entries grow old by themselves, and many at once. */
const LEFTOVER_BATCH = 20;

const after = (balance: unknown, cost: unknown): Document => ({ $subtract: [balance, cost] });

const journalWhere = (condition: Document): Document => ({
  $filter: { input: '$journal', as: 'entry', cond: condition },
});
const entriesOf = (callId: string): Document => journalWhere({ $eq: ['$$entry.callId', callId] });
const leftovers = journalWhere({ $lt: ['$$entry.at', { $subtract: ['$$NOW', LEFTOVER_AFTER_MS] }] });

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
  const inLane = createLanes(STEPS_AT_ONCE);
  const tidying = new Set<string>();

  /**
   * Ends a call: removes its hold, moves the balance when charged, and writes the entry, all in one step. Null when
   * there is no such hold to charge, or when the journal says already how the call ended.
   */
  async function end(settlement: Settlement): Promise<AccountDoc | null> {
    const { callId, accountId, wanted } = settlement;
    const charged = wanted === 'charged';
    const hold = `$holds.${callId}`;
    const isHeld = { [`holds.${callId}`]: { $exists: true } };
    const filter = charged
      ? { _id: accountId, [`holds.${callId}.nonce`]: settlement.nonce }
      : { _id: accountId, $or: [isHeld, { 'journal.callId': { $ne: callId } }] };
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
      state: charged ? 'charged' : { $cond: [{ $eq: [{ $type: hold }, 'missing'] }, 'refused', 'refunded'] },
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
    return inLane(accountId, () =>
      accounts.findOneAndUpdate(
        filter,
        [
          {
            $set: {
              balance: balanceAfter,
              reserved: after('$reserved', cost),
              seq,
              running: poolCounts,
              journal: { $concatArrays: ['$journal', [entry]] },
            },
          },
          { $unset: `holds.${callId}` },
        ],
        {
          returnDocument: 'after',
          // A busy account's journal is long, and every settlement would carry all of it home.
          projection: {
            balance: 1,
            reserved: 1,
            journal: { $concatArrays: [entriesOf(callId), { $slice: [leftovers, LEFTOVER_BATCH] }] },
          },
        },
      ),
    );
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
    const row = await calls.findOne({ _id: callId }, { projection: { state: 1 } });
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

  /** Why a reservation did not match: it is already there, or it may not be. */
  async function whyNotHeld(call: Reservation): Promise<ReserveResult> {
    const account = await accounts.findOne({ _id: call.accountId });
    if (account === null) return { status: 'closed', code: null, available: 0 };
    const available = account.balance - account.reserved;
    const hold = account.holds[call.callId];
    if (hold !== undefined) return { status: 'held', nonce: hold.nonce, available };
    const ended = account.journal.find((entry) => entry.callId === call.callId);
    if (ended !== undefined) return { status: 'closed', code: ended.code, available };
    if (account.shortfall > 0) return { status: 'suspended', available };
    if (available < call.price) return { status: 'insufficient', available };
    if (call.maxRunning !== null && (account.running[call.pool] ?? 0) >= call.maxRunning)
      return { status: 'busy', available };
    await copyLeftovers(account._id, account.journal);
    await projection.flush();
    throw new Error('the account changed between two looks at it'); // the caller tries again
  }

  return {
    flush: projection.flush,
    dropStrayHold,

    async reserve(call) {
      const nonce = randomUUID();
      const { callId, accountId, tool, pool, price } = call;
      const running = `running.${pool}`;
      const account = await inLane(accountId, () =>
        accounts.findOneAndUpdate(
          {
            _id: accountId,
            [`holds.${callId}`]: { $exists: false },
            'journal.callId': { $ne: callId },
            shortfall: 0,
            ...(call.maxRunning === null ? {} : { [running]: { $not: { $gte: call.maxRunning } } }),
            [`journal.${JOURNAL_LIMIT}`]: { $exists: false },
            $expr: { $gte: [{ $subtract: ['$balance', '$reserved'] }, price] },
          },
          {
            $inc: { reserved: price, [running]: 1 },
            $set: { [`holds.${callId}`]: { nonce, tool, pool, cost: price, at: new Date() } },
          },
          { returnDocument: 'after', projection: { balance: 1, reserved: 1 } },
        ),
      );
      const result: ReserveResult =
        account === null
          ? await whyNotHeld(call)
          : { status: 'held', nonce, available: account.balance - account.reserved };

      if (result.status !== 'held') return result;
      // After the hold, never before: whoever ends the call from here on finds the hold and takes it.
      const row = await calls.findOne({ _id: callId }, { projection: { state: 1, code: 1 } });
      if (row?.state === 'running') return result;
      await dropStrayHold(accountId, callId, result.nonce);
      return { status: 'closed', code: row?.code ?? null, available: result.available + price };
    },

    async settle(settlement) {
      const { callId, accountId } = settlement;
      // The account before the call's row: an entry leaves the journal only after it stands in the row.
      const account =
        (await end(settlement)) ??
        (await accounts.findOne(
          { _id: accountId },
          { projection: { balance: 1, reserved: 1, journal: entriesOf(callId) } },
        ));
      if (account === null) throw new Error(`no account ${accountId}`);
      const available = account.balance - account.reserved;
      const entry = account.journal.find((candidate) => candidate.callId === callId);
      // A plain charge is on record in the account itself. A refund may set an Idempotency-Key free, and an event has to
      // be there before it is handed over: their callers wait for the copy.
      if (entry?.state === 'charged' && entry.events.length === 0) projection.copyLater({ accountId, entry });
      else if (entry !== undefined) await projection.copy([{ accountId, entry }]);
      await copyLeftovers(accountId, account.journal);
      if (entry?.state === 'charged')
        return { state: 'charged', available, ...(entry.events.length > 0 && { fired: true }) };
      // A refund that comes again, or that took a late reservation's hold, does not undo a charge.
      return { state: await recordedState(callId), available };
    },
  };
}
