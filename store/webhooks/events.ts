import { randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import { activeTraceparent } from '../../platform/trace.ts';
import type { EventData, EventKind } from '../../schemas/events.ts';
import { createdNow, type Store } from '../mongo/mongo.ts';
import type { EventDoc } from './webhookDocs.ts';

/** Matches the ids of test events, which begin with `TEST_EVENT`. */
export const TEST_EVENT_IDS = /^evt_test_/;

/**
 * Creates an event that is pending dispatch. It must be stored in the same transaction or update as the change that
 * it reports. Use `insertEvent` for that, unless `createdAt` is already a time of the database server.
 */
export const newEvent = <K extends EventKind>(
  accountId: string,
  event: K,
  data: EventData<K>,
  {
    id = `evt_${randomUUID()}`,
    createdAt = new Date(),
    traceparent = activeTraceparent(),
  }: { id?: string; createdAt?: Date; traceparent?: string | undefined } = {},
): EventDoc => ({
  _id: id,
  accountId,
  event,
  createdAt,
  data,
  pending: true,
  ...(traceparent !== undefined && { traceparent }),
});

/** Inserts an event and sets `createdAt` to the current time of the database server. */
export async function insertEvent(
  { events }: Pick<Store, 'events'>,
  event: EventDoc,
  session: ClientSession,
): Promise<void> {
  await events.updateOne({ _id: event._id }, createdNow(event), { session, upsert: true });
}

/**
 * The JSON body that is posted to webhook endpoints. All attempts send the same bytes, because MongoDB preserves the
 * order of fields.
 */
export const eventBody = ({ _id, event, createdAt, data }: EventDoc): string =>
  JSON.stringify({ id: _id, event, createdAt: createdAt.toISOString().replace('Z', '+00:00'), data });
