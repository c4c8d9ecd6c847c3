import type { Fault } from '../errors.ts';

/**
 * The fault of a string that cannot become bytes: JSON can spell half a surrogate pair (`"\ud800"`), UTF-8 cannot,
 * and an encoder would put U+FFFD in its place without a word.
 */
export const loneSurrogates = (pointer: string, text: string): Fault[] =>
  text.isWellFormed() ? [] : [{ pointer, message: 'holds a lone surrogate, which UTF-8 cannot carry' }];

/** Characters as people count them (UAX #29): an emoji of several parts, or a letter with its accents, is one. */
export const countGraphemes = (text: string): number =>
  [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].length;
