/** So much of the beginning of a longer needle counts as well: what repeats a long text often cuts it off. */
const BEGINNING = 16;

/**
 * Where the needle stands in the text, or at least 16 characters of its beginning: [start, end), ends and starts never
 * decreasing. By Knuth, Morris and Pratt (1977), because whoever writes the text may try to make it slow.
 */
export function* occurrences(text: string, needle: string): Generator<[start: number, end: number]> {
  const { length } = needle;
  if (length === 0) return;
  /** Of each beginning of the needle: how long its longest end is that is such a beginning too. */
  const shorter = new Uint32Array(length);
  for (let i = 1, matched = 0; i < length; i++) {
    while (matched > 0 && needle[i] !== needle[matched]) matched = shorter[matched - 1] ?? 0;
    if (needle[i] === needle[matched]) matched++;
    shorter[i] = matched;
  }
  const least = Math.min(BEGINNING, length);
  let matched = 0;
  for (let i = 0; i <= text.length; i++) {
    while (matched > 0 && (matched === length || text[i] !== needle[matched])) {
      if (matched >= least) yield [i - matched, i];
      matched = shorter[matched - 1] ?? 0;
    }
    if (i < text.length && text[i] === needle[matched]) matched++;
  }
}
