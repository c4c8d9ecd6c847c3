/** Characters as people count them (UAX #29): an emoji of several parts, or a letter with its accents, is one. */
export const countGraphemes = (text: string): number =>
  [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].length;
