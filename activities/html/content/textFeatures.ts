import { type TextCounts, visitWords } from './characters.ts';
import { plain } from './metadataText.ts';
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
  /** Share of its sequences of three words that the page's JSON-LD has. */
  data: number;
  /** Whether it is a name in the page's JSON-LD, 0 or 1. */
  dataName: number;
  /** Words about cookies, per word. */
  cookies: number;
  phrases: readonly number[];
  /** Number of blocks with this text. */
  copies: number;
}

const WORD = /[\p{L}\p{N}_]+/gu;
/** Longest text that is compared with the title and the description. */
const MAX_COMPARED = 600;
/** Number of consecutive words that are compared with JSON-LD as one unit. */
const SHINGLE = 3;
/** Longest text that is compared with JSON-LD, and how much of the JSON-LD, in characters. */
const MAX_DATA_COMPARED = 5000;
const MAX_DATA = 200_000;
/** Objects of JSON-LD that can be what a page is about, and their fields. */
const DATA_TYPES =
  /product|vehicle|book|movie|question|answer|comment|article|posting|report|recipe|howto|course|event|service|application/i;
const DATA_FIELDS = ['description', 'articleBody', 'text', 'name', 'headline'];

/** Number for words that can be equal: of the first character and the length. */
const kindOf = (text: string, start: number, end: number): number =>
  text.charCodeAt(start) * 64 + Math.min(63, end - start);

/** Returns a hash for each word of a text. */
function hashWords(text: string): number[] {
  const lower = text.toLowerCase();
  const hashes: number[] = [];
  visitWords(lower, (start, end) => {
    let hash = 0;
    for (let at = start; at < end; at++) hash = Math.imul(hash, 31) + lower.charCodeAt(at);
    hashes.push(hash | 0);
  });
  return hashes;
}

/** Returns one hash for some consecutive words. */
function combine(hashes: readonly number[], start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at++) hash = Math.imul(hash, 0x01000193) ^ (hashes[at] ?? 0);
  return hash;
}

type DataReader = (text: string) => { data: number; dataName: number };

/** Creates a function that compares a text with what the objects of JSON-LD say. */
function createDataReader(objects: readonly Record<string, unknown>[]): DataReader {
  const shingles = new Set<number>();
  const names = new Set<number>();
  let rest = MAX_DATA;
  for (const it of objects) {
    if (!DATA_TYPES.test(String(it['@type']))) continue;
    for (const field of DATA_FIELDS) {
      const value = it[field];
      if (typeof value !== 'string' || value.length > rest) continue;
      rest -= value.length;
      const hashes = hashWords(plain(value));
      if (field === 'name' || field === 'headline') names.add(combine(hashes, 0, hashes.length));
      else
        for (let at = 0; at + SHINGLE <= hashes.length; at++) shingles.add(combine(hashes, at, at + SHINGLE));
    }
  }
  if (shingles.size + names.size === 0) return () => ({ data: 0, dataName: 0 });
  return (text) => {
    if (text.length > MAX_DATA_COMPARED) return { data: 0, dataName: 0 };
    const hashes = hashWords(text);
    const count = hashes.length - SHINGLE + 1;
    let found = 0;
    for (let at = 0; at < count; at++) if (shingles.has(combine(hashes, at, at + SHINGLE))) found++;
    return {
      data: found / Math.max(1, count),
      dataName: names.has(combine(hashes, 0, hashes.length)) ? 1 : 0,
    };
  };
}

/**
 * Creates a function that reads a text. It returns the same object for equal texts, and counts how often it read them.
 *
 * @param data the objects of the page's JSON-LD
 */
export function createTextReader(
  title: string,
  summary: string,
  data: readonly Record<string, unknown>[],
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
  const readData = createDataReader(data);
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
      ...readData(text),
      cookies: (text.match(/cookie|consent|partner|personal data/gi)?.length ?? 0) / Math.max(1, words),
      phrases: readPhrases(text),
      copies: 1,
    };
    known.set(text, made);
    return made;
  };
}
