import { type Aspect, type BlockPage, createNumbering, featureNames } from './blockPage.ts';
import type { Box } from './blocks.ts';
import { LEADS, leadsOf } from './phrases.ts';
import { summed } from './sums.ts';

export const ENTRY_FEATURES = [
  ...featureNames('item', 'level count words links images prices at blocks headings slug'),
  ...featureNames('group', 'share links prose images prices words ofLargest slug'),
  ...LEADS.map((name) => `group.lead.${name}`),
  ...featureNames('outer', 'level count words share'),
  ...LEADS.map((name) => `outer.lead.${name}`),
];

/** More than the number of elements, to write two indices as one number. */
const GROUP = 2 ** 20;

/** The entries of lists around a block, and how many elements above it they are; -1 if there are none. */
interface Entry {
  /** The innermost one with more than one block. */
  item: Box;
  itemLevel: number;
  outer: Box;
  outerLevel: number;
}

function entryOf(box: Box): Entry {
  const found: Entry = { item: box, itemLevel: -1, outer: box, outerLevel: -1 };
  for (let at: Box | null = box, level = 0; at !== null && level < 12; at = at.parent, level++) {
    if (at.repeats < 3) continue;
    if (found.itemLevel < 0 && at.element.name !== 'p' && at.end - at.start > 1)
      [found.item, found.itemLevel] = [at, level];
    if (found.outerLevel < 0 || at.repeats > 5) [found.outer, found.outerLevel] = [at, level];
  }
  return found;
}

/** Longest address that is read, in characters. */
const MAX_ADDRESS = 500;

/**
 * Returns the number of words in the last part of an address; 0 if it has no path. The addresses of products and articles
 * have more than those of sections of a site.
 */
function slugWords(address: string): number {
  if (address.length > MAX_ADDRESS) return 0;
  const [path = ''] = address.split(/[?#]/, 1);
  const slug = path.split('/').findLast((part) => part !== '') ?? '';
  return slug === '' ? 0 : slug.split(/[-_+]|%20/).length;
}

/** Creates a function that returns the mean number of words in the addresses that the links inside an element lead to. */
function createSlugReader({ blocks, boxes }: BlockPage): (box: Box) => number {
  const links = blocks.map(() => 0);
  const words = blocks.map(() => 0);
  for (const { element, start } of boxes) {
    const count = element.name === 'a' ? slugWords(element.attribs.href ?? '') : 0;
    if (count === 0) continue;
    links[start] = (links[start] ?? 0) + 1;
    words[start] = (words[start] ?? 0) + count;
  }
  const [linksIn, wordsIn] = [summed(links), summed(words)];
  return (box) => wordsIn(box) / Math.max(1, linksIn(box));
}

/**
 * Describes the entries of lists that a block is in, such as products or teasers.
 *
 * @returns also the list and the entry of each block, as numbers
 */
export function describeEntries(page: BlockPage): {
  aspect: Aspect;
  groups: Int32Array;
  items: Int32Array;
} {
  const { blocks, measures, texts, headingLevels, partOf, pricesIn, rangeOf } = page;
  const slugsOf = createSlugReader(page);
  const headingsIn = summed(headingLevels.map((level) => (level > 0 ? 1 : 0)));
  const entries = blocks.map(({ box }) => entryOf(box));
  const numberGroup = createNumbering<number>();
  const groupOf = (box: Box): number => numberGroup(rangeOf(box.parent ?? box) * GROUP + box.repeats);
  const groups = Int32Array.from(entries, ({ item }) => groupOf(item));
  const outerGroups = Int32Array.from(entries, ({ outer }) => groupOf(outer));
  /** Words of the entries of each group, and the first block of the group. */
  const groupWords: number[] = [];
  const groupStart: number[] = [];
  for (const [index, { item, itemLevel, outer }] of entries.entries()) {
    const [own, around] = [groups[index] ?? 0, outerGroups[index] ?? 0];
    groupWords[own] = (groupWords[own] ?? 0) + (itemLevel < 0 ? 0 : (measures.words[index] ?? 0));
    groupStart[own] ??= item.start;
    groupStart[around] ??= outer.start;
  }
  const largestGroup = groupWords.reduce((most, words) => Math.max(most, words ?? 0), 1);
  /** Reads the block before the first entry of a group, such as "related articles". */
  const leadOf = (group = 0): number[] => leadsOf(texts[(groupStart[group] ?? 0) - 1]?.phrases);

  const aspect: Aspect = (index) => {
    const entry = entries[index];
    if (entry === undefined) return [];
    const { item, itemLevel, outer, outerLevel } = entry;
    const list = item.parent ?? item;
    const [itemPart, group] = [partOf(item), partOf(list)];
    const words = groupWords[groups[index] ?? 0] ?? 0;
    return [
      itemLevel,
      Math.log1p(item.repeats),
      itemPart.words,
      itemPart.links,
      item.images,
      pricesIn(item),
      index - item.start,
      itemPart.blocks,
      headingsIn(item),
      slugsOf(item),
      group.share,
      group.links,
      group.prose,
      list.images / Math.max(1, item.repeats),
      pricesIn(list) / Math.max(1, item.repeats),
      Math.log1p(words),
      words / largestGroup,
      slugsOf(list),
      ...leadOf(groups[index]),
      outerLevel,
      Math.log1p(outer.repeats),
      partOf(outer).words,
      partOf(outer.parent ?? outer).share,
      ...leadOf(outerGroups[index]),
    ];
  };
  return { aspect, groups, items: Int32Array.from(entries, ({ item }) => rangeOf(item)) };
}
