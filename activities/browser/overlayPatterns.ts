import { LANGUAGES, type OverlayPatterns, type OverlayWords } from './overlayWords.ts';
import { normalizeText } from './page/overlays/text.ts';

/**
 * Matches one letter of a script that separates words with spaces. Other scripts write no spaces or attach particles to
 * words, so their phrases are matched without word boundaries.
 */
const LETTER = String.raw`[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_]`;

const source = (phrase: string): string =>
  normalizeText(phrase.replace(/\*$/, ''))
    .replaceAll(/[.+?^${}()[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', String.raw`\p{L}*`);

function of(kind: keyof OverlayWords): string {
  const phrases = [...new Set(Object.values(LANGUAGES).flatMap((words) => words[kind].split('|')))];
  const spaced = phrases.filter((phrase) => new RegExp(`^${LETTER}`, 'u').test(phrase));
  const any = (some: readonly string[]) => `(?:${some.map(source).join('|')})`;
  return [
    `(?<!${LETTER})${any(spaced.filter((phrase) => !phrase.endsWith('*')))}(?!${LETTER})`,
    `(?<!${LETTER})${any(spaced.filter((phrase) => phrase.endsWith('*')))}`,
    any(phrases.filter((phrase) => !spaced.includes(phrase))),
  ].join('|');
}

/**
 * Patterns that match the phrases of all languages, because an overlay is often in another language than its page
 * declares.
 */
export const OVERLAY_PATTERNS: OverlayPatterns = {
  cookie: of('cookie'),
  uses: of('uses'),
  privacy: of('privacy'),
  accept: of('accept'),
  reject: of('reject'),
  manage: of('manage'),
  proceed: of('proceed'),
  close: of('close'),
  promotion: of('promotion'),
};
