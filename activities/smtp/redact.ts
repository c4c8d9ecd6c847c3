import { occurrences } from './occurrences.ts';
import { compact, type Reading, readingsOf } from './readings.ts';

/** What stands where something was cut out. */
const MARK = '***';
/** Parts the texts while they are looked through as one; replies hold no control characters. */
const SEAM = '\u0000';
/** Shorter secrets are looked for as words of their own: else half of all words would be cut. */
const SHORT = 4;

/** Without the hyphen of the URL-safe alphabet: it also follows a reply's code. */
const BASE64 = /[A-Za-z0-9+/=_]/;
const WORD = /[\p{L}\p{N}]/u;

/** In lower case, each character at its place. */
const fold = (text: string): string =>
  text.replace(/[\p{Lu}\p{Lt}]/gu, (char) => {
    const lower = char.toLowerCase();
    return lower.length === char.length ? lower : char;
  });

/** The URL-safe alphabet of base64 as the usual one. */
const usual = (text: string): string => text.replaceAll('-', '+').replaceAll('_', '/');

/** A secret as UTF-8 and, where it has one, as Latin-1. */
const bytesOf = (secret: string): Buffer[] =>
  /[^\0-\xff]/.test(secret) ? [Buffer.from(secret)] : [Buffer.from(secret), Buffer.from(secret, 'latin1')];

/** The part of the base64 of bytes that is the same whatever stands around them, for each place among three. */
const coresOf = (bytes: Buffer): string[] =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
  });

/** The ways in which a secret may come back: as it is, in hexadecimal. */
const spellingsOf = (secret: string): string[] => [
  secret,
  ...bytesOf(secret).flatMap((it) => [it.toString('latin1'), it.toString('hex')]),
];

/**
 * Makes what cuts credentials out of texts, wherever a server repeats them: in upper or lower case, in base64 at any
 * place of it, in hexadecimal, with any of their characters or bytes percent-encoded or escaped as in xtext,
 * quoted-printable, JSON, C or HTML, also in parts on several lines or with white space between.
 *
 * @param secrets user name and password
 * @param sent the base64 of what was sent to the server with them in it
 */
export function createRedactor(secrets: readonly string[], sent: readonly string[]) {
  const isShort = (secret: string): boolean => compact(secret).text.length < SHORT;
  const unique = (texts: string[]) => [...new Set(texts.filter(({ length }) => length >= SHORT))];
  const short = secrets.filter(isShort);
  const long = secrets.filter((secret) => !isShort(secret)).flatMap(spellingsOf);
  const plain = unique(long.map((text) => fold(compact(text).text)));
  const byteForms = secrets.flatMap(bytesOf).filter(({ length }) => length >= SHORT);
  const encoded = unique([...byteForms.flatMap(coresOf), ...sent.map((text) => text.replace(/={1,2}$/, ''))]);

  /** Which characters are to go. */
  function mask(text: string): Uint8Array {
    const cut = new Uint8Array(text.length);
    function search(
      { starts, ends }: Reading,
      where: string,
      needles: string[],
      widen: (from: number, to: number) => void,
    ): void {
      for (const needle of needles) {
        let done = 0;
        for (const [start, end] of occurrences(where, needle)) {
          const [from = 0, to = text.length] = [starts[start], ends[end - 1]];
          cut.fill(1, Math.max(from, done), to);
          done = to;
          widen(from, to);
        }
      }
    }
    // The characters next to it hold bits of it too.
    const widen = (from: number, to: number): void => {
      for (let i = from - 1; cut[i] === 0 && BASE64.test(text.charAt(i)); i--) cut[i] = 1;
      for (let i = to; cut[i] === 0 && BASE64.test(text.charAt(i)); i++) cut[i] = 1;
    };
    for (const reading of readingsOf(text)) {
      search(reading, fold(reading.text), plain, () => undefined);
      search(reading, usual(reading.text), encoded, widen);
    }
    const words = (where: string, needle: string): void => {
      for (const [start, end] of occurrences(where, needle))
        if (!WORD.test(text.charAt(start - 1)) && !WORD.test(text.charAt(end))) cut.fill(1, start, end);
    };
    for (const secret of short) {
      words(fold(text), fold(secret));
      words(text, Buffer.from(secret).toString('base64'));
    }
    return cut;
  }

  /** @returns the texts in their order, without the credentials */
  return function redact(texts: readonly string[]): string[] {
    if (secrets.length === 0 || texts.length === 0) return [...texts];
    const whole = texts.join(SEAM);
    const cut = mask(whole);
    const parts: string[] = [];
    for (let at = 0; at < whole.length; at++) {
      const char = whole.charAt(at);
      if (cut[at] === 0 || char === SEAM) parts.push(char);
      else if (cut[at - 1] !== 1 || whole.charAt(at - 1) === SEAM) parts.push(MARK);
    }
    return parts.join('').split(SEAM);
  };
}
