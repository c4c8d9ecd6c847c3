import { type Html, html } from '../frame/html.ts';

interface Place {
  path: string;
  /** Query parameters besides `cursor`, such as filters. */
  query: Readonly<Record<string, string>>;
  /** Cursor of the current page; undefined on the first. */
  cursor: string | undefined;
  nextCursor: string | null;
  /** Default: those of a list that begins with the newest rows. */
  labels?: { first: string; next: string };
}

const NEWEST_FIRST = { first: 'Newest', next: 'Older' };

const href = (path: string, query: Readonly<Record<string, string>>): string => {
  const search = new URLSearchParams(query).toString();
  return search === '' ? path : `${path}?${search}`;
};

/** Links to the next rows and back to the first ones; empty when all rows are shown. */
export function pager({ path, query, cursor, nextCursor, labels = NEWEST_FIRST }: Place): Html | null {
  if (cursor === undefined && nextCursor === null) return null;
  const first = cursor === undefined ? null : html`<a href="${href(path, query)}">${labels.first}</a>`;
  const next =
    nextCursor === null
      ? null
      : html`<a href="${href(path, { ...query, cursor: nextCursor })}" rel="next">${labels.next}</a>`;
  return html`<nav class="pager" aria-label="Pages">${first} ${next}</nav>`;
}
