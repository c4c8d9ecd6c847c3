import type { PageRequest } from '../../store/pages.ts';
import type { Context } from '../http/context.ts';

/** Rows of a page. */
export const ROWS = 25;

/** An account has at most ten endpoints. */
export const ALL_ENDPOINTS: PageRequest = { limit: 100 };

/** A parameter of the address; '' where there is none. The last one counts where there are several. */
export const single = (ctx: Context, name: string): string => [ctx.query[name]].flat().at(-1) ?? '';

export function cursorOf(ctx: Context): string | undefined {
  const cursor = single(ctx, 'cursor');
  return cursor === '' ? undefined : cursor;
}

/** The page of a list that the address names. */
export function pageOf(ctx: Context): PageRequest {
  const cursor = cursorOf(ctx);
  return { limit: ROWS, ...(cursor !== undefined && { cursor }) };
}
