import type { ClientSession } from 'mongodb';
import type { Pack } from '../../schemas/formats/packs.ts';
import { monthOf } from '../ledger/allowance.ts';
import type { Store } from '../mongo/mongo.ts';
import type { AutoTopUpDoc, SavedCard, TopUpFailure, TopUpRunDoc } from './topUpRunDocs.ts';

/** Number of failed payments in a row after which automatic top-ups are switched off. */
export const MAX_DECLINES = 3;

/**
 * How long a claim on a top-up lasts; longer than one attempt. If the process that claimed it reports nothing by then, another
 * one continues.
 */
const LEASE_MS = 120_000;
/** Milliseconds to wait after each attempt that had no result; then the last one again and again. */
const RETRY_MS = [60_000, 300_000, 1_800_000, 3_600_000] as const;

/** Terms of automatic top-ups, to which an owner agrees. */
export type Agreement = Pick<AutoTopUpDoc, 'reference' | 'below' | 'pack' | 'monthlyLimit'>;

/** The automatic top-ups of accounts. */
export interface TopUpRuns {
  /** Returns the settings of an account; null if it has never had any. */
  settings(accountId: string): Promise<AutoTopUpDoc | null>;
  /** Returns what the top-ups of this month (UTC) cost, including running ones, in hundredths of the currency unit. */
  spentInMonth(accountId: string): Promise<number>;
  /**
   * Stores what the owner agrees to. Switches it on at once if a card is saved or none is needed, else after `cardSaved`. No-op if
   * the account is closed.
   *
   * @param needsCard false in the test checkout
   */
  agree(accountId: string, agreement: Agreement, needsCard: boolean): Promise<void>;
  /** Saves a card, and switches on what waits for it. No-op if the owner has agreed to something else since. */
  cardSaved(accountId: string, reference: string, card: SavedCard): Promise<void>;
  switchOff(accountId: string): Promise<void>;
  /** Claims a crossing that is due for this process; null if there is none. */
  claim(): Promise<TopUpRunDoc | null>;
  /**
   * Decides whether a payment is made for a crossing, once. The ceiling holds for concurrent decisions too.
   *
   * @param packs packs on sale
   */
  decide(topUp: TopUpRunDoc, packs: readonly Pack[], needsCard: boolean): Promise<TopUpRunDoc>;
  /** Schedules the next attempt. @param paymentId id of the payment, if it is known by now */
  postpone(topUp: TopUpRunDoc, paymentId?: string): Promise<void>;
  /** Ends a top-up for which no payment was made before the owner switched them off. */
  skip(topUp: TopUpRunDoc): Promise<void>;
  /** Ends a top-up whose payment was recorded. Can be repeated. */
  paid(topUp: TopUpRunDoc, paymentId: string): Promise<void>;
  /**
   * Ends a top-up whose payment failed, once, tells the owner, and switches top-ups off after `MAX_DECLINES` in a row.
   */
  failed(topUp: TopUpRunDoc, reason: TopUpFailure): Promise<void>;
}

export function createTopUpRuns(store: Store): TopUpRuns {
  const { accounts, autoTopUps, topUpRuns, notices } = store;

  const spentIn = async (accountId: string, month: string, session?: ClientSession): Promise<number> => {
    const [sum] = await topUpRuns
      .aggregate<{ spent: number }>(
        [
          { $match: { accountId, 'payment.month': month, state: { $in: ['charging', 'paid'] } } },
          { $group: { _id: null, spent: { $sum: '$payment.pack.amount' } } },
        ],
        session === undefined ? {} : { session },
      )
      .toArray();
    return sum?.spent ?? 0;
  };

  /**
   * Changes the settings of an account, and the threshold that the ledger reads. If the account is closed, it has no settings
   * afterwards.
   *
   * @param steps returns the new settings; null: they are as before
   */
  const change = (
    accountId: string,
    steps: (session: ClientSession) => Promise<Pick<AutoTopUpDoc, 'state' | 'below'> | null>,
  ): Promise<void> =>
    store.transaction(async (session) => {
      const settings = await steps(session);
      if (settings === null) return;
      const { matchedCount } = await accounts.updateOne(
        { _id: accountId, closedAt: { $exists: false } },
        settings.state === 'on'
          ? { $set: { topUpBelow: settings.below } }
          : { $unset: { topUpBelow: '' as const } },
        { session },
      );
      if (matchedCount === 0) await autoTopUps.deleteOne({ _id: accountId }, { session });
    });

  /** Stores a notice for the owner in the transaction of what it tells, if the owner wants such mails. */
  async function tell(
    { _id, accountId }: Pick<TopUpRunDoc, '_id' | 'accountId'>,
    { reason, isOff }: { reason: TopUpFailure; isOff: boolean },
    session: ClientSession,
  ): Promise<void> {
    const wanted = { _id: accountId, mailsAttention: true as const };
    if ((await accounts.countDocuments(wanted, { session })) === 0) return;
    const at = new Date();
    await notices.updateOne(
      { _id },
      { $setOnInsert: { kind: 'topUp', accountId, at, reason, isOff, tries: 0, dueAt: at } },
      { session, upsert: true },
    );
  }

  async function switchOffWithin(
    accountId: string,
    session: ClientSession,
    more: Partial<Pick<AutoTopUpDoc, 'failure'>> = {},
  ): Promise<void> {
    await autoTopUps.updateOne({ _id: accountId }, { $set: { state: 'off', ...more } }, { session });
    await accounts.updateOne({ _id: accountId }, { $unset: { topUpBelow: '' } }, { session });
  }

  /** Why no payment is made for a crossing; null: one is made. */
  async function objection(
    settings: AutoTopUpDoc | null,
    { accountId }: TopUpRunDoc,
    { packs, needsCard, month }: { packs: readonly Pack[]; needsCard: boolean; month: string },
    session: ClientSession,
  ): Promise<NonNullable<TopUpRunDoc['reason']> | null> {
    const account = await accounts.findOne(
      { _id: accountId, closedAt: { $exists: false }, suspension: { $exists: false } },
      { session, projection: { balance: 1 } },
    );
    if (account === null || settings?.state !== 'on') return 'off';
    const { below, pack, monthlyLimit, card } = settings;
    if (account.balance >= below) return 'recovered';
    if (needsCard && card === null) return 'card';
    const isOnSale = packs.some(
      ({ credits, amount, currency }) =>
        credits === pack.credits && amount === pack.amount && currency === pack.currency,
    );
    if (!isOnSale) return 'pack';
    const spent = await spentIn(accountId, month, session);
    return spent + pack.amount > monthlyLimit ? 'limit' : null;
  }

  return {
    settings: (accountId) => autoTopUps.findOne({ _id: accountId }),
    spentInMonth: (accountId) => spentIn(accountId, monthOf(new Date())),

    agree: (accountId, agreement, needsCard) =>
      change(accountId, async (session) => {
        const known = await autoTopUps.findOne({ _id: accountId }, { session });
        const card = known?.card ?? null;
        const state: AutoTopUpDoc['state'] = needsCard && card === null ? 'pending' : 'on';
        const more = { state, card, declines: 0, failure: null, decided: known?.decided ?? 0 };
        const settings = { ...agreement, ...more };
        await autoTopUps.replaceOne({ _id: accountId }, settings, { session, upsert: true });
        return settings;
      }),

    cardSaved: (accountId, reference, card) =>
      change(accountId, (session) =>
        autoTopUps.findOneAndUpdate(
          { _id: accountId, reference },
          [
            {
              $set: {
                card: { $literal: card },
                state: { $cond: [{ $eq: ['$state', 'pending'] }, 'on', '$state'] },
              },
            },
          ],
          { session, returnDocument: 'after' },
        ),
      ),

    switchOff: (accountId) =>
      store.transaction((session) => switchOffWithin(accountId, session, { failure: null })),

    claim: () =>
      topUpRuns.findOneAndUpdate(
        { dueAt: { $lte: new Date() } },
        { $set: { dueAt: new Date(Date.now() + LEASE_MS) }, $inc: { tries: 1 } },
        { sort: { dueAt: 1 }, returnDocument: 'after' },
      ),

    decide: (topUp, packs, needsCard) =>
      store.transaction(async (session) => {
        const { _id, accountId } = topUp;
        const settings = await autoTopUps.findOneAndUpdate(
          { _id: accountId },
          { $inc: { decided: 1 } },
          { session, returnDocument: 'after' },
        );
        const current = await topUpRuns.findOne({ _id }, { session });
        if (current?.state !== 'due') return current ?? topUp;
        const at = new Date();
        const month = monthOf(at);
        const reason = await objection(settings, topUp, { packs, needsCard, month }, session);
        if (reason === null && settings !== null) {
          const { pack, card } = settings;
          const changes = { state: 'charging', payment: { pack, card, month, at } } as const;
          await topUpRuns.updateOne({ _id }, { $set: changes }, { session });
          return { ...current, ...changes };
        }
        const changes = { state: 'skipped', dueAt: null, reason: reason ?? 'off' } as const;
        await topUpRuns.updateOne({ _id }, { $set: changes }, { session });
        if (reason === 'limit' || reason === 'pack' || reason === 'card') {
          await autoTopUps.updateOne({ _id: accountId }, { $set: { failure: { at, reason } } }, { session });
          const isOff = reason !== 'limit';
          if (isOff) await switchOffWithin(accountId, session);
          // The owner gets one mail a month about the ceiling.
          const id = reason === 'limit' ? `topup-limit ${accountId} ${month}` : _id;
          await tell({ _id: id, accountId }, { reason, isOff }, session);
        }
        return { ...current, ...changes };
      }),

    async postpone({ _id, tries }, paymentId) {
      const wait = RETRY_MS[Math.min(tries, RETRY_MS.length) - 1] ?? RETRY_MS[0];
      await topUpRuns.updateOne(
        { _id, state: { $in: ['due', 'charging'] } },
        { $set: { dueAt: new Date(Date.now() + wait), ...(paymentId !== undefined && { paymentId }) } },
      );
    },

    async skip({ _id }) {
      const changes = { state: 'skipped', reason: 'off', dueAt: null } as const;
      await topUpRuns.updateOne({ _id, state: 'charging' }, { $set: changes });
    },

    paid: ({ _id, accountId }, paymentId) =>
      store.transaction(async (session) => {
        await topUpRuns.updateOne({ _id }, { $set: { state: 'paid', paymentId, dueAt: null } }, { session });
        const news = { $set: { declines: 0, failure: null } };
        await autoTopUps.updateOne({ _id: accountId }, news, { session });
      }),

    failed: ({ _id, accountId }, reason) =>
      store.transaction(async (session) => {
        const { matchedCount } = await topUpRuns.updateOne(
          { _id, state: 'charging' },
          { $set: { state: 'failed', reason, dueAt: null } },
          { session },
        );
        if (matchedCount === 0) return;
        const settings = await autoTopUps.findOneAndUpdate(
          { _id: accountId },
          { $inc: { declines: 1 }, $set: { failure: { at: new Date(), reason } } },
          { session, returnDocument: 'after' },
        );
        if (settings === null) return;
        const isOff = settings.declines >= MAX_DECLINES;
        if (isOff) await switchOffWithin(accountId, session);
        await tell({ _id, accountId }, { reason, isOff }, session);
      }),
  };
}
