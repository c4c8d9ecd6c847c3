/** Minimum length of a needle's prefix that counts as a match, because servers often truncate text that they repeat. */
const MIN_PREFIX = 16;

/**
 * Yields the matches of the needle, or of at least 16 characters of its start, as [start, end). Starts and ends never
 * decrease. Uses the algorithm of Knuth, Morris and Pratt (1977), which takes linear time even for malicious text.
 */
export function* occurrences(text: string, needle: string): Generator<[start: number, end: number]> {
  const { length } = needle;
  if (length === 0) return;
  /** Failure function: for each prefix of the needle, the length of its longest proper suffix that is also a prefix. */
  const shorter = new Uint32Array(length);
  for (let i = 1, matched = 0; i < length; i++) {
    while (matched > 0 && needle[i] !== needle[matched]) matched = shorter[matched - 1] ?? 0;
    if (needle[i] === needle[matched]) matched++;
    shorter[i] = matched;
  }
  const minLength = Math.min(MIN_PREFIX, length);
  let matched = 0;
  for (let i = 0; i <= text.length; i++) {
    while (matched > 0 && (matched === length || text[i] !== needle[matched])) {
      if (matched >= minLength) yield [i - matched, i];
      matched = shorter[matched - 1] ?? 0;
    }
    if (i < text.length && text[i] === needle[matched]) matched++;
  }
}
