import { type PageIndex, readDescription } from './pageIndex.ts';

/** Fields of JSON-LD with the content itself, by type. */
const FIELDS: readonly (readonly [type: RegExp, field: string])[] = [
  [/(?:Article|Posting|Report|Review)$/i, 'articleBody'],
  [/^(?:Product|ProductGroup|IndividualProduct|Book|Vehicle)$/i, 'description'],
  [/^(?:Question|Answer|DiscussionForumPosting|Comment)$/i, 'text'],
];
const MIN_WORDS = 4;
const MAX_TEXTS = 100;
const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  '#39': "'",
  '#x27': "'",
  '#34': '"',
  '#160': ' ',
};

/** Returns the text of a value, which may be HTML and may be escaped. */
export const plain = (value: string): string =>
  value
    .replaceAll(
      /&(\w{2,4}|#\w{2,4});/g,
      (reference, name: string) => ENTITIES[name.toLowerCase()] ?? reference,
    )
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/**
 * Returns the content that a page gives only in its metadata, because a script would show it: that of its JSON-LD, or else its
 * description.
 *
 * @param data the objects of the page's JSON-LD
 */
export function readMetadataText(index: PageIndex, data: readonly Record<string, unknown>[]): string[] {
  const found = new Set<string>();
  for (const it of data)
    for (const [type, field] of FIELDS) {
      const value = it[field];
      if (typeof value !== 'string' || !type.test(String(it['@type'])) || found.size >= MAX_TEXTS) continue;
      const text = plain(value);
      if (text.split(' ').length >= MIN_WORDS) found.add(text);
    }
  if (found.size > 0) return [...found];
  const description = plain(readDescription(index));
  return description.split(' ').length >= MIN_WORDS ? [description] : [];
}
