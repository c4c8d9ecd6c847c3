import type { PAGE_TYPES } from '../../../schemas/tools/web-scrape.ts';
import type { Block, Box } from './blocks.ts';
import { chooseBlocks } from './chooseBlocks.ts';

/**
 * Power of the probabilities, by page type. With a larger one, blocks must be more probable. The doubts about the blocks of a
 * page are not independent, and F1 was best in cross-validation with these.
 */
const STRICTNESS: Partial<Record<(typeof PAGE_TYPES)[number], number>> = {
  article: 2,
  forum: 1.5,
  product: 1.5,
};
/** Parts of a text that can be short or full of links. */
const STRUCTURE = /^(?:h[1-6]|p|pre|li|d[td]|t[dh]|blockquote)$/;
const LIST = /^(?:[uod]l)$/;
/** How many elements around a block are searched for such a part. */
const LEVELS = 4;

function isStructure(box: Box): boolean {
  for (let at: Box | null = box, level = 0; at !== null && level < LEVELS; at = at.parent, level++)
    if (STRUCTURE.test(at.element.name)) return true;
  return false;
}

/** Returns the list that contains a block; null if there is none near. */
function listOf(box: Box): Box | null {
  for (let at: Box | null = box, level = 0; at !== null && level < LEVELS; at = at.parent, level++)
    if (LIST.test(at.element.name)) return at;
  return null;
}

/** Returns the blocks of lists of which at least half of the blocks are among the given ones. */
function wholeLists(blocks: readonly Block[], given: readonly number[]): number[] {
  const counts = new Map<Box, number>();
  for (const index of given) {
    const box = blocks[index]?.box;
    const list = box === undefined ? null : listOf(box);
    if (list !== null) counts.set(list, (counts.get(list) ?? 0) + 1);
  }
  return [...counts].flatMap(([{ start, end }, count]) =>
    2 * count >= end - start ? Array.from({ length: end - start }, (_, at) => start + at) : [],
  );
}

function isHeadline(box: Box | null): boolean {
  for (let at = box, level = 0; at !== null && level < LEVELS; at = at.parent, level++)
    if (at.element.name === 'h1') return true;
  return false;
}

/** A paragraph has at least this many words, and at most this share of its characters in links. */
const PARAGRAPH = { words: 20, linked: 0.1 };
/** Elements that are no paragraphs of the text around them. */
const BESIDE = /^(?:aside|nav|footer|figure|form|pre|code)$/;

/** Returns the element that a block shares with others, and whether an element with the block alone is hidden or beside the text. */
function placeOf({ box }: Block): { parent: Box | null; isBeside: boolean } {
  let at: Box | null = box;
  let isBeside = false;
  for (; at !== null && at.end - at.start === 1; at = at.parent)
    isBeside ||= at.hidden || BESIDE.test(at.element.name);
  return { parent: at, isBeside };
}

/** Whether a block is a paragraph directly between two chosen ones. It is content, whatever the class of its element says. */
function isBetween(
  index: number,
  blocks: readonly Block[],
  words: readonly number[],
  chosen: ReadonlySet<number>,
): boolean {
  const [before, block, after] = [blocks[index - 1], blocks[index], blocks[index + 1]];
  if (before === undefined || block === undefined || after === undefined) return false;
  if (!chosen.has(index - 1) || !chosen.has(index + 1) || (words[index] ?? 0) < PARAGRAPH.words) return false;
  const { parent, isBeside } = placeOf(block);
  return (
    !isBeside &&
    block.linked <= PARAGRAPH.linked * block.text.length &&
    placeOf(before).parent === parent &&
    placeOf(after).parent === parent
  );
}

/**
 * Chooses the blocks of a page. Headings, paragraphs, lists, code, tables and quotations between chosen blocks may be less
 * probable. In articles, whole paragraphs directly between two chosen blocks belong to them.
 *
 * @param chances probability by block that it is content
 * @returns the indices of the blocks, and the expected F1
 */
export function chooseForType(
  blocks: readonly Block[],
  words: readonly number[],
  chances: Float64Array,
  pageType: (typeof PAGE_TYPES)[number],
): { kept: number[]; expected: number } {
  const { kept: probable, expected } = chooseBlocks(words, chances);
  const power = STRICTNESS[pageType];
  if (power === undefined) return { kept: probable, expected };
  const { kept } = chooseBlocks(
    words,
    chances.map((chance) => chance ** power),
  );
  const chosen = new Set(kept);
  const [first, last] = kept.reduce(
    ([least, most], index) => [Math.min(least, index), Math.max(most, index)],
    [blocks.length, -1],
  );
  for (const index of [...probable, ...wholeLists(blocks, probable)]) {
    const box = blocks[index]?.box;
    if (box !== undefined && index > first && index < last && isStructure(box)) chosen.add(index);
  }
  if (pageType === 'article')
    for (const index of blocks.keys()) {
      if (isBetween(index, blocks, words, chosen)) chosen.add(index);
      // The headline of an article is its title, not its text.
      if (isHeadline(blocks[index]?.box ?? null)) chosen.delete(index);
    }
  return { kept: [...chosen], expected };
}
