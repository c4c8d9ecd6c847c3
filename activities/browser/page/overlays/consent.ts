/// <reference lib="dom" />
import type { Candidate } from './candidate.ts';
import { nameOf, type Words } from './text.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/** Whether a text is long enough to be a sentence, not a title or a name, in scripts with and without spaces. */
export function isSentence(text: string): boolean {
  return (
    /[.!?。！？]/u.test(text) || text.split(' ').length >= 5 || /[^\p{Script=Latin}\P{L}]{8}/u.test(text)
  );
}

/** Whether a sentence of the text says that cookies are used. */
export function mentionsCookieUse(text: string, words: Words): boolean {
  return text
    .split(/[.!?。！？;:]\s*/u)
    .some((sentence) => words.cookie.test(sentence) && words.uses.test(sentence));
}

/** Whether an element contains a sentence about cookies or privacy, and controls to answer it. */
export function asksConsent(candidate: Candidate, words: Words): boolean {
  const { element, prose, proseWithHeadings, accepts, rejects, atSide } = candidate;
  if (candidate.isForm) return false;
  // Sticky elements and full-height side panels are usually parts of the page.
  const part = candidate.style.position === 'sticky' || atSide;
  if (mentionsCookieUse(prose, words))
    if (accepts || rejects || (!part && candidate.proceeds) || (!atSide && candidate.closes)) return true;
  if (part || !accepts) return false;
  if (words.privacy.test(prose) && isSentence(prose)) return true;
  if (!rejects && !candidate.manages) return false;
  if (!words.cookie.test(proseWithHeadings) && !words.privacy.test(proseWithHeadings)) return false;
  const named = element.matches('[role="dialog"], dialog') || /cookie|consent|gdpr/i.test(nameOf(element));
  return named || isSentence(proseWithHeadings) || mentionsCookieUse(proseWithHeadings, words);
}
