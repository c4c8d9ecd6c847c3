import { randomUUID } from 'node:crypto';
import type { EventData, EventKind } from '../schemas/events.ts';
import type { EventDoc } from './mongo.ts';
import { activeTraceparent } from './trace.ts';

/** Creates an event that is pending dispatch. Insert it in the same step as the change that it reports. */
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

/** The JSON body that is posted. Always the same bytes, because documents keep the order of their fields. */
export const eventBody = ({ _id, event, createdAt, data }: EventDoc): string =>
  JSON.stringify({ id: _id, event, createdAt: createdAt.toISOString().replace('Z', '+00:00'), data });
