/// <reference lib="dom" />
import { elementsIn, normalizeText, ownText, visibleTextOf, type Words } from './text.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/** Which controls an element contains, by their purpose. */
export interface Controls {
  accepts: boolean;
  rejects: boolean;
  manages: boolean;
  proceeds: boolean;
  closes: boolean;
  /** Whether the element has a button, a link or a text field. */
  hasControls: boolean;
  /** Number of links that, judging by their labels, do not accept, reject or close anything. */
  links: number;
  /** Whether the element has one to three text fields. */
  hasTextField: boolean;
  hasEmailField: boolean;
  /** Whether the element has several checkboxes or radio buttons. */
  hasCheckboxes: boolean;
  /** Whether the element has more fields, or other kinds of fields, than a promotion asks for. */
  isForm: boolean;
}

/** Finds the controls in an element and derives their purpose from their labels. */
export function controlsOf(root: Element, words: Words): Controls {
  const inside = [root, ...elementsIn(root)].filter((each) => each.checkVisibility());
  const having = (selector: string): Element[] => inside.filter((each) => each.matches(selector));
  const pressed = inside.filter(
    (each) =>
      each.matches(
        'button, a, [role="button"], [onclick], input[type="submit"], input[type="button"], [class*="btn" i], [class*="button" i]',
      ) ||
      (each !== root && ownText(each) !== '' && getComputedStyle(each).cursor === 'pointer'),
  );
  const named = (element: Element): string =>
    normalizeText(element.getAttribute('aria-label') ?? element.getAttribute('title') ?? '');
  const labels = pressed.map((element) => ({
    link: element.closest('a') !== null,
    label: normalizeText(visibleTextOf(element) || (element.getAttribute('value') ?? '')) || named(element),
  }));
  // A link with a short label counts as an answer to a dialog; a link with a long label is part of a text.
  const answers = labels.filter(
    ({ label, link }) => label.length <= (link ? 30 : 50) && (!link || label.split(' ').length <= 4),
  );
  const some = (kind: keyof Words): boolean => answers.some(({ label }) => words[kind].test(label));
  const isAnswer = (label: string) =>
    words.accept.test(label) || words.reject.test(label) || words.close.test(label);
  const SIGN = /^[×✕✖✗✘⨯╳🗙❌]$/u;
  const OTHER = /menu|nav|search|side ?bar|filter|cart|basket|panel|directions|tab\b/;
  const isCloser = (element: Element): boolean => {
    if (SIGN.test(visibleTextOf(element))) return !OTHER.test(named(element));
    const word = normalizeText(visibleTextOf(element)) || named(element);
    const isCloseLabel =
      pressed.includes(element) &&
      (word.search(words.close) === 0 || word === 'x' || named(element).search(words.close) === 0);
    if (isCloseLabel) return word.length <= 40 && !OTHER.test(word) && !OTHER.test(named(element));
    const names = `${element.id} ${element.getAttribute('class') ?? ''}`;
    return (
      element !== root &&
      visibleTextOf(element).length <= 20 &&
      /(?<![a-z])close(?!d|st)|Close(?!d|st)/.test(names) &&
      !OTHER.test(normalizeText(names)) &&
      !OTHER.test(named(element))
    );
  };
  const lines = having(
    'input:not([type]), input[type="text" i], input[type="email" i], input[type="tel" i], input[type="" i]',
  );
  const hasEmailField =
    having(
      'input[type="email" i], input[name*="mail" i], input[id*="mail" i], input[placeholder*="mail" i], input[autocomplete="email"]',
    ).length > 0;
  return {
    accepts: some('accept'),
    rejects: some('reject'),
    manages: some('manage'),
    proceeds: some('proceed'),
    // An overlay has one close button. Two or more close signs usually remove items of a list, so they do not count.
    closes: inside.some(isCloser) && inside.filter((each) => SIGN.test(ownText(each))).length < 2,
    hasControls: pressed.length > 0 || lines.length > 0,
    links: having('a').filter((link) => !isAnswer(normalizeText(visibleTextOf(link)))).length,
    hasTextField: lines.length > 0 && lines.length <= 3,
    hasEmailField,
    isForm:
      having(
        'textarea, select, [contenteditable=""], [contenteditable="true"], input[type="password" i], input[type="file" i], input[type="number" i], input[type="range" i], input[type="date" i], input[type="search" i], [role="searchbox"], [role="combobox"]',
      ).length > 0 || lines.length > 3,
    hasCheckboxes: having('input[type="checkbox" i], input[type="radio" i]').length > 1,
  };
}
