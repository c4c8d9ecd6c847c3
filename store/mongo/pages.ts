import type { Document, FindCursor } from 'mongodb';
import { invalidInput } from '../../schemas/errors.ts';

/** Selects a page of a list. */
export interface PageRequest {
  limit: number;
  /** `nextCursor` of the previous page. */
  cursor?: string;
}

/** A page of a list, newest first, and the cursor of the next page. */
export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** Position of a page's last row: its sort value and id. */
interface Position {
  value: number;
  id: string;
}

/** Finds the rows of a list that also match a condition. */
type Find<T> = (condition: Document) => FindCursor<T>;

const encode = (list: string, { value, id }: Position): string =>
  Buffer.from(`${list} ${value} ${id}`).toString('base64url');

/** @throws ServiceError invalid_input at /cursor */
function decode(list: string, cursor: string): Position {
  // Ids of grants contain the references of operators, which are any printable text.
  const [, value, id] = /^\S+ (\d{1,15}) (\P{Cc}+)$/u.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const position = { value: Number(value), id: id ?? '' };
  // Base64 decoding skips invalid characters, so only text that encodes to itself is accepted.
  if (id === undefined || encode(list, position) !== cursor)
    throw invalidInput([{ pointer: '/cursor', message: 'is not a cursor of this list' }]);
  return position;
}

/** Makes a page of at most `limit` rows. `rows` has one row more than `limit` if there is a next page. */
export function asPage<T>(list: string, rows: T[], limit: number, positionOf: (row: T) => Position): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, nextCursor: more ? encode(list, positionOf(last)) : null };
}

/**
 * Condition for the rows after the previous page, in descending order of a time and an id.
 *
 * @param field name of the time field
 * @param id name of the field that orders rows of equal times
 * @throws ServiceError invalid_input at /cursor
 */
export function olderThan(list: string, cursor: string | undefined, field: string, id: string): Document {
  if (cursor === undefined) return {};
  const last = decode(list, cursor);
  const at = new Date(last.value);
  // `$or` implies the `$lte` condition, but MongoDB bounds the index scan only by `$lte`.
  return {
    $and: [{ [field]: { $lte: at } }, { $or: [{ [field]: { $lt: at } }, { [id]: { $lt: last.id } }] }],
  };
}

/**
 * A page of rows sorted by time and id, newest first. Each row is on exactly one page, even if rows have equal times or
 * were added since the first page.
 *
 * @param list name of the list; cursors of other lists are rejected
 * @param field name of the time field; needs an index on it and `_id`
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

/** A page of rows sorted by their unique numbers, highest first. @throws ServiceError invalid_input at /cursor */
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

/** A page of rows sorted by their unique numbers in the field `row`, lowest first. @throws ServiceError invalid_input at /cursor */
export async function pageByRow<T extends { _id: string; row?: number }>(
  list: string,
  find: Find<T>,
  { limit, cursor }: PageRequest,
): Promise<Page<T>> {
  const condition = cursor === undefined ? {} : { row: { $gt: decode(list, cursor).value } };
  const rows = await find(condition)
    .sort({ row: 1 })
    .limit(limit + 1)
    .toArray();
  return asPage(list, rows, limit, (row) => ({ value: row.row ?? 0, id: row._id }));
}
