import { atomFeed } from './atom.ts';
import { SITE_NAME } from './layout.ts';
import { anchorOf, renderMarkdown } from './markdown.ts';
import { CHANGELOG_FEED, CHANGELOG_PATH } from './paths.ts';

/** Changes of a day that are about one subject. */
interface Change {
  /** Such as `2026-11-27`. */
  day: string;
  title: string;
  markdown: string;
  /** Anchor of the day on the page. */
  anchor: string;
}

/** Matches the heading of a day, such as `2026-11-23: Version 1.0.0`. */
const DAY = /^(\d{4}-\d{2}-\d{2})(?:: (.+))?$/;

/**
 * Divides the changelog into the subjects of its days: a line that ends with a colon, and the list below it.
 *
 * @throws if a section has no date
 */
function changesOf(markdown: string): Change[] {
  const [, ...sections] = markdown.split(/^## /m);
  return sections.flatMap((section) => {
    const [heading = '', ...lines] = section.split('\n');
    const [, day, name] = DAY.exec(heading) ?? [];
    if (day === undefined || Number.isNaN(Date.parse(day)))
      throw new Error(`the section "${heading}" of the changelog has no date`);
    const parts = lines
      .join('\n')
      .split(/^(?=[A-Z][^\n]*:$)/m)
      .filter((text) => text.includes('\n- ') || text.startsWith('- '));
    return parts.map((text) => {
      const [, subject, list = ''] = /^([A-Z][^\n]*):\n([\s\S]*)$/.exec(text) ?? [];
      return {
        day,
        title: subject ?? name ?? day,
        markdown: subject === undefined ? text : list,
        anchor: anchorOf(heading),
      };
    });
  });
}

/** The changelog as an Atom feed, with an entry for each subject of a day. @param linkTo as in `renderMarkdown` */
export const changelogFeed = (
  markdown: string,
  baseUrl: string,
  linkTo: (file: string) => string | null,
): string =>
  atomFeed({
    title: `Changelog of the ${SITE_NAME}`,
    author: SITE_NAME,
    path: CHANGELOG_FEED,
    page: CHANGELOG_PATH,
    baseUrl,
    entries: changesOf(markdown).map(({ day, title, markdown: text, anchor }) => ({
      id: `${baseUrl}${CHANGELOG_FEED}#${day}-${anchorOf(title)}`,
      title,
      updated: new Date(`${day}T00:00:00Z`),
      link: `${baseUrl}${CHANGELOG_PATH}#${anchor}`,
      html: renderMarkdown(text, linkTo).body.markup,
    })),
  });
