import type { Element } from 'domhandler';
import { MAX_PROPERTIES, VALUE_CODE_POINTS } from '../../schemas/formats/pageParts.ts';
import { HTML, type LoadedPage } from './load.ts';
import { elementText } from './text.ts';
import { resolveUrl } from './urls.ts';
import { truncateText } from './words.ts';

/** Metadata properties by name. A property that occurs several times has an array of its values. */
type Properties = Record<string, string | string[]>;

interface PageMeta {
  title: string | null;
  description: string | null;
  /** Absolute canonical URL; null when the page declares none. */
  canonical: string | null;
  robots: string | null;
  openGraph: Properties;
  twitter: Properties;
}

const clean = (text: string): string =>
  truncateText(text.replace(/[\t\n\f\r ]+/g, ' ').trim(), VALUE_CODE_POINTS);
const words = (text = ''): string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');

interface Tag {
  /** Names from the attributes `property` (RDFa, separated by spaces) and `name`, in lower case. */
  names: string[];
  content: string;
}

function readTags(elements: readonly Element[]): Tag[] {
  return elements
    .filter(({ name, attribs }) => name === 'meta' && attribs.content !== undefined)
    .map(({ attribs }) => ({
      names: [...new Set([...words(attribs.property), (attribs.name ?? '').trim().toLowerCase()])],
      content: attribs.content ?? '',
    }));
}

function propertiesOf(tags: readonly Tag[], prefix: string): Properties {
  const found = new Map<string, string[]>();
  let count = 0;
  for (const { names, content } of tags)
    for (const name of names) {
      if (!name.startsWith(prefix) || count >= MAX_PROPERTIES) continue;
      count++;
      found.set(name, [...(found.get(name) ?? []), clean(content)]);
    }
  const entries = [...found].map(([name, values]): [string, string | string[]] => {
    const [first = '', ...rest] = values;
    return [name, rest.length === 0 ? first : values];
  });
  // `Object.fromEntries` creates own properties even for names such as `__proto__`.
  return Object.fromEntries(entries);
}

/** Returns the title of the page. The `title` elements of SVG images have another namespace and are skipped. */
function titleOf(elements: readonly Element[]): string | null {
  const title = elements.find(({ name, namespace }) => name === 'title' && namespace === HTML);
  return title === undefined ? null : clean(elementText(title, VALUE_CODE_POINTS));
}

/** Reads the metadata that a page provides for search engines and link previews. */
export function readMeta({ elements, base }: LoadedPage): PageMeta {
  const tags = readTags(elements);
  const named = (name: string): string[] =>
    tags.filter(({ names }) => names.includes(name)).map(({ content }) => clean(content));
  const canonical = elements.find(
    ({ name, attribs }) =>
      name === 'link' && attribs.href !== undefined && words(attribs.rel).includes('canonical'),
  );
  const robots = named('robots');
  return {
    title: titleOf(elements),
    description: named('description')[0] ?? null,
    canonical: resolveUrl(canonical?.attribs.href, base)?.href ?? null,
    robots: robots.length === 0 ? null : truncateText(robots.join(', '), VALUE_CODE_POINTS),
    openGraph: propertiesOf(tags, 'og:'),
    twitter: propertiesOf(tags, 'twitter:'),
  };
}
