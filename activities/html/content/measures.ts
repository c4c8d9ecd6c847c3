import { remember } from '../remember.ts';
import type { Block } from './blocks.ts';
import { countCharacters, type TextCounts } from './characters.ts';

export interface Measures {
  /** The same object for equal texts. */
  counts: readonly TextCounts[];
  words: number[];
  /** Share of the characters that are inside links. */
  linkShare: number[];
  linked: boolean[];
  /** Whether a block reads like a paragraph: some words, few links, punctuation. */
  prose: boolean[];
}

const MIN_PROSE_WORDS = 10;
const MAX_PROSE_LINKS = 0.35;

export function measure(blocks: readonly Block[]): Measures {
  const countOf = remember(countCharacters);
  const counts = blocks.map(({ text }) => countOf(text));
  const words = counts.map((count) => count.words);
  const linkShare = blocks.map(({ linked, text }) => Math.min(1, linked / text.length));
  return {
    counts,
    words,
    linkShare,
    linked: linkShare.map((share) => share > 0.7),
    prose: blocks.map(
      ({ text }, index) =>
        (words[index] ?? 0) >= MIN_PROSE_WORDS &&
        (linkShare[index] ?? 0) < MAX_PROSE_LINKS &&
        /[.!?,;:。，]/.test(text),
    ),
  };
}
