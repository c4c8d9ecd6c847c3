import { type TextCounts, visitWords } from './characters.ts';
import { readPhrases } from './phrases.ts';

/** Features of the text of a block. Blocks with the same text share them. */
export interface TextFeatures {
  /** Whether the text ends like a sentence, 0 or 1. */
  ends: number;
  /** Shares of the characters. */
  digits: number;
  upper: number;
  /** Whether the text begins with a small letter, 0 or 1. */
  first: number;
  /** How much of it the title and the description of the page have. */
  title: number;
  meta: number;
  /** Words about cookies, per word. */
  cookies: number;
  phrases: readonly number[];
  /** Number of blocks with this text. */
  copies: number;
}

const WORD = /[\p{L}\p{N}_]+/gu;
/** Longest text that is compared with the title and the description. */
const MAX_COMPARED = 600;

/** Number for words that can be equal: of the first character and the length. */
const kindOf = (text: string, start: number, end: number): number =>
  text.charCodeAt(start) * 64 + Math.min(63, end - start);

/** Creates a function that reads a text. It returns the same object for equal texts, and counts how often it read them. */
export function createTextReader(
  title: string,
  summary: string,
): (text: string, counts: TextCounts) => TextFeatures {
  const titleWords = new Set(title.toLowerCase().match(WORD));
  const summaryWords = new Set(summary.toLowerCase().match(WORD));
  const kinds = new Set([...titleWords, ...summaryWords].map((word) => kindOf(word, 0, word.length)));
  const overlaps = (text: string): { title: number; meta: number } => {
    if (kinds.size === 0 || text.length > MAX_COMPARED) return { title: 0, meta: 0 };
    const lower = text.toLowerCase();
    let [own, inTitle, inSummary] = [0, 0, 0];
    visitWords(lower, (start, end) => {
      own++;
      if (!kinds.has(kindOf(lower, start, end))) return;
      const word = lower.slice(start, end);
      if (titleWords.has(word)) inTitle++;
      if (summaryWords.has(word)) inSummary++;
    });
    const share = (found: number, words: ReadonlySet<string>): number =>
      found === 0 ? 0 : found / Math.max(own, Math.min(8, words.size));
    return { title: share(inTitle, titleWords), meta: share(inSummary, summaryWords) };
  };
  const known = new Map<string, TextFeatures>();
  return (text, { words, digits, upper }) => {
    const before = known.get(text);
    if (before !== undefined) {
      before.copies++;
      return before;
    }
    const made = {
      ends: /[.!?:…。]["”’)]?$/.test(text.slice(-2)) ? 1 : 0,
      digits: digits / text.length,
      upper: upper / text.length,
      first: /^\p{Ll}/u.test(text) ? 1 : 0,
      ...overlaps(text),
      cookies: (text.match(/cookie|consent|partner|personal data/gi)?.length ?? 0) / Math.max(1, words),
      phrases: readPhrases(text),
      copies: 1,
    };
    known.set(text, made);
    return made;
  };
}
