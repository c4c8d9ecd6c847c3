import type { PageRequest } from '../../../store/mongo/pages.ts';
import type { Context } from '../../http/context.ts';

/** Rows per page. */
const ROWS = 25;

/** Covers all endpoints of an account, of which there are at most ten. */
export const ALL_ENDPOINTS: PageRequest = { limit: 100 };

/** Keys that are offered in filters and named on other pages. */
export const NEWEST_KEYS: PageRequest = { limit: 100 };

/** A query parameter; '' if it is absent, the last value if it is repeated. */
export const single = (ctx: Context, name: string): string => [ctx.query[name]].flat().at(-1) ?? '';

export function cursorOf(ctx: Context): string | undefined {
  const cursor = single(ctx, 'cursor');
  return cursor === '' ? undefined : cursor;
}

/** The number of resent deliveries in the query, set by the redirect after a resend. */
export function resentOf(ctx: Context): number | null {
  const resent = single(ctx, 'resent');
  return /^\d{1,9}$/.test(resent) ? Number(resent) : null;
}

/** The page of a list that the query selects. */
export function pageOf(ctx: Context): PageRequest {
  const cursor = cursorOf(ctx);
  return { limit: ROWS, ...(cursor !== undefined && { cursor }) };
}
