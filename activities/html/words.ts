/**
 * Segments text into words by Unicode Standard Annex 29, with dictionaries for scripts without spaces. The fixed locale
 * makes results reproducible.
 */
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });
/** Number of characters after the cut that are searched for the end of a word that spans the cut. */
const LOOKAHEAD = 100;

/** Counts the words of a text. Punctuation, white space and symbols do not count. */
export function countWords(text: string): number {
  let words = 0;
  for (const { isWordLike } of SEGMENTER.segment(text)) if (isWordLike) words++;
  return words;
}

/** Returns the index in UTF-16 code units after a number of code points, at most the length of the text. */
function indexAfter(text: string, codePoints: number): number {
  let index = 0;
  for (let count = 0; count < codePoints && index < text.length; count++)
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  return index;
}

/** Truncates a text to a number of code points, at a word boundary if possible. */
export function truncateText(text: string, codePoints: number): string {
  const end = indexAfter(text, codePoints);
  if (end >= text.length) return text;
  // If a word begins before the index `end`, at which the text is cut, and continues after it, the text is cut before
  // that word.
  const wordStart = SEGMENTER.segment(text.slice(0, end + LOOKAHEAD)).containing(end)?.index ?? end;
  return text.slice(0, wordStart === 0 ? end : wordStart).trimEnd();
}
