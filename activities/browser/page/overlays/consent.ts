/// <reference lib="dom" />
import type { Sight } from './sight.ts';
import { nameOf, type Words } from './text.ts';

// These run in the page, where they know each other by their names.

/** Whether a text is more than a title or a name, in scripts with and without spaces. */
export function isSentence(text: string): boolean {
  return (
    /[.!?。！？]/u.test(text) || text.split(' ').length >= 5 || /[^\p{Script=Latin}\P{L}]{8}/u.test(text)
  );
}

/** That cookies are used, in one sentence. */
export function tellsOfCookies(text: string, words: Words): boolean {
  return text
    .split(/[.!?。！？;:]\s*/u)
    .some((sentence) => words.cookie.test(sentence) && words.uses.test(sentence));
}

/** A sentence about cookies or privacy with what answers it. */
export function asksConsent(sight: Sight, words: Words): boolean {
  const { element, said, titled, accepts, rejects, atSide } = sight;
  if (sight.work) return false;
  // What is in the flow of the page, or as high as the window, is rather a part of it.
  const part = sight.style.position === 'sticky' || atSide;
  if (tellsOfCookies(said, words))
    if (accepts || rejects || (!part && sight.proceeds) || (!atSide && sight.closes)) return true;
  if (part || !accepts) return false;
  if (words.privacy.test(said) && isSentence(said)) return true;
  if (!rejects && !sight.manages) return false;
  if (!words.cookie.test(titled) && !words.privacy.test(titled)) return false;
  const named = element.matches('[role="dialog"], dialog') || /cookie|consent|gdpr/i.test(nameOf(element));
  return named || isSentence(titled) || tellsOfCookies(titled, words);
}
