/** Counts grapheme clusters (UAX #29): an emoji sequence, or a letter with its accents, counts as one character. */
export const countGraphemes = (text: string): number =>
  [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].length;
