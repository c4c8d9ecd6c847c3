/** The codes at the start of a line or of the next reply; white space; control characters and what stands for them. */
const GAP = /[\n\0]\d{3}[ -](?:\d\.\d{1,3}\.\d{1,3} )?|[\s\p{Cc}\ufffd]/uy;
/** What is a gap as well where an escape stands for it. */
const BLANK = /[\s\p{Cc}\ufffd]/u;

const fromHex = (digits: string): string => String.fromCodePoint(Number.parseInt(digits, 16));
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** How others write a character or a byte, as the one group of the pattern, and what such an escape stands for. */
const ESCAPES: readonly (readonly [RegExp, (found: string) => string])[] = [
  // Percent-encoding (RFC 3986), and that of forms.
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
  // HTML.
  [
    /(&(?:#\d{1,6}|#x[0-9a-f]{1,5}|lt|gt|amp|quot|apos);)/i,
    (it) =>
      ENTITIES[it.slice(1, -1).toLowerCase()] ??
      String.fromCodePoint(Number(it.slice(2, -1).replace(/^x/i, '0x'))),
  ],
];

/** A text as it is to be looked through, and where in the whole each character of it begins and ends. */
export interface Reading {
  text: string;
  starts: number[];
  ends: number[];
}

/** A text without its gaps. */
export function compact(text: string): Reading {
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

/** The same with one kind of escape read as what it stands for. */
function undo(whole: Reading, [pattern, read]: (typeof ESCAPES)[number]): Reading {
  const tokens = whole.text
    .split(pattern)
    .flatMap((part, index) =>
      index % 2 === 1
        ? [{ said: read(part), length: part.length }]
        : part.split('').map((said) => ({ said, length: 1 })),
    );
  const kept: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const { said, length } of tokens) {
    const [start = 0, end = 0] = [whole.starts[at], whole.ends[at + length - 1]];
    at += length;
    if (BLANK.test(said)) continue;
    kept.push(said);
    for (let unit = 0; unit < said.length; unit++) {
      starts.push(start);
      ends.push(end);
    }
  }
  return { text: kept.join(''), starts, ends };
}

/** A text without its gaps, as it is and with each kind of escape undone that it holds. */
export function readingsOf(text: string): Reading[] {
  const whole = compact(text);
  const kinds = ESCAPES.filter(([pattern]) => pattern.test(whole.text));
  return [whole, ...kinds.map((kind) => undo(whole, kind))];
}
