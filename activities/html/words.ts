/** Unicode Standard Annex 29, with dictionaries for the scripts that write no spaces. Of one locale, to give the same everywhere. */
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });
/** Characters beyond the cut in which a word that goes across it is looked for. */
const LOOKAHEAD = 100;

/** Words of a text; punctuation, white space and symbols are none. */
export function countWords(text: string): number {
  let words = 0;
  for (const { isWordLike } of SEGMENTER.segment(text)) if (isWordLike) words++;
  return words;
}

/** Index after so many code points; the length of the text where it has no more. */
function indexAfter(text: string, codePoints: number): number {
  let index = 0;
  for (let count = 0; count < codePoints && index < text.length; count++)
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  return index;
}

/** At most so many code points of a text, cut between words where there are several. */
export function cutText(text: string, codePoints: number): string {
  const end = indexAfter(text, codePoints);
  if (end >= text.length) return text;
  // A segment that holds the character after the cut, and begins before it, is a word cut in two.
  const begin = SEGMENTER.segment(text.slice(0, end + LOOKAHEAD)).containing(end)?.index ?? end;
  return text.slice(0, begin === 0 ? end : begin).trimEnd();
}
