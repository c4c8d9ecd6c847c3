/// <reference lib="dom" />
import { everythingIn, ownText, plain, textOf, type Words } from './text.ts';

// These run in the page, where they know each other by their names.

/** What a visitor can do with an element. */
export interface Controls {
  accepts: boolean;
  rejects: boolean;
  manages: boolean;
  proceeds: boolean;
  /** It can be sent away. */
  closes: boolean;
  /** There is something to press or to fill in. */
  any: boolean;
  /** Links that answer nothing. */
  links: number;
  /** It asks for one line of text, or for an e-mail address. */
  asksLine: boolean;
  asksAddress: boolean;
  /** There are several boxes to tick. */
  ticks: boolean;
  /** More is to be filled in than a promotion asks for: it is there to be worked with. */
  work: boolean;
}

/** Tells what can be pressed, followed and filled in within an element, by what is to be read there. */
export function controlsOf(root: Element, words: Words): Controls {
  const inside = [root, ...everythingIn(root)].filter((each) => each.checkVisibility());
  const having = (selector: string): Element[] => inside.filter((each) => each.matches(selector));
  const pressed = inside.filter(
    (each) =>
      each.matches(
        'button, a, [role="button"], [onclick], input[type="submit"], input[type="button"], [class*="btn" i], [class*="button" i]',
      ) ||
      (each !== root && ownText(each) !== '' && getComputedStyle(each).cursor === 'pointer'),
  );
  const named = (element: Element): string =>
    plain(element.getAttribute('aria-label') ?? element.getAttribute('title') ?? '');
  const labels = pressed.map((element) => ({
    link: element.closest('a') !== null,
    label: plain(textOf(element) || (element.getAttribute('value') ?? '')) || named(element),
  }));
  // A link is an answer when it says nothing else.
  const answers = labels.filter(
    ({ label, link }) => label.length <= (link ? 30 : 50) && (!link || label.split(' ').length <= 4),
  );
  const some = (kind: keyof Words): boolean => answers.some(({ label }) => words[kind].test(label));
  const isAnswer = (label: string) =>
    words.accept.test(label) || words.reject.test(label) || words.close.test(label);
  const SIGN = /^[×✕✖✗✘⨯╳🗙❌]$/u;
  const OTHER = /menu|nav|search|side ?bar|filter|cart|basket|panel|directions|tab\b/;
  const isCloser = (element: Element): boolean => {
    if (SIGN.test(textOf(element))) return !OTHER.test(named(element));
    const word = plain(textOf(element)) || named(element);
    const said =
      pressed.includes(element) &&
      (word.search(words.close) === 0 || word === 'x' || named(element).search(words.close) === 0);
    if (said) return word.length <= 40 && !OTHER.test(word) && !OTHER.test(named(element));
    const names = `${element.id} ${element.getAttribute('class') ?? ''}`;
    return (
      element !== root &&
      textOf(element).length <= 20 &&
      /(?<![a-z])close(?!d|st)|Close(?!d|st)/.test(names) &&
      !OTHER.test(plain(names)) &&
      !OTHER.test(named(element))
    );
  };
  const lines = having(
    'input:not([type]), input[type="text" i], input[type="email" i], input[type="tel" i], input[type="" i]',
  );
  const asksAddress =
    having(
      'input[type="email" i], input[name*="mail" i], input[id*="mail" i], input[placeholder*="mail" i], input[autocomplete="email"]',
    ).length > 0;
  return {
    accepts: some('accept'),
    rejects: some('reject'),
    manages: some('manage'),
    proceeds: some('proceed'),
    // Several signs belong to what is listed.
    closes: inside.some(isCloser) && inside.filter((each) => SIGN.test(ownText(each))).length < 2,
    any: pressed.length > 0 || lines.length > 0,
    links: having('a').filter((link) => !isAnswer(plain(textOf(link)))).length,
    asksLine: lines.length > 0 && lines.length <= 3,
    asksAddress,
    work:
      having(
        'textarea, select, [contenteditable=""], [contenteditable="true"], input[type="password" i], input[type="file" i], input[type="number" i], input[type="range" i], input[type="date" i], input[type="search" i], [role="searchbox"], [role="combobox"]',
      ).length > 0 || lines.length > 3,
    ticks: having('input[type="checkbox" i], input[type="radio" i]').length > 1,
  };
}
