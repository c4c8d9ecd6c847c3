import type { CheerioAPI } from 'cheerio/slim';
import { type Element, isTag, isText } from 'domhandler';
import { type Declaration, type Declarations, override, readDeclarations } from './declarations.ts';
import { mediaApplies } from './mediaQueries.ts';
import type { Scopes } from './shadow.ts';

/** Declarations of the page's style sheets, by the element that they apply to. */
export type StyleSheets = ReadonlyMap<Element, Declarations>;

interface Rule {
  selector: string;
  /** The rule with the higher specificity wins; if both are equal, the later rule. */
  specificity: number;
  declarations: Declarations;
  /** The host of the shadow root that the rule applies in; undefined for a rule of the document. */
  scope: Element | undefined;
  /** To which elements it applies: those of the scope, its host, or those that are in its slots. */
  to: 'scope' | 'host' | 'slotted';
}

const LIMITS = {
  rules: 5000,
  /**
   * Limit for the time of matching, in steps of about one microsecond: the sum over all rules of the elements that may
   * match.
   */
  steps: 1_500_000,
};
/** Steps per element for a selector with combinators, because matching it also examines ancestors. */
const COMBINATOR_STEPS = 8;

/** Longest selector in characters. Longer ones are skipped, because the time of matching grows with their length. */
const SELECTOR_LENGTH = 1000;

/**
 * Matches selectors that consist of type, class, id and attribute selectors and of descendant and child combinators.
 * Pseudo-classes are excluded because the state of elements is unknown; sibling combinators are excluded because
 * matching them takes more than linear time.
 */
const SELECTOR = /^(?:[^:~+<()\\]|\\.)+$/s;
/**
 * Matches at-rules that contain rules. `@supports` asks for features that browsers have; with `not`, for features that
 * they lack.
 */
const GROUP = /^\s*@(media|supports|layer)\b(.*)$/is;

function groupApplies(prelude: string): boolean {
  const [, name, condition = ''] = GROUP.exec(prelude) ?? [];
  if (name === undefined) return false;
  if (name.toLowerCase() === 'media') return mediaApplies(condition);
  return !/^\s*not\b/i.test(condition);
}

/** `<!--` and `-->`, which style sheets may contain between rules. */
const MARKS = /<!--|-->/g;
/**
 * Matches the tokens of CSS that rules are found by: comments, strings, which end at the end of the line if they are not
 * closed, escaped characters, brackets and semicolons; and the text between them.
 */
const TOKEN =
  /\/\*.*?(?:\*\/|$)|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?|\\.|[{}()[\];]|\/?[^{}()[\];"'\\/]+|./gs;
/** Matches comments, and strings with characters that separate selectors or declarations outside strings. */
const BLANKED = /^(?:\/\*|["'].*[{}();[\]])/s;
const CLOSING: ReadonlyMap<string, string> = new Map([
  ['{', '}'],
  ['(', ')'],
  ['[', ']'],
]);

/** Yields the tokens of a style sheet, with a space for each that `BLANKED` matches. */
function* tokensOf(css: string): Generator<string, undefined> {
  for (const [token] of css.replaceAll(MARKS, ' ').matchAll(TOKEN)) yield BLANKED.test(token) ? ' ' : token;
}

/**
 * Opens or closes a block, if the token does so.
 *
 * @param open the closing brackets of the open blocks, innermost last. Another closing bracket closes no block
 */
function nest(open: string[], token: string): void {
  const closing = CLOSING.get(token);
  if (closing !== undefined) open.push(closing);
  else if (token === open.at(-1)) open.pop();
}

/** Reads the rest of a rule's block. Returns it without nested rules and without the content of other blocks. */
function readBlock(tokens: Iterator<string, undefined>): string {
  const open = ['}'];
  let body = '';
  let declaration = '';
  for (let token = tokens.next().value; token !== undefined; token = tokens.next().value) {
    const { length: depth } = open;
    nest(open, token);
    if (open.length === 0) break;
    if (Math.min(depth, open.length) > 1) continue;
    // The text before an opening brace is the selector of a nested rule, not a declaration.
    declaration = token === '{' || token === '}' ? '' : declaration + token;
    if (token !== ';') continue;
    body += declaration;
    declaration = '';
  }
  return body + declaration;
}

/**
 * Yields the selectors and the declarations of each rule. Skips rules for other media and nested rules.
 *
 * This is no library because none bounds its work: css-tree 3.2 finds the same rules in the 672 style sheets of this
 * project's npm packages, but takes minutes for some texts of 1 MB, where this takes at most 0.5 s. postcss 8.5 rejects
 * style sheets that browsers accept, and exhausts the stack with nested rules. With a library only for the tokens
 * (@csstools/css-tokenizer 4.0), this file would be as long.
 */
function* rulesOf(css: string): Generator<[selectors: string, body: string]> {
  const tokens = tokensOf(css);
  const open: string[] = [];
  let groups = 0;
  let prelude = '';
  let isAtRule = false;
  for (let token = tokens.next().value; token !== undefined; token = tokens.next().value) {
    const isOuter = open.length === 0;
    if (isOuter && token === '{') {
      if (isAtRule && groupApplies(prelude)) groups++;
      else {
        const body = readBlock(tokens);
        if (!isAtRule) yield [prelude, body];
      }
    } else if (isOuter && token === '}' && groups > 0) groups--;
    else if (!isOuter || !isAtRule || token !== ';') {
      const text = prelude.length === 0 ? token.trimStart() : token;
      if (prelude.length === 0) isAtRule = text.startsWith('@');
      // A surplus bracket or semicolon stays in the prelude and makes the selectors after it invalid, as CSS requires.
      prelude += text;
      nest(open, token);
      continue;
    }
    prelude = '';
    isAtRule = false;
  }
}

/** `:host`, `:host(selector)` and `::slotted(selector)` (CSS Scoping, section 3). */
const OUTSIDE = /^(?::host(?:\(([^()]*)\))?|::slotted\(([^()]*)\))$/;
/** Rules of a page win over those of a shadow root for its host and for what is in its slots (CSS Scoping, section 3.3). */
const WEAKEST = -1;

/** Returns the rule for a selector; null if it cannot be matched. */
function readRule(given: string, scope: Element | undefined): Omit<Rule, 'declarations'> | null {
  const outside = scope === undefined ? null : OUTSIDE.exec(given);
  const selector =
    outside === null ? given.replace(/^:host\s+/, '') : (outside[1] ?? outside[2] ?? '*').trim();
  if (selector.length > SELECTOR_LENGTH || !SELECTOR.test(selector)) return null;
  if (outside === null) return { selector, specificity: specificityOf(selector), scope, to: 'scope' };
  return { selector, specificity: WEAKEST, scope, to: outside[2] === undefined ? 'host' : 'slotted' };
}

/** Whether an element is in a slot of the shadow root of a host. */
function isSlotted({ parent }: Element, host: Element | undefined, scopes: Scopes): boolean {
  return parent !== null && isTag(parent) && parent.name === 'slot' && scopes.get(parent) === host;
}

/** Returns the specificity (Selectors Level 4, section 17) of a selector that `SELECTOR` matches. */
function specificityOf(selector: string): number {
  const count = (part: RegExp): number => selector.match(part)?.length ?? 0;
  return 1e6 * count(/#/g) + 1e3 * count(/[.[]/g) + count(/(?:^|[\s>])[a-z]/gi);
}

function readRules($: CheerioAPI, scopes: Scopes, maxRules: number): Rule[] {
  const rules: Rule[] = [];
  for (const element of $('style').toArray().filter(isTag)) {
    if (!mediaApplies(element.attribs.media ?? '')) continue;
    const css = element.children.map((child) => (isText(child) ? child.data : '')).join('');
    for (const [selectors, body] of rulesOf(css)) {
      const declarations = readDeclarations(body);
      const parts = selectors.split(',').map((part) => part.trim());
      if (declarations.size === 0 || parts.includes('')) continue;
      for (const part of parts) {
        const rule = readRule(part, scopes.get(element));
        if (rule !== null && rules.length < maxRules) rules.push({ ...rule, declarations });
      }
    }
  }
  return rules.sort((a, b) => a.specificity - b.specificity);
}

/**
 * Returns a function that finds the elements that may match a selector, by the id, class or type that the selector
 * requires.
 */
function indexElements($: CheerioAPI): (selector: string) => readonly Element[] {
  const all = $('*').toArray().filter(isTag);
  const found = new Map<string, Element[]>();
  for (const element of all) {
    const classes = new Set((element.attribs.class ?? '').split(/[\t\n\f\r ]+/));
    for (const key of [
      element.name.toLowerCase(),
      `#${element.attribs.id}`,
      ...[...classes].map((name) => `.${name}`),
    ]) {
      const known = found.get(key);
      if (known === undefined) found.set(key, [element]);
      else known.push(element);
    }
  }
  return (selector) => {
    const last = selector
      .replace(/\[[^[\]]*\]/g, '[]')
      .split(/[\s>]+/)
      .at(-1);
    if (last === undefined || /[\\"']/.test(last)) return all;
    const key = /#[^.#[]+/.exec(last) ?? /\.[^.#[]+/.exec(last) ?? /^[^.#[*]+/.exec(last);
    if (key === null) return all;
    return found.get(/^[#.]/.test(key[0]) ? key[0] : key[0].toLowerCase()) ?? [];
  };
}

function matching($: CheerioAPI, candidates: readonly Element[], selector: string): Element[] {
  try {
    return $([...candidates])
      .filter(selector)
      .toArray();
  } catch {
    return []; // The selector is invalid.
  }
}

/**
 * Returns the declarations that a page's `style` elements give to each element. Returns an empty map when matching the
 * selectors would take too long.
 */
export function readStyleSheets(
  $: CheerioAPI,
  scopes: Scopes = new Map(),
  limits: { rules: number; steps: number } = LIMITS,
): StyleSheets {
  const found = new Map<Element, Map<string, Declaration>>();
  const rules = readRules($, scopes, limits.rules);
  if (rules.length === 0) return found;
  const candidatesOf = indexElements($);
  const steps = rules.reduce(
    (sum, { selector }) =>
      sum + candidatesOf(selector).length * (/[\s>]/.test(selector) ? COMBINATOR_STEPS : 1),
    0,
  );
  if (steps > limits.steps) return found;
  const appliesTo = ({ scope, to }: Rule, element: Element): boolean => {
    if (to === 'host') return element === scope;
    if (to === 'scope') return scopes.get(element) === scope;
    return scopes.get(element) !== scope && isSlotted(element, scope, scopes);
  };
  for (const rule of rules) {
    const { selector, declarations } = rule;
    const all = candidatesOf(selector);
    const candidates = scopes.size === 0 ? all : all.filter((element) => appliesTo(rule, element));
    if (candidates.length === 0) continue;
    for (const element of matching($, candidates, selector)) {
      const known = found.get(element);
      if (known === undefined) found.set(element, new Map(declarations));
      else override(known, declarations);
    }
  }
  return found;
}
