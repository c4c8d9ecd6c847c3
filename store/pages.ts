import type { Document, FindCursor } from 'mongodb';
import { invalidInput } from '../schemas/errors.ts';

/** Which page of a list is wanted. */
export interface PageRequest {
  limit: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/** Some rows of a list, newest first, and how to get the next ones. */
export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** Where a page ends: the last row's place in the order, and its id. */
interface Place {
  value: number;
  id: string;
}

/** The rows of a list that also meet this condition. */
type Find<T> = (condition: Document) => FindCursor<T>;

const encode = (list: string, { value, id }: Place): string =>
  Buffer.from(`${list} ${value} ${id}`).toString('base64url');

function decode(list: string, cursor: string): Place {
  const [, value, id] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ');
  const place = { value: Number(value), id: id ?? '' };
  // Decoding skips what it does not know: only what encodes to the same text again was made here.
  if (!/^\d{1,15}$/.test(value ?? '') || !/^[\w-]{1,64}$/.test(place.id) || encode(list, place) !== cursor)
    throw invalidInput([{ pointer: '/cursor', message: 'is not a cursor of this list' }]);
  return place;
}

/** One row more than asked for tells whether there is a next page. */
export function asPage<T>(list: string, rows: T[], limit: number, placeOf: (row: T) => Place): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, nextCursor: more ? encode(list, placeOf(last)) : null };
}

/**
 * What comes after the page before, by a moment and an id.
 *
 * @param field the moment
 * @param id what tells apart those of equal moments
 * @throws ServiceError invalid_input at /cursor
 */
export function olderThan(list: string, cursor: string | undefined, field: string, id: string): Document {
  if (cursor === undefined) return {};
  const last = decode(list, cursor);
  const at = new Date(last.value);
  // The first part follows from the second, but only it bounds the walk through the index.
  return {
    $and: [{ [field]: { $lte: at } }, { $or: [{ [field]: { $lt: at } }, { [id]: { $lt: last.id } }] }],
  };
}

/**
 * A page of what is sorted by a moment and, where moments are equal, by id: a row is on exactly one page, however many
 * came at once and whatever was added since the first page was read.
 *
 * @param list name of the list: a cursor of another one is refused
 * @param field the moment; with an index on it and `_id` every page is equally cheap
 * @throws ServiceError invalid_input at /cursor
 */
export async function pageByTime<F extends string, T extends { _id: string } & Record<F, Date>>(
  list: string,
  find: Find<T>,
  field: F,
  { limit, cursor }: PageRequest,
): Promise<Page<T>> {
  const rows = await find(olderThan(list, cursor, field, '_id'))
    .sort({ [field]: -1, _id: -1 })
    .limit(limit + 1)
    .toArray();
  return asPage(list, rows, limit, (row) => ({ value: row[field].getTime(), id: row._id }));
}

/** A page of what has numbers that no two rows of the list share. @throws ServiceError invalid_input at /cursor */
export async function pageByNumber<T extends { _id: string; seq: number }>(
  list: string,
  find: Find<T>,
  { limit, cursor }: PageRequest,
): Promise<Page<T>> {
  const condition = cursor === undefined ? {} : { seq: { $lt: decode(list, cursor).value } };
  const rows = await find(condition)
    .sort({ seq: -1 })
    .limit(limit + 1)
    .toArray();
  return asPage(list, rows, limit, (row) => ({ value: row.seq, id: row._id }));
}
