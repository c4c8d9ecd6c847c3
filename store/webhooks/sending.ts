import type { Store } from '../mongo/mongo.ts';
import type { WebhookEndpointDoc } from './webhookDocs.ts';

/**
 * An activity of an endpoint's workflow that attempts the deliveries of a healthy endpoint, and finds those that become due
 * meanwhile. What it attempts is in the endpoint's document, where resends and the workflow's own rounds see it.
 */
export interface Sender {
  /** Different for each run of the activity. */
  id: string;
  endpointId: string;
  /** The endpoint's epoch when the workflow started the activity. */
  epoch: number;
}

/** Makes this the only sender of its endpoint until it ends. @param until when it has ended, whatever happens */
export async function beginSending(
  { webhookEndpoints }: Store,
  { id, endpointId }: Sender,
  until: Date,
): Promise<void> {
  await webhookEndpoints.updateOne(
    { _id: endpointId },
    { $set: { sending: { by: id, deliveryIds: [], until } } },
  );
}

/**
 * Records which deliveries the sender attempts from now on.
 *
 * @returns the endpoint as it is now; null if the sender must attempt none: the endpoint was deleted, disabled, enabled again, or
 *   has failed since, or it has another sender
 */
export const claimDeliveries = (
  { webhookEndpoints }: Store,
  { id, endpointId, epoch }: Sender,
  deliveryIds: string[],
): Promise<WebhookEndpointDoc | null> =>
  webhookEndpoints.findOneAndUpdate(
    { _id: endpointId, state: 'active', failures: 0, epoch, 'sending.by': id },
    { $set: { 'sending.deliveryIds': deliveryIds } },
    { returnDocument: 'after' },
  );

/**
 * Records that the sender has ended. Deliveries that were stored before are found by the workflow's next round, and the workflow is
 * woken for those that are stored from now on.
 */
export async function endSending({ webhookEndpoints }: Store, { id, endpointId }: Sender): Promise<void> {
  await webhookEndpoints.updateOne({ _id: endpointId, 'sending.by': id }, { $unset: { sending: '' } });
}

/** Ids of the deliveries that an endpoint's sender may be attempting, if they are still `pending`. */
export const attemptedNow = ({ sending }: Pick<WebhookEndpointDoc, 'sending'>): string[] =>
  sending !== undefined && sending.until > new Date() ? sending.deliveryIds : [];

/** Returns which of the endpoints have a sender, which finds new deliveries itself. */
export const endpointsSending = (
  { webhookEndpoints }: Store,
  endpointIds: readonly string[],
): Promise<string[]> =>
  webhookEndpoints.distinct('_id', { _id: { $in: [...endpointIds] }, 'sending.until': { $gt: new Date() } });
