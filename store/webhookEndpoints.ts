import { randomUUID } from 'node:crypto';
import { ServiceError } from '../schemas/errors.ts';
import type { EventKind } from '../schemas/events.ts';
import { generateSigningSecret, type SigningSecrets } from '../schemas/webhookSignature.ts';
import type { Keyring } from './keyring.ts';
import type { Store } from './mongo.ts';
import type { WebhookEndpointDoc } from './webhookDocs.ts';

/** Endpoints an account may have. */
export const MAX_ENDPOINTS = 10;
/** How long an old and a new secret are both in use. */
const ROTATION_MS = 24 * 3_600_000;

export interface EndpointChange {
  url?: string;
  events?: EventKind[] | null;
}

/** What an owner decides about endpoints; another account's are `not_found`. */
export interface WebhookEndpoints {
  /**
   * @throws ServiceError limit_reached, not_found: no such account
   * @throws what `isDuplicate` recognises: there is an endpoint of this id
   */
  create(endpoint: {
    /** Default: a new one. */
    id?: string;
    accountId: string;
    url: string;
    events: EventKind[] | null;
  }): Promise<{ row: WebhookEndpointDoc; secret: string }>;
  find(accountId: string, id: string): Promise<WebhookEndpointDoc>;
  change(accountId: string, id: string, change: EndpointChange): Promise<WebhookEndpointDoc>;
  /** Its workflow ends what is still to be delivered. */
  remove(accountId: string, id: string): Promise<void>;
  /** A new secret beside the old one, for a day. @throws ServiceError rotation_pending, unless forced */
  rotateSecret(accountId: string, id: string, force: boolean): Promise<string>;
  /** From now on the new secret alone; where there is none, nothing changes. */
  activateSecret(accountId: string, id: string): Promise<WebhookEndpointDoc>;
}

const PURPOSE = 'webhook-secret';

/** What a row keeps of a secret; it opens for its endpoint alone. */
export const sealSecret = (keyring: Keyring, endpointId: string, secret: string): string =>
  keyring.seal(PURPOSE, endpointId, Buffer.from(secret)).toString('base64');

export const openSecret = (keyring: Keyring, endpointId: string, sealed: string): string =>
  keyring.open(PURPOSE, endpointId, Buffer.from(sealed, 'base64')).toString();

/** What signs a delivery of this endpoint now: while it is rotated the old secret, and for Standard Webhooks both. */
export function signingSecrets(
  keyring: Keyring,
  { _id, secret, next }: Pick<WebhookEndpointDoc, '_id' | 'secret' | 'next'>,
  now: Date,
): SigningSecrets {
  const open = (sealed: string) => openSecret(keyring, _id, sealed);
  if (next === null) return { own: open(secret), all: [open(secret)] };
  if (next.from <= now) return { own: open(next.secret), all: [open(next.secret)] };
  return { own: open(secret), all: [open(secret), open(next.secret)] };
}

export function createWebhookEndpoints(store: Store, keyring: Keyring): WebhookEndpoints {
  const { webhookEndpoints } = store;

  async function find(accountId: string, id: string): Promise<WebhookEndpointDoc> {
    const row = await webhookEndpoints.findOne({ _id: id, accountId });
    if (row === null) throw new ServiceError('not_found');
    return row;
  }

  /** A newer secret takes the place of the old one, unless it was replaced meanwhile. */
  async function promote({ _id, next }: WebhookEndpointDoc): Promise<void> {
    if (next === null) return;
    await webhookEndpoints.updateOne(
      { _id, 'next.secret': next.secret },
      { $set: { secret: next.secret, next: null } },
    );
  }

  return {
    find,

    async create({ id = `whe_${randomUUID()}`, accountId, url, events }) {
      const secret = generateSigningSecret();
      const row: WebhookEndpointDoc = {
        _id: id,
        accountId,
        url,
        events,
        createdAt: new Date(),
        secret: sealSecret(keyring, id, secret),
        next: null,
        state: 'active',
        failures: 0,
        epoch: 0,
        notBefore: null,
        disabledAt: null,
        turn: 0,
      };
      await store.transaction(async (session) => {
        // Writing the account makes two creations at once meet, so that the count below is the truth.
        const { matchedCount } = await store.accounts.updateOne(
          { _id: accountId },
          { $inc: { endpointsMade: 1 } },
          { session },
        );
        if (matchedCount === 0) throw new ServiceError('not_found');
        // Before the count: an endpoint that is there already is none too many.
        await webhookEndpoints.insertOne(row, { session });
        if ((await webhookEndpoints.countDocuments({ accountId }, { session })) > MAX_ENDPOINTS)
          throw new ServiceError('limit_reached', {
            detail: `An account may have ${MAX_ENDPOINTS} webhook endpoints.`,
          });
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

    async rotateSecret(accountId, id, force) {
      const secret = generateSigningSecret();
      const now = Date.now();
      const old = await find(accountId, id);
      if (old.next !== null && old.next.from.getTime() <= now) await promote(old);
      const { matchedCount } = await webhookEndpoints.updateOne(
        { _id: id, accountId, ...(force ? {} : { next: null }) },
        { $set: { next: { secret: sealSecret(keyring, id, secret), from: new Date(now + ROTATION_MS) } } },
      );
      if (matchedCount > 0) return secret;
      await find(accountId, id);
      throw new ServiceError('rotation_pending');
    },

    async activateSecret(accountId, id) {
      await promote(await find(accountId, id));
      return find(accountId, id);
    },
  };
}
