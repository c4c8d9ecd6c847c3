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
/** How many elements around a block are searched for such a part. */
const LEVELS = 4;

function isStructure(box: Box): boolean {
  for (let at: Box | null = box, level = 0; at !== null && level < LEVELS; at = at.parent, level++)
    if (STRUCTURE.test(at.element.name)) return true;
  return false;
}

function isHeadline(box: Box | null): boolean {
  for (let at = box, level = 0; at !== null && level < LEVELS; at = at.parent, level++)
    if (at.element.name === 'h1') return true;
  return false;
}

/**
 * Chooses the blocks of a page. Headings, paragraphs, lists, code, tables and quotations between chosen blocks may be less probable.
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
  for (const index of probable) {
    const box = blocks[index]?.box;
    if (box !== undefined && index > first && index < last && isStructure(box)) chosen.add(index);
  }
  // The headline of an article is its title, not its text.
  if (pageType === 'article')
    for (const index of chosen) if (isHeadline(blocks[index]?.box ?? null)) chosen.delete(index);
  return { kept: [...chosen], expected };
}
