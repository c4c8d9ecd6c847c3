import type { CheerioAPI } from 'cheerio/slim';
import { type Element, isTag, isText } from 'domhandler';
import { type Declaration, type Declarations, override, readDeclarations } from './declarations.ts';

/** Declarations of the style sheets for each element that they match. */
export type StyleSheets = ReadonlyMap<Element, Declarations>;

interface Rule {
  selector: string;
  /** The rule with the higher specificity wins; on a tie, the later rule. */
  specificity: number;
  declarations: Declarations;
}

const MAX_RULES = 5000;
/** Limit for matching steps, the number of rules times elements. A step takes about a microsecond. */
const MAX_STEPS = 1_500_000;
/** Steps per element for a selector with combinators, which also examines ancestors. */
const COMBINATOR_STEPS = 8;

/** Longer selectors are skipped because matching time grows with their length. */
const SELECTOR_LENGTH = 1000;

const COMMENT_OR_QUOTE = /\/\*|["']|<!--|-->/g;
const SCREEN = /^(?:only\s+)?(?:all|screen)$/i;
/**
 * Type, class, id and attribute selectors, combined by descendant or child combinators. Pseudo-classes are excluded
 * because the state of elements is unknown, sibling combinators because matching them is not linear in the page's size.
 */
const SELECTOR = /^(?:[^:~+<()\\]|\\.)+$/s;

const appliesToScreens = (media: string): boolean =>
  media.trim() === '' || media.split(',').some((it) => SCREEN.test(it.trim()));

/** Returns the index where the string that opens at `start` ends: after its closing quote, or at the end of the line. */
function endOfString(css: string, start: number): number {
  const quote = css[start];
  for (let at = start + 1; at < css.length; at++) {
    if (css[at] === '\\') at++;
    else if (css[at] === quote) return at + 1;
    else if (css[at] === '\n') return at;
  }
  return css.length;
}

/** Replaces comments, and strings that contain a character at which `rulesOf` splits, with a space. */
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
    parts.push(/^["'][^{};]*$/.test(text) ? text : ' ');
  }
  return parts.join('') + css.slice(done);
}

/** Yields the selectors and declarations of each rule. Skips rules for other media and nested rules. */
function* rulesOf(css: string): Generator<[selectors: string, body: string]> {
  const pieces = `${withoutComments(css)}}`.split(/([{};])/);
  let groups = 0;
  let skipped = 0;
  let selectors: string | null = null;
  let body = '';
  // Open blocks end with the sheet. A surplus closing brace invalidates the next selector.
  let stray = '';
  for (let index = 0; index + 1 < pieces.length; index += 2) {
    const before = pieces[index] ?? '';
    const mark = pieces[index + 1];
    if (mark === '{') {
      const media = /^\s*@media\b(.*)$/is.exec(before)?.[1];
      if (skipped > 0 || selectors !== null) skipped++;
      else if (media !== undefined && appliesToScreens(media)) groups++;
      else if (/^\s*@/.test(before)) skipped++;
      else [selectors, body, stray] = [stray + before, '', ''];
    } else if (skipped > 0) {
      if (mark === '}') skipped--;
    } else if (selectors !== null) {
      body += before + mark;
      if (mark === ';') continue;
      yield [selectors, body];
      selectors = null;
    } else if (mark === '}') {
      if (groups > 0) groups--;
      else stray = mark;
    }
  }
}

/** Specificity of the selectors that `SELECTOR` allows (Selectors Level 4, section 17). */
function specificityOf(selector: string): number {
  const count = (part: RegExp): number => selector.match(part)?.length ?? 0;
  return 1e6 * count(/#/g) + 1e3 * count(/[.[]/g) + count(/(?:^|[\s>])[a-z]/gi);
}

function elementsOf($: CheerioAPI, selector: string): Element[] {
  try {
    return $.root().find(selector).toArray().filter(isTag);
  } catch {
    return []; // invalid selector
  }
}

function readRules($: CheerioAPI): Rule[] {
  const rules: Rule[] = [];
  for (const element of elementsOf($, 'style')) {
    if (!appliesToScreens(element.attribs.media ?? '')) continue;
    const css = element.children.map((child) => (isText(child) ? child.data : '')).join('');
    for (const [selectors, body] of rulesOf(css)) {
      const declarations = readDeclarations(body);
      const parts = selectors.split(',').map((part) => part.trim());
      if (declarations.size === 0 || parts.includes('')) continue;
      for (const selector of parts) {
        if (selector.length <= SELECTOR_LENGTH && SELECTOR.test(selector) && rules.length < MAX_RULES)
          rules.push({ selector, specificity: specificityOf(selector), declarations });
      }
    }
  }
  return rules.sort((a, b) => a.specificity - b.specificity);
}

/** Applies the `style` elements of a page to its elements. Returns an empty map when matching would take too long. */
export function readStyleSheets($: CheerioAPI): StyleSheets {
  const found = new Map<Element, Map<string, Declaration>>();
  const rules = readRules($);
  const steps = rules.reduce((sum, { selector }) => sum + (/[\s>]/.test(selector) ? COMBINATOR_STEPS : 1), 0);
  if (steps === 0 || steps * $('*').length > MAX_STEPS) return found;
  for (const { selector, declarations } of rules)
    for (const element of elementsOf($, selector)) {
      const known = found.get(element);
      if (known === undefined) found.set(element, new Map(declarations));
      else override(known, declarations);
    }
  return found;
}
