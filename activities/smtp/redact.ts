import { compact, type NormalizedText, normalizations } from './normalize.ts';
import { occurrences } from './occurrences.ts';

const REDACTED = '***';
/** Separates the texts while they are searched as one. It cannot occur in replies, whose control characters are replaced. */
const SEPARATOR = '\u0000';
/** Shorter secrets are redacted only as whole words, because they occur inside many other words. */
const MIN_SUBSTRING = 4;
/** Minimum length of the parts of what was sent that are redacted too: a digest in hexadecimal has 32. */
const MIN_SENT = 16;

/** A character of base64, except the hyphen of the URL-safe alphabet, because a hyphen also follows reply codes. */
const BASE64 = /[A-Za-z0-9+/=_]/;
const WORD = /[\p{L}\p{N}]/u;

/** Converts to lower case without changing the position of any character. */
const fold = (text: string): string =>
  text.replace(/[\p{Lu}\p{Lt}]/gu, (char) => {
    const lower = char.toLowerCase();
    return lower.length === char.length ? lower : char;
  });

/** Converts URL-safe base64 to standard base64. */
const toStandardBase64 = (text: string): string => text.replaceAll('-', '+').replaceAll('_', '/');

/** Reverses the UTF-16 code units of a text. */
const mirror = (text: string): string => text.split('').reverse().join('');

/** Encodes a secret as UTF-8 and, if possible, as Latin-1. */
const bytesOf = (secret: string): Buffer[] =>
  /[^\0-\xff]/.test(secret) ? [Buffer.from(secret)] : [Buffer.from(secret), Buffer.from(secret, 'latin1')];

/** Returns the base64 characters that do not depend on surrounding bytes, for each of the three alignments. */
const base64CoresOf = (bytes: Buffer): string[] =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
  });

/** Returns the forms in which a server may repeat a secret: unchanged or in hexadecimal. */
const formsOf = (secret: string): string[] => [
  secret,
  ...bytesOf(secret).flatMap((it) => [it.toString('latin1'), it.toString('hex')]),
];

/**
 * Creates a function that removes credentials from texts in which a server may repeat them: in upper or lower case, in
 * base64 at any alignment, in hexadecimal, percent-encoded, or escaped as in xtext, quoted-printable, JSON, C or HTML, even
 * when they are split over several lines or by white space, or only their first or last part of 16 characters or more is repeated.
 *
 * @param secrets user name and password, the password last
 * @param sent base64 texts that were sent to the server and contain credentials
 */
export function createRedactor(secrets: readonly string[], sent: readonly string[]) {
  const password = secrets.at(-1);
  const isShort = (secret: string): boolean => compact(secret).text.length < MIN_SUBSTRING;
  const unique = (texts: string[]) => [...new Set(texts.filter(({ length }) => length >= MIN_SUBSTRING))];
  const short = secrets.filter(isShort);
  // The digest of CRAM-MD5 is no secret text, but tells whether a guessed password is right.
  const parts = sent.flatMap((text) =>
    Buffer.from(text, 'base64')
      .toString('latin1')
      .split(/[\s\p{Cc}]/u),
  );
  const plainOf = (texts: readonly string[]): string[] =>
    unique(texts.flatMap(formsOf).map((text) => fold(compact(text).text)));
  const long = secrets.filter((secret) => !isShort(secret));
  const plain = plainOf([...long, ...parts.filter(({ length }) => length >= MIN_SENT)]);
  // The end of a user name is often a domain, which servers also say for other reasons.
  const plainEnds = plainOf(long.filter((secret) => secret === password));
  const byteForms = secrets.flatMap(bytesOf).filter(({ length }) => length >= MIN_SUBSTRING);
  const encoded = unique([
    ...byteForms.flatMap(base64CoresOf),
    ...sent.map((text) => text.replace(/={1,2}$/, '')),
  ]);

  /** Returns an array with a 1 at the position of each character to remove. */
  function mask(text: string): Uint8Array {
    const cut = new Uint8Array(text.length);
    function search(
      { starts, ends }: NormalizedText,
      haystack: string,
      needles: string[],
      needlesByEnd: string[],
      widen: (from: number, to: number) => void,
    ): void {
      for (const needle of needles) {
        let done = 0;
        for (const [start, end] of occurrences(haystack, needle)) {
          const [from = 0, to = text.length] = [starts[start], ends[end - 1]];
          cut.fill(1, Math.max(from, done), to);
          done = to;
          widen(from, to);
        }
      }
      const { length } = haystack;
      const mirrored = mirror(haystack);
      for (const needle of needlesByEnd) {
        let done = text.length;
        for (const [start, end] of occurrences(mirrored, mirror(needle))) {
          const [from = 0, to = text.length] = [starts[length - end], ends[length - start - 1]];
          cut.fill(1, from, Math.min(to, done));
          done = from;
          widen(from, to);
        }
      }
    }
    // Extends a match to adjacent base64 characters, which may encode further bits of the secret.
    const widen = (from: number, to: number): void => {
      for (let i = from - 1; cut[i] === 0 && BASE64.test(text.charAt(i)); i--) cut[i] = 1;
      for (let i = to; cut[i] === 0 && BASE64.test(text.charAt(i)); i++) cut[i] = 1;
    };
    for (const normalized of normalizations(text)) {
      search(normalized, fold(normalized.text), plain, plainEnds, () => undefined);
      search(normalized, toStandardBase64(normalized.text), encoded, encoded, widen);
    }
    const searchWords = (haystack: string, needle: string): void => {
      for (const [start, end] of occurrences(haystack, needle))
        if (!WORD.test(text.charAt(start - 1)) && !WORD.test(text.charAt(end))) cut.fill(1, start, end);
    };
    for (const secret of short) {
      searchWords(fold(text), fold(secret));
      searchWords(text, Buffer.from(secret).toString('base64'));
    }
    return cut;
  }

  /** Redacts texts. All texts must be passed together, so that secrets that are split between texts are found. */
  return function redact(texts: readonly string[]): string[] {
    if (secrets.length === 0 || texts.length === 0) return [...texts];
    const whole = texts.join(SEPARATOR);
    const cut = mask(whole);
    const parts: string[] = [];
    for (let at = 0; at < whole.length; at++) {
      const char = whole.charAt(at);
      if (cut[at] === 0 || char === SEPARATOR) parts.push(char);
      else if (cut[at - 1] !== 1 || whole.charAt(at - 1) === SEPARATOR) parts.push(REDACTED);
    }
    return parts.join('').split(SEPARATOR);
  };
}
