import { randomUUID } from 'node:crypto';
import type { EventKind } from '../schemas/events.ts';
import type { EventDoc } from './mongo.ts';

/** An event that is still to be handed over to the endpoints that want it; insert it with what it tells of. */
export const newEvent = (
  accountId: string,
  event: EventKind,
  data: Record<string, unknown>,
  { id = `evt_${randomUUID()}`, createdAt = new Date() }: { id?: string; createdAt?: Date } = {},
): EventDoc => ({ _id: id, accountId, event, createdAt, data, pending: true });

/** What is posted: the same bytes whenever it is asked for, since a document keeps the order of its fields. */
export const eventBody = ({ _id, event, createdAt, data }: EventDoc): string =>
  JSON.stringify({ id: _id, event, createdAt: createdAt.toISOString().replace('Z', '+00:00'), data });
