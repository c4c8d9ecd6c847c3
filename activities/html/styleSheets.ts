import type { CheerioAPI } from 'cheerio/slim';
import { type Element, isTag, isText } from 'domhandler';
import { type Declaration, type Declarations, override, readDeclarations } from './declarations.ts';
import { mediaApplies } from './mediaQueries.ts';

/** Declarations of the page's style sheets, by the element that they apply to. */
export type StyleSheets = ReadonlyMap<Element, Declarations>;

interface Rule {
  selector: string;
  /** The rule with the higher specificity wins; if both are equal, the later rule. */
  specificity: number;
  declarations: Declarations;
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

/** Matches the start of a comment or string. Escaped characters are matched first, because an escaped quote starts no string. */
const COMMENT_OR_QUOTE = /\\.|\/\*|["']|<!--|-->/gs;
/** Matches brackets, braces and semicolons that are not escaped, as in the selector `.w-\[5px\]`. */
const STRUCTURE = /(?<!\\)([{}();[\]])/;
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

/**
 * Returns the index after the string that opens at `start`: after its closing quote, or at the end of the line if it
 * has none.
 */
function endOfString(css: string, start: number): number {
  const quote = css[start];
  for (let at = start + 1; at < css.length; at++) {
    if (css[at] === '\\') at++;
    else if (css[at] === quote) return at + 1;
    else if (css[at] === '\n') return at;
  }
  return css.length;
}

/** Replaces with a space each comment, and each string that contains a character at which `rulesOf` splits. */
function withoutComments(css: string): string {
  const parts: string[] = [];
  let done = 0;
  for (;;) {
    COMMENT_OR_QUOTE.lastIndex = done;
    const found = COMMENT_OR_QUOTE.exec(css);
    if (found === null) break;
    const [mark] = found;
    parts.push(css.slice(done, found.index));
    done = found.index + mark.length;
    if (mark === '/*') {
      const end = css.indexOf('*/', done);
      done = end === -1 ? css.length : end + 2;
    }
    if (mark === '"' || mark === "'") done = endOfString(css, found.index);
    const text = css.slice(found.index, done);
    parts.push(mark.startsWith('\\') || /^["'][^{}();[\]]*$/.test(text) ? text : ' ');
  }
  return parts.join('') + css.slice(done);
}

const CLOSING: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' };

/** The text before a block or a semicolon. Matching the whole text at each mark would take quadratic time. */
class Prelude {
  text = '';
  #first = '';

  add(part: string): void {
    this.text += part;
    if (this.#first === '') this.#first = part.trimStart().charAt(0);
  }

  clear(): void {
    this.text = '';
    this.#first = '';
  }

  get isAtRule(): boolean {
    return this.#first === '@';
  }
}

/** Yields the selectors and the declarations of each rule. Skips rules for other media and nested rules. */
export function* rulesOf(css: string): Generator<[selectors: string, body: string]> {
  // A closing brace is appended, because blocks that are not closed end at the end of the style sheet.
  const pieces = `${withoutComments(css)}}`.split(STRUCTURE);
  /**
   * The closing bracket of each open block, innermost last, except for blocks of at-rules that contain rules. A block
   * is closed only by its own closing bracket, not by one of another kind.
   */
  const open: string[] = [];
  /** Number of closing braces in `open`. Searching `open` for each mark would take quadratic time. */
  let braces = 0;
  let groups = 0;
  const prelude = new Prelude();
  let body: string | null = null;
  for (let index = 0; index + 1 < pieces.length; index += 2) {
    const before = pieces[index] ?? '';
    const mark = pieces[index + 1] ?? '';
    const closing = CLOSING[mark];
    const isInBody = body !== null && open.length === 1;
    const isInPrelude = body === null && braces === 0;
    if (isInBody && closing !== '}') body += before;
    if (isInPrelude) prelude.add(before);

    if (closing !== undefined && (mark !== '{' || open.length > 0)) {
      open.push(closing);
      braces += Number(closing === '}');
    } else if (mark === '{' && groupApplies(prelude.text)) {
      groups++;
      prelude.clear();
      continue;
    } else if (mark === '{') {
      open.push('}');
      braces += 1;
      body = '';
      continue;
    } else if (open.length > 0) {
      if (mark === open.at(-1)) {
        open.pop();
        braces -= Number(mark === '}');
      }
      if (open.length === 0 && mark === '}') {
        if (body !== null && !prelude.isAtRule) yield [prelude.text, body];
        prelude.clear();
        body = null;
        continue;
      }
    } else if (mark === '}' && groups > 0) {
      groups--;
      prelude.clear();
      continue;
    } else if (mark === ';' && prelude.isAtRule) {
      prelude.clear();
      continue;
    }
    if (isInBody && mark !== '{' && mark !== '}') body += mark;
    // A surplus bracket or semicolon stays in the prelude and makes the selectors after it invalid, as CSS requires.
    if (isInPrelude) prelude.add(mark);
  }
}

/** Returns the specificity (Selectors Level 4, section 17) of a selector that `SELECTOR` matches. */
function specificityOf(selector: string): number {
  const count = (part: RegExp): number => selector.match(part)?.length ?? 0;
  return 1e6 * count(/#/g) + 1e3 * count(/[.[]/g) + count(/(?:^|[\s>])[a-z]/gi);
}

function readRules($: CheerioAPI, maxRules: number): Rule[] {
  const rules: Rule[] = [];
  for (const element of $('style').toArray().filter(isTag)) {
    if (!mediaApplies(element.attribs.media ?? '')) continue;
    const css = element.children.map((child) => (isText(child) ? child.data : '')).join('');
    for (const [selectors, body] of rulesOf(css)) {
      const declarations = readDeclarations(body);
      const parts = selectors.split(',').map((part) => part.trim());
      if (declarations.size === 0 || parts.includes('')) continue;
      for (const selector of parts) {
        if (selector.length <= SELECTOR_LENGTH && SELECTOR.test(selector) && rules.length < maxRules)
          rules.push({ selector, specificity: specificityOf(selector), declarations });
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
  limits: { rules: number; steps: number } = LIMITS,
): StyleSheets {
  const found = new Map<Element, Map<string, Declaration>>();
  const rules = readRules($, limits.rules);
  if (rules.length === 0) return found;
  const candidatesOf = indexElements($);
  const steps = rules.reduce(
    (sum, { selector }) =>
      sum + candidatesOf(selector).length * (/[\s>]/.test(selector) ? COMBINATOR_STEPS : 1),
    0,
  );
  if (steps > limits.steps) return found;
  for (const { selector, declarations } of rules) {
    const candidates = candidatesOf(selector);
    if (candidates.length === 0) continue;
    for (const element of matching($, candidates, selector)) {
      const known = found.get(element);
      if (known === undefined) found.set(element, new Map(declarations));
      else override(known, declarations);
    }
  }
  return found;
}
