import type { Block, Box } from './blocks.ts';
import type { Measures } from './measures.ts';
import { PHRASE_NAMES } from './phrases.ts';
import { type Range, summed } from './sums.ts';
import type { TextFeatures } from './textFeatures.ts';

/** Sums over a range of blocks, which are features of the model. */
interface Part {
  words: number;
  /** Share of the words of the page. */
  share: number;
  links: number;
  prose: number;
  blocks: number;
  /** Logarithm of the number of blocks. */
  size: number;
}

/** The blocks of a page, and what their features are read from. */
export interface BlockPage {
  blocks: readonly Block[];
  boxes: readonly Box[];
  measures: Measures;
  texts: readonly TextFeatures[];
  /** Level of the heading that a block is, 1 to 6; 0 for other blocks. */
  headingLevels: readonly number[];
  /** Number of words, at least 1. */
  total: number;
  partOf(range: Range): Part;
  /** Number of blocks with a price. */
  pricesIn(range: Range): number;
  /** Returns the same number for elements with the same blocks. */
  rangeOf(box: Box): number;
}

/** Returns names of features that begin alike. @param list the rest of the names, separated by spaces */
export const featureNames = (prefix: string, list: string): string[] =>
  list.split(' ').map((name) => `${prefix}.${name}`);

/** Describes a block, by its index, by some features in the order of their names. */
export type Aspect = (index: number) => ArrayLike<number>;

const HEADING = /^h[1-6]$/;
const PRICE = PHRASE_NAMES.indexOf('price');
/** More than the number of blocks, to write two indices as one number. */
export const PAIR = 2 ** 15;

const headingLevel = ({ box }: Block): number => {
  for (let at: Box | null = box, level = 0; at !== null && level < 4; at = at.parent, level++)
    if (HEADING.test(at.element.name)) return Number(at.element.name.slice(1));
  return 0;
};

export function createBlockPage(
  blocks: readonly Block[],
  boxes: readonly Box[],
  measures: Measures,
  texts: readonly TextFeatures[],
): BlockPage {
  const wordsIn = summed(measures.words);
  const linkedIn = summed(measures.words.map((count, index) => count * (measures.linkShare[index] ?? 0)));
  const proseIn = summed(measures.words.map((count, index) => (measures.prose[index] === true ? count : 0)));
  const total = Math.max(1, wordsIn({ start: 0, end: blocks.length }));
  const numberRange = createNumbering<number>();
  const ranges = boxes.map(({ start, end }) => numberRange(start * PAIR + end));
  return {
    blocks,
    boxes,
    measures,
    texts,
    headingLevels: blocks.map(headingLevel),
    total,
    pricesIn: summed(texts.map(({ phrases }) => phrases[PRICE] ?? 0)),
    rangeOf: ({ index }) => ranges[index] ?? 0,
    partOf(range) {
      const words = wordsIn(range);
      const count = range.end - range.start;
      return {
        words,
        share: words / total,
        links: linkedIn(range) / Math.max(1, words),
        prose: proseIn(range) / Math.max(1, words),
        blocks: count,
        size: Math.log1p(count),
      };
    },
  };
}

/** Creates a function that numbers keys in the order of their first use. */
export function createNumbering<K>(): (key: K) => number {
  const numbers = new Map<K, number>();
  return (key) => {
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, numbers.size);
    return numbers.size - 1;
  };
}
