import { type Html, html } from '../frame/html.ts';

interface Place {
  path: string;
  /** Query parameters besides `cursor`, such as filters. */
  query: Readonly<Record<string, string>>;
  /** Cursor of the current page; undefined on the first. */
  cursor: string | undefined;
  nextCursor: string | null;
}

const href = (path: string, query: Readonly<Record<string, string>>): string => {
  const search = new URLSearchParams(query).toString();
  return search === '' ? path : `${path}?${search}`;
};

/** Links to older rows and back to the newest; empty when all rows are shown. */
export function pager({ path, query, cursor, nextCursor }: Place): Html | null {
  if (cursor === undefined && nextCursor === null) return null;
  const newest = cursor === undefined ? null : html`<a href="${href(path, query)}">Newest</a>`;
  const older =
    nextCursor === null
      ? null
      : html`<a href="${href(path, { ...query, cursor: nextCursor })}" rel="next">Older</a>`;
  return html`<nav class="pager" aria-label="Pages">${newest} ${older}</nav>`;
}
