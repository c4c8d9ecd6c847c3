import { randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import { ServiceError } from '../../schemas/errors.ts';
import { assertSound } from '../ledger/invariant.ts';
import { releaseSpend } from '../ledger/keySpend.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import { newEvent, storeEvent } from '../webhooks/events.ts';
import {
  ACCOUNT_PROJECTION,
  type Account,
  type AccountDoc,
  type BillingDetails,
  type EntryDoc,
  type GrantDoc,
  type GrantOperator,
  type SpendPeriod,
} from './accountDocs.ts';
import { hashEmail } from './closeAccount.ts';

/**
 * A change of an account's credits other than a charge or the sign-up credits: a purchase, an allowance or an
 * adjustment.
 */
interface Grant {
  accountId: string;
  type: Exclude<GrantDoc['type'], 'signup'>;
  /** Credits to add, or to deduct if negative. */
  amount: number;
  /**
   * Identifies the grant among those of its account and type: the payment id, the month of the allowance, or the
   * operator's reference. A grant whose reference is known is not applied again, so grants can be retried.
   */
  reference: string;
  reason: string | null;
  /** Only for adjustments by an operator. */
  operator?: GrantOperator;
  /** The charged call whose price the grant returns: it also gives back the budget of the call's API key. */
  returned?: { callId: string; period: SpendPeriod };
}

export interface Granted {
  balance: number;
  shortfall: number;
  /**
   * Amount stored for this reference. It differs from `Grant.amount` if an earlier grant used the reference with
   * another amount.
   */
  requested: number;
}

export interface Accounts {
  find(accountId: string): Promise<Account | null>;
  findByEmail(email: string): Promise<Account | null>;
  /** Returns the email addresses of accounts, by id. */
  emailsOf(accountIds: readonly string[]): Promise<Map<string, string>>;
  /** Whether an account had this email address before it was closed or its address was changed. */
  isFormerEmail(email: string): Promise<boolean>;
  /**
   * Creates an account with its sign-up credits and fires no event. With a given `id` the call can be repeated: it
   * then returns the existing account. @throws ServiceError limit_reached: another account uses the email address
   */
  create(account: { id?: string; email: string; credits: number }): Promise<AccountDoc>;
  /**
   * Adds credits and creates a `credits.granted` event; an outstanding shortfall is then deducted from the added
   * credits. A negative amount takes at most the available credits, creates no event, and records the rest as
   * shortfall, which suspends the account.
   * @throws ServiceError not_found
   */
  grant(grant: Grant): Promise<Granted>;
  /**
   * Like `grant`, but within the caller's transaction. A reference that was used before makes the transaction fail,
   * so the caller must know that the reference is new.
   */
  grantWithin(session: ClientSession, grant: Grant): Promise<Granted>;
  /** @throws ServiceError not_found, also for closed accounts */
  setMonthlyAllowance(accountId: string, credits: number): Promise<AccountDoc>;
  /**
   * Adds a balance below which the owner gets an email; no-op if the account has it.
   *
   * @throws ServiceError limit_reached
   */
  addAlert(accountId: string, threshold: number): Promise<void>;
  /** No-op if the account does not have the threshold. */
  removeAlert(accountId: string, threshold: number): Promise<void>;
  /** Sets whether the owner gets an email when requests are refused and when a key nears its budget. */
  setAttentionMails(accountId: string, mails: boolean): Promise<void>;
  /** Sets the billing details, which later invoices copy. No-op if the account is closed. */
  setBilling(accountId: string, billing: BillingDetails): Promise<void>;
}

/** Maximum number of alerts of an account. */
const MAX_ALERTS = 10;

/** Id of the document of a grant: the same grant is applied once. */
export const grantId = ({
  accountId,
  type,
  reference,
}: Pick<Grant, 'accountId' | 'type' | 'reference'>): string => `${accountId}:${type}:${reference}`;

export function createAccounts(store: Store): Accounts {
  const { accounts, entries, grants } = store;

  /**
   * Adds `line.amount` to the balance and `shortfall` to the account's shortfall, and inserts the ledger entry with
   * the next number.
   */
  async function post(
    session: ClientSession,
    line: Pick<EntryDoc, 'accountId' | 'type' | 'amount' | 'source' | 'reference' | 'operator'>,
    shortfall: number,
  ): Promise<AccountDoc> {
    const account = await accounts.findOneAndUpdate(
      { _id: line.accountId },
      { $inc: { balance: line.amount, seq: 1, shortfall } },
      { session, returnDocument: 'after' },
    );
    if (account === null) throw new ServiceError('not_found');
    if (line.amount < 0) assertSound(account);
    await entries.insertOne(
      {
        _id: `ent_${randomUUID()}`,
        accountId: line.accountId,
        seq: account.seq,
        at: new Date(),
        type: line.type,
        amount: line.amount,
        balanceAfter: account.balance,
        callId: null,
        tool: null,
        source: line.source,
        reference: line.reference,
        ...(line.operator !== undefined && { operator: line.operator }),
      },
      { session },
    );
    return account;
  }

  async function apply(session: ClientSession, grant: Grant): Promise<Granted> {
    const { accountId, type, amount, reference, reason, returned } = grant;
    const by = grant.operator === undefined ? {} : { operator: grant.operator };
    if (!Number.isSafeInteger(amount) || amount === 0)
      throw new RangeError('credits must be a whole number other than 0');
    const id = grantId(grant);
    // The first operation of the transaction is a write, so that ledger steps of calls wait until the transaction
    // ends. If it only read, steps on a busy account would change the document and restart the transaction
    // repeatedly.
    const before = await accounts.findOneAndUpdate(
      { _id: accountId },
      { $set: { grantedAt: new Date() } },
      { session, returnDocument: 'after' },
    );
    if (before === null) throw new ServiceError('not_found');
    // Less than nothing would be available to take.
    if (amount < 0) assertSound(before);
    // Fails with a duplicate-key error if the grant was applied before; concurrent transactions for the same grant
    // conflict on this insert.
    await grants.insertOne(
      {
        _id: id,
        accountId,
        at: new Date(),
        type,
        requested: amount,
        applied: 0,
        shortfall: 0,
        reason,
        ...by,
      },
      { session },
    );
    const taken = amount < 0 ? Math.min(-amount, before.balance - before.reserved) : 0;
    const applied = amount < 0 ? 0 - taken : amount; // `0 - taken`, because `-taken` could be -0
    const missing = amount < 0 ? -amount - taken : 0;
    const line = { accountId, source: type, reference, ...by };

    let account = before;
    if (applied !== 0) account = await post(session, { ...line, type, amount: applied }, missing);
    else if (missing > 0)
      await accounts.updateOne({ _id: accountId }, { $inc: { shortfall: missing } }, { session });
    const recovered = amount > 0 ? Math.min(amount, before.shortfall) : 0;
    if (recovered > 0)
      account = await post(session, { ...line, type: 'recovery', amount: -recovered }, -recovered);

    await grants.updateOne({ _id: id }, { $set: { applied, shortfall: missing } }, { session });
    if (returned !== undefined) {
      const { callId, period } = returned;
      await accounts.updateOne(
        { _id: accountId },
        [
          {
            $set: {
              keySpend: releaseSpend({ $literal: period }, amount),
              // The entry of the charge has been copied. It would still count its price to the key.
              journal: {
                $filter: { input: '$journal', as: 'entry', cond: { $ne: ['$$entry.callId', callId] } },
              },
            },
          },
        ],
        { session },
      );
      await store.calls.updateOne({ _id: callId }, { $unset: { period: '' } }, { session });
    }
    if (amount > 0)
      await storeEvent(
        store,
        newEvent(accountId, 'credits.granted', {
          balance: account.balance,
          amount,
          source: type,
          reference,
        }),
        session,
      );
    return {
      balance: account.balance,
      shortfall: before.shortfall + missing - recovered,
      requested: amount,
    };
  }

  return {
    find: (accountId) => accounts.findOne<Account>({ _id: accountId }, { projection: ACCOUNT_PROJECTION }),
    findByEmail: (email) =>
      accounts.findOne<Account>({ email: email.toLowerCase() }, { projection: ACCOUNT_PROJECTION }),

    async emailsOf(accountIds) {
      const found = await accounts
        .find({ _id: { $in: [...accountIds] } })
        .project<Pick<AccountDoc, '_id' | 'email'>>({ email: 1 })
        .toArray();
      return new Map(found.map(({ _id, email }) => [_id, email]));
    },

    async isFormerEmail(email) {
      const hash = hashEmail(email);
      const found = await accounts.findOne({ $or: [{ closedEmail: hash }, { formerEmails: hash }] });
      return found !== null;
    },

    async create({ id = `acc_${randomUUID()}`, email, credits }) {
      const account: AccountDoc = {
        _id: id,
        email: email.toLowerCase(),
        createdAt: new Date(),
        balance: credits,
        reserved: 0,
        shortfall: 0,
        seq: credits > 0 ? 1 : 0,
        monthlyAllowance: 0,
        keysMade: 0,
        running: {},
        holds: {},
        journal: [],
      };
      try {
        await store.transaction(async (session) => {
          await accounts.insertOne(account, { session });
          if (credits === 0) return;
          await entries.insertOne(
            {
              _id: `ent_${randomUUID()}`,
              accountId: account._id,
              seq: 1,
              at: account.createdAt,
              type: 'signup',
              amount: credits,
              balanceAfter: credits,
              callId: null,
              tool: null,
              source: 'signup',
              reference: null,
            },
            { session },
          );
        });
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        const existing = await accounts.findOne({ _id: id });
        if (existing !== null) return existing;
        throw new ServiceError('limit_reached', {
          detail: 'An account with this email address already exists.',
          cause: error,
        });
      }
      return account;
    },

    grantWithin: apply,

    async setMonthlyAllowance(accountId, monthlyAllowance) {
      const account = await accounts.findOneAndUpdate(
        { _id: accountId, closedAt: { $exists: false } },
        { $set: { monthlyAllowance } },
        { returnDocument: 'after' },
      );
      if (account === null) throw new ServiceError('not_found');
      return account;
    },

    async addAlert(accountId, threshold) {
      // The limit is part of the condition, so that concurrent requests cannot exceed it.
      const { matchedCount } = await accounts.updateOne(
        {
          _id: accountId,
          $or: [{ alerts: threshold }, { [`alerts.${MAX_ALERTS - 1}`]: { $exists: false } }],
        },
        { $addToSet: { alerts: threshold } },
      );
      if (matchedCount === 0)
        throw new ServiceError('limit_reached', {
          detail: `The account has reached its limit of ${MAX_ALERTS} alerts. Remove one first.`,
        });
    },

    async removeAlert(accountId, threshold) {
      await accounts.updateOne({ _id: accountId }, { $pull: { alerts: threshold } });
    },

    async setAttentionMails(accountId, mails) {
      const update = mails
        ? { $set: { mailsAttention: true as const } }
        : { $unset: { mailsAttention: '' as const } };
      await accounts.updateOne({ _id: accountId }, update);
    },

    async setBilling(accountId, billing) {
      await accounts.updateOne({ _id: accountId, closedAt: { $exists: false } }, { $set: { billing } });
    },

    async grant(grant) {
      try {
        return await store.transaction((session) => apply(session, grant));
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        const [account, record] = await Promise.all([
          accounts.findOne({ _id: grant.accountId }),
          grants.findOne({ _id: grantId(grant) }),
        ]);
        if (account === null || record === null) throw new ServiceError('not_found', { cause: error });
        const { requested } = record;
        return { balance: account.balance, shortfall: account.shortfall, requested };
      }
    },
  };
}
