import { createHash } from 'node:crypto';
import { ServiceError } from '../../schemas/errors.ts';
import { releaseClients } from '../keys/connections.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Actor, recordSecurity } from './securityLog.ts';

/**
 * Hash of an email address that an account had: recognises the address when it signs up again. It does not hide the address
 * from readers of the database who guess it.
 */
export const hashEmail = (email: string): string =>
  createHash('sha256').update(email.toLowerCase()).digest('base64url');

/** The account is kept for its ledger, with an address in a domain that does not exist (RFC 6761). */
const placeholder = (accountId: string): string => `${accountId.toLowerCase()}@closed.invalid`;

/**
 * Closes an account in one transaction: revokes its keys, and deletes its webhook endpoints, its automatic top-ups, the kept input and output of
 * its calls, the results for later calls, its files, jobs, batches and schedules, its refused requests, its users and their sessions, passwords, passkeys and second factors. The
 * account, its ledger, calls, events and invoices are kept without the email address. Running calls settle as usual, because holds do not
 * depend on keys.
 *
 * @returns the ids of the deleted endpoints, whose workflows must be woken
 * @throws ServiceError not_found if the account does not exist or is closed
 */
export async function closeAccount(
  store: Store,
  { accountId, email, actor }: { accountId: string; email: string; actor: Actor },
): Promise<string[]> {
  const { accounts, apiKeys, webhookEndpoints, notices, db } = store;
  return store.transaction(async (session) => {
    const { matchedCount } = await accounts.updateOne(
      { _id: accountId, email, closedAt: { $exists: false } },
      {
        $set: {
          closedAt: new Date(),
          closedEmail: hashEmail(email),
          email: placeholder(accountId),
          monthlyAllowance: 0,
        },
        // A running call keeps its content only if this flag is still set afterwards.
        $unset: { keepsContents: '', alerts: '', mailsAttention: '', topUpBelow: '', billing: '' },
      },
      { session },
    );
    if (matchedCount === 0) throw new ServiceError('not_found');
    await apiKeys.updateMany(
      { accountId, revokedAt: null },
      { $set: { revokedAt: new Date() }, $unset: { previous: '' } },
      { session },
    );
    const filter = { accountId, client: { $exists: true } };
    const connections = await apiKeys.distinct('_id', filter, { session });
    for (const tokens of [store.oauthAccessTokens, store.oauthRefreshTokens, store.oauthConsents])
      await tokens.deleteMany({ referenceId: { $in: connections } }, { session });
    await releaseClients(store, await apiKeys.distinct('client.id', filter, { session }), session);
    const endpoints = await webhookEndpoints
      .find({ accountId }, { session })
      .project<{ _id: string }>({ _id: 1 })
      .toArray();
    await webhookEndpoints.deleteMany({ accountId }, { session });
    await notices.deleteMany({ accountId }, { session });
    await store.autoTopUps.deleteOne({ _id: accountId }, { session });
    await store.callContents.deleteMany({ accountId }, { session });
    // Their contents, inputs and results expire.
    await store.files.deleteMany({ accountId }, { session });
    await store.reusableResults.deleteMany({ accountId }, { session });
    await store.jobs.deleteMany({ accountId }, { session });
    await store.batches.deleteMany({ accountId }, { session });
    await store.batchCallbacks.deleteMany({ accountId }, { session });
    // The sweeper deletes the clocks of schedules, and then the schedules.
    await store.schedules.updateMany(
      { accountId, deletedAt: { $exists: false } },
      {
        $set: {
          deletedAt: new Date(),
          unsyncedSince: new Date(),
          sealedTarget: '',
          sealedInputs: null,
          last: null,
          name: '',
        },
        $unset: { idempotency: '' },
        $inc: { version: 1 },
      },
      { session },
    );
    await store.scheduleRuns.deleteMany({ accountId }, { session });
    await store.scheduleCallbacks.deleteMany({ accountId }, { session });
    await store.callbackSecrets.deleteOne({ _id: accountId }, { session });
    await store.refusals.deleteMany({ accountId }, { session });

    // better-auth owns these collections.
    const users = await db.collection('users').find({ accountId }, { session }).project({ _id: 1 }).toArray();
    const ids = users.map(({ _id }) => _id);
    for (const name of ['sessions', 'credentials', 'twoFactors', 'passkeys'])
      await db.collection(name).deleteMany({ userId: { $in: ids } }, { session });
    // The value is the id of a user, or JSON with the id and the email address.
    for (const id of ids)
      await db.collection('verifications').deleteMany({ value: { $regex: String(id) } }, { session });
    await db.collection('users').deleteMany({ accountId }, { session });
    // Subjects of these entries are email addresses.
    await store.securityEvents.updateMany(
      { accountId, kind: { $in: ['email_change_requested', 'email_changed'] } },
      { $set: { subject: '' } },
      { session },
    );
    await recordSecurity(store, { accountId, kind: 'account_closed', actor }, session);
    return endpoints.map(({ _id }) => _id);
  });
}
