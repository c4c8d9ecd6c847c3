import { randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import type { EventKind } from '../schemas/events.ts';
import { createdNow, type EventDoc, type Store } from './mongo.ts';

/**
 * Creates an event that is pending dispatch. Insert it in the same step as the change that it reports, with `insertEvent`
 * unless its time is from the database's clock.
 */
export const newEvent = (
  accountId: string,
  event: EventKind,
  data: Record<string, unknown>,
  { id = `evt_${randomUUID()}`, createdAt = new Date() }: { id?: string; createdAt?: Date } = {},
): EventDoc => ({ _id: id, accountId, event, createdAt, data, pending: true });

/** Inserts an event that happens now, by the database's clock. */
export async function insertEvent(
  { events }: Pick<Store, 'events'>,
  event: EventDoc,
  session: ClientSession,
): Promise<void> {
  await events.updateOne({ _id: event._id }, createdNow(event), { session, upsert: true });
}

/** The JSON body that is posted. Always the same bytes, because documents keep the order of their fields. */
export const eventBody = ({ _id, event, createdAt, data }: EventDoc): string =>
  JSON.stringify({ id: _id, event, createdAt: createdAt.toISOString().replace('Z', '+00:00'), data });
