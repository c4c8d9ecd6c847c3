import { html } from '../dashboard/frame/html.ts';

/** Media type of Atom feeds (RFC 4287, section 7). */
export const ATOM = 'application/atom+xml; charset=utf-8';

interface Entry {
  /** URI that never changes. */
  id: string;
  title: string;
  updated: Date;
  /** URL of the entry on a page. */
  link: string;
  /** Markup of this project; its links are relative to the root of the site. */
  html: string;
}

interface Feed {
  title: string;
  author: string;
  /** Path of the feed. */
  path: string;
  /** Path of the page with the same content. */
  page: string;
  /** URL of the site, without a trailing slash. */
  baseUrl: string;
  /** Newest first. */
  entries: readonly Entry[];
}

/** Characters that XML 1.0 does not permit (section 2.2), such as control characters. */
const FORBIDDEN = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** Makes links absolute, because few readers know the URL of the page. */
const absolute = (markup: string, baseUrl: string): string =>
  markup.replaceAll(/(href|src)="(?=\/(?!\/))/g, `$1="${baseUrl}`);

/** Writes an Atom feed (RFC 4287). The time of a feed without entries is the Unix epoch, so that the feed does not change. */
export function atomFeed({ title, author, path, page, baseUrl, entries }: Feed): string {
  const newest = Math.max(0, ...entries.map(({ updated }) => updated.getTime()));
  const feed = html`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>${baseUrl}${path}</id>
<title>${title}</title>
<updated>${new Date(newest).toISOString()}</updated>
<author><name>${author}</name></author>
<link rel="self" type="application/atom+xml" href="${baseUrl}${path}"/>
<link rel="alternate" type="text/html" href="${baseUrl}${page}"/>
${entries.map(
  (entry) => html`<entry>
<id>${entry.id}</id>
<title>${entry.title}</title>
<updated>${entry.updated.toISOString()}</updated>
<link rel="alternate" type="text/html" href="${entry.link}"/>
<content type="html">${absolute(entry.html, baseUrl)}</content>
</entry>
`,
)}</feed>
`;
  return feed.markup.replaceAll(FORBIDDEN, '');
}
