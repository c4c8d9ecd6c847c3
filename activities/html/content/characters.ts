/** Numbers of characters and words of a text. */
export interface TextCounts {
  words: number;
  commas: number;
  /** Ends of sentences: a full stop, question or exclamation mark before a space or the end. */
  sentences: number;
  digits: number;
  upper: number;
}

const WORD = 1;
const UPPER = 2;
const DIGIT = 4;
const COMMA = 8;
const STOP = 16;
const QUOTE = 32;
const SPACE = 64;
const KNOWN = 128;
const CLASSES: readonly (readonly [number, RegExp])[] = [
  [WORD, /[\p{L}\p{N}_]/u],
  [UPPER, /\p{Lu}/u],
  [DIGIT, /[0-9]/],
  [COMMA, /[,;:，、]/],
  [STOP, /[.!?。]/],
  [QUOTE, /["”’)]/],
  [SPACE, /\s/],
];
/** Classes of the characters that were met, by code unit. A table is many times as fast as the patterns. */
const known = new Uint8Array(0x10000);

function classify(code: number): number {
  const character = String.fromCodePoint(code);
  let found = KNOWN;
  for (const [bit, pattern] of CLASSES) if (pattern.test(character)) found |= bit;
  if (code < known.length) known[code] = found;
  return found;
}

/** Returns the classes of the character at an index. @returns 0 at the end of the text */
function classAt(text: string, at: number): number {
  if (at >= text.length) return 0;
  const unit = text.charCodeAt(at);
  if (unit < 0xd800 || unit > 0xdfff) return known[unit] || classify(unit);
  return classify(text.codePointAt(at) ?? 0);
}

const widthAt = (text: string, at: number): number => {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00 && (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
};

/** Counts characters and words. A word is a sequence of letters, digits and underscores. */
export function countCharacters(text: string): TextCounts {
  let [words, commas, sentences, digits, upper] = [0, 0, 0, 0, 0];
  let before = 0;
  for (let at = 0; at < text.length; at += widthAt(text, at)) {
    const found = classAt(text, at);
    if ((found & WORD) !== 0) {
      if ((before & WORD) === 0) words++;
      if ((found & DIGIT) !== 0) digits++;
      if ((found & UPPER) !== 0) upper++;
    } else if ((found & COMMA) !== 0) commas++;
    else if ((found & STOP) !== 0) {
      let next = classAt(text, at + 1);
      if ((next & QUOTE) !== 0) next = classAt(text, at + 2);
      if (next === 0 || (next & SPACE) !== 0) sentences++;
    }
    before = found;
  }
  return { words, commas, sentences, digits, upper };
}

/** Yields the words of a text in order to `visit`, until the end. */
export function visitWords(text: string, visit: (start: number, end: number) => void): void {
  let start = -1;
  for (let at = 0; at < text.length; at += widthAt(text, at)) {
    const isWord = (classAt(text, at) & WORD) !== 0;
    if (isWord && start < 0) start = at;
    else if (!isWord && start >= 0) {
      visit(start, at);
      start = -1;
    }
  }
  if (start >= 0) visit(start, text.length);
}
