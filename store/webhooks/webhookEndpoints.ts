import { randomUUID } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { EventKind } from '../../schemas/events.ts';
import { generateSigningSecret, type SigningSecrets } from '../../schemas/webhookSignature.ts';
import { type Actor, OPERATOR, recordSecurity } from '../accounts/securityLog.ts';
import { createdNow, type Store } from '../mongo/mongo.ts';
import type { WebhookEndpointDoc } from './webhookDocs.ts';

/** Maximum number of webhook endpoints per account. */
export const MAX_ENDPOINTS = 10;
/** How long the old and the new secret are both in use after a rotation. */
export const ROTATION_MS = 24 * 3_600_000;

interface EndpointChange {
  url?: string;
  events?: EventKind[] | null;
}

/**
 * The changes that an owner can make to webhook endpoints. Each function throws `not_found` for endpoints of other
 * accounts. Changes of secrets also write to the security log; `actor` is by default an operator at the command line.
 */
export interface WebhookEndpoints {
  /**
   * @throws ServiceError limit_reached; not_found if the account does not exist or is closed
   * @throws a duplicate-key error (`isDuplicate`) if the id is in use
   */
  create(endpoint: {
    /** Default: a new random id. */
    id?: string;
    accountId: string;
    url: string;
    events: EventKind[] | null;
  }): Promise<{ row: WebhookEndpointDoc; secret: string }>;
  find(accountId: string, id: string): Promise<WebhookEndpointDoc>;
  change(accountId: string, id: string, change: EndpointChange): Promise<WebhookEndpointDoc>;
  /** Deletes an endpoint. Its workflow then marks undelivered events as failed. */
  remove(accountId: string, id: string): Promise<void>;
  /** Adds a new secret, which replaces the old one after a day. @throws ServiceError rotation_pending, unless forced */
  rotateSecret(accountId: string, id: string, force: boolean, actor?: Actor): Promise<string>;
  /** Replaces the old secret by the new one now; no-op if there is no new secret. */
  activateSecret(accountId: string, id: string, actor?: Actor): Promise<WebhookEndpointDoc>;
}

const PURPOSE = 'webhook-secret';

/** Encrypts a signing secret for storage. It can be decrypted only with the id of its endpoint. */
export const sealSecret = (keyring: Keyring, endpointId: string, secret: string): string =>
  keyring.seal(PURPOSE, endpointId, Buffer.from(secret)).toString('base64');

export const openSecret = (keyring: Keyring, endpointId: string, sealed: string): string =>
  keyring.open(PURPOSE, endpointId, Buffer.from(sealed, 'base64')).toString();

/**
 * Returns the secrets that sign a delivery at `now`. During a rotation `X-Service-Signature` uses only the old secret
 * (`own`) and `webhook-signature` both (`all`).
 */
export function signingSecrets(
  keyring: Keyring,
  { _id, secret, next }: Pick<WebhookEndpointDoc, '_id' | 'secret' | 'next'>,
  now: Date,
): SigningSecrets {
  const open = (sealed: string) => openSecret(keyring, _id, sealed);
  const own = open(next === null || next.from > now ? secret : next.secret);
  return { own, all: next === null || next.from <= now ? [own] : [own, open(next.secret)] };
}

export function createWebhookEndpoints(store: Store, keyring: Keyring): WebhookEndpoints {
  const { webhookEndpoints } = store;

  async function find(accountId: string, id: string): Promise<WebhookEndpointDoc> {
    const row = await webhookEndpoints.findOne({ _id: id, accountId });
    if (row === null) throw new ServiceError('not_found');
    return row;
  }

  /** Makes the new secret the current one, unless another rotation has replaced it in the meantime. */
  async function promote({ _id, next }: WebhookEndpointDoc): Promise<void> {
    if (next === null) return;
    await webhookEndpoints.updateOne(
      { _id, 'next.secret': next.secret },
      { $set: { secret: next.secret, next: null } },
    );
  }

  /** Writes to the security log. The path and query of a URL are left out, because they can contain a secret. */
  const report = (
    { _id, accountId, url }: WebhookEndpointDoc,
    kind: 'webhook_secret_rotated' | 'webhook_secret_activated',
    actor: Actor,
  ): Promise<void> =>
    recordSecurity(store, { accountId, kind, actor, subject: `${new URL(url).host} (${_id})` });

  return {
    find,

    async create({ id = `whe_${randomUUID()}`, accountId, url, events }) {
      const secret = generateSigningSecret();
      const newRow: Omit<WebhookEndpointDoc, 'createdAt'> = {
        _id: id,
        accountId,
        url,
        events,
        secret: sealSecret(keyring, id, secret),
        next: null,
        state: 'active',
        failures: 0,
        epoch: 0,
        notBefore: null,
        disabledAt: null,
        turn: 0,
      };
      const row = await store.transaction(async (session) => {
        // Forces concurrent creations to conflict, so that the count below stays exact.
        const { matchedCount } = await store.accounts.updateOne(
          { _id: accountId, closedAt: { $exists: false } },
          { $inc: { endpointsMade: 1 } },
          { session },
        );
        if (matchedCount === 0) throw new ServiceError('not_found');
        // The insert precedes the count, so that a repeated creation fails with a duplicate-key error and not with
        // `limit_reached`.
        const created = await webhookEndpoints.findOneAndUpdate(
          { _id: id, createdAt: { $exists: false } },
          createdNow(newRow),
          { session, upsert: true, returnDocument: 'after' },
        );
        if (created === null) throw new Error('the endpoint was not created');
        if ((await webhookEndpoints.countDocuments({ accountId }, { session })) > MAX_ENDPOINTS)
          throw new ServiceError('limit_reached', {
            detail: `The account has reached its limit of ${MAX_ENDPOINTS} webhook endpoints. Delete one first.`,
          });
        return created;
      });
      return { row, secret };
    },

    async change(accountId, id, change) {
      const row = await webhookEndpoints.findOneAndUpdate(
        { _id: id, accountId },
        { $set: change },
        { returnDocument: 'after' },
      );
      if (row === null) throw new ServiceError('not_found');
      return row;
    },

    async remove(accountId, id) {
      const { deletedCount } = await webhookEndpoints.deleteOne({ _id: id, accountId });
      if (deletedCount === 0) throw new ServiceError('not_found');
    },

    async rotateSecret(accountId, id, force, actor = OPERATOR) {
      const secret = generateSigningSecret();
      const now = Date.now();
      const old = await find(accountId, id);
      if (old.next !== null && old.next.from.getTime() <= now) await promote(old);
      const { matchedCount } = await webhookEndpoints.updateOne(
        { _id: id, accountId, ...(force ? {} : { next: null }) },
        { $set: { next: { secret: sealSecret(keyring, id, secret), from: new Date(now + ROTATION_MS) } } },
      );
      if (matchedCount > 0) {
        await report(old, 'webhook_secret_rotated', actor);
        return secret;
      }
      await find(accountId, id);
      throw new ServiceError('rotation_pending');
    },

    async activateSecret(accountId, id, actor = OPERATOR) {
      const row = await find(accountId, id);
      await promote(row);
      if (row.next !== null) await report(row, 'webhook_secret_activated', actor);
      return find(accountId, id);
    },
  };
}
