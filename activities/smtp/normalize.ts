/** Text to ignore in the search for secrets: reply codes at line starts, white space, control characters and U+FFFD. */
const GAP = /[\n\0]\d{3}[ -](?:\d\.\d{1,3}\.\d{1,3} )?|[\s\p{Cc}\ufffd]/uy;
/** Characters to ignore in the search for secrets when they are the result of decoding an escape sequence. */
const BLANK = /[\s\p{Cc}\ufffd]/u;

const fromHex = (digits: string): string => String.fromCodePoint(Number.parseInt(digits, 16));
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Escape notations: a pattern whose only group is an escape sequence, and a function that decodes the sequence. */
const ESCAPES: readonly (readonly [RegExp, (found: string) => string])[] = [
  // Percent-encoding (RFC 3986), and form encoding, in which `+` is a space.
  [/(%[0-9a-f]{2})/i, (it) => fromHex(it.slice(1))],
  [/(%[0-9a-f]{2}|\+)/i, (it) => (it === '+' ? ' ' : fromHex(it.slice(1)))],
  // xtext (RFC 3461 section 4), quoted-printable (RFC 2045 section 6.7).
  [/(\+[0-9a-f]{2})/i, (it) => fromHex(it.slice(1))],
  [/(=[0-9a-f]{2})/i, (it) => fromHex(it.slice(1))],
  // JSON (RFC 8259 section 7) and C.
  [
    /(\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[!-/:-@[-`{-~]))/i,
    (it) => (it.length === 2 ? it.slice(1) : fromHex(it.slice(2))),
  ],
  // HTML character references.
  [
    /(&(?:#\d{1,6}|#x[0-9a-f]{1,5}|lt|gt|amp|quot|apos);)/i,
    (it) =>
      ENTITIES[it.slice(1, -1).toLowerCase()] ??
      String.fromCodePoint(Number(it.slice(2, -1).replace(/^x/i, '0x'))),
  ],
];

/** A normalized text, with the position of each character in the original. */
export interface NormalizedText {
  text: string;
  starts: number[];
  ends: number[];
}

/**
 * Removes SMTP reply codes, white space and control characters, and records the position of each remaining character in
 * the original text, so that matches can be located there.
 */
export function compact(text: string): NormalizedText {
  const starts: number[] = [];
  const kept: string[] = [];
  for (let at = 0; at < text.length; ) {
    GAP.lastIndex = at;
    if (/[!-~]/.test(text.charAt(at)) || !GAP.test(text)) {
      starts.push(at);
      kept.push(text.charAt(at++));
    } else at = GAP.lastIndex;
  }
  return { text: kept.join(''), starts, ends: starts.map((at) => at + 1) };
}

/** Decodes the escape sequences of one notation, and keeps the positions in the original text. */
function decodeEscapes(whole: NormalizedText, [pattern, decode]: (typeof ESCAPES)[number]): NormalizedText {
  const tokens = whole.text
    .split(pattern)
    .flatMap((part, index) =>
      index % 2 === 1
        ? [{ decoded: decode(part), length: part.length }]
        : part.split('').map((decoded) => ({ decoded, length: 1 })),
    );
  const kept: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const { decoded, length } of tokens) {
    const [start = 0, end = 0] = [whole.starts[at], whole.ends[at + length - 1]];
    at += length;
    if (BLANK.test(decoded)) continue;
    kept.push(decoded);
    for (let unit = 0; unit < decoded.length; unit++) {
      starts.push(start);
      ends.push(end);
    }
  }
  return { text: kept.join(''), starts, ends };
}

/** Returns the compacted text, and one more version for each escape notation in it, with its sequences decoded. */
export function normalizations(text: string): NormalizedText[] {
  const whole = compact(text);
  const kinds = ESCAPES.filter(([pattern]) => pattern.test(whole.text));
  return [whole, ...kinds.map((kind) => decodeEscapes(whole, kind))];
}
