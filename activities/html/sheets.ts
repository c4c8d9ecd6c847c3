import type { CheerioAPI } from 'cheerio/slim';
import { type Element, isTag, isText } from 'domhandler';
import { type Declaration, type Declarations, override, readDeclarations } from './declarations.ts';

/** What sheets say of each element, where they say anything. */
export type Sheets = ReadonlyMap<Element, Declarations>;

interface Rule {
  selector: string;
  /** The higher one wins, of equal ones the later. */
  specificity: number;
  declarations: Declarations;
}

const RULES = 5000;
/** Elements to look at for all rules together, a microsecond each; with what they are in, one counts as several. */
const WORK = 1_500_000;
const NESTED = 8;

/** Longer selectors are left out: the time to match one grows with its length. */
const SELECTOR_LENGTH = 1000;

const COMMENT_OR_QUOTE = /\/\*|["']|<!--|-->/g;
const SCREEN = /^(?:only\s+)?(?:all|screen)$/i;
/**
 * Types, classes, ids and attributes, also within each other. What goes by state or by neighbours is left out: states
 * are not known, and neighbours take a time that grows faster than the page.
 */
const SELECTOR = /^(?:[^:~+<()\\]|\\.)+$/s;

const isForScreens = (media: string): boolean =>
  media.trim() === '' || media.split(',').some((it) => SCREEN.test(it.trim()));

/** The index after the string whose opening quote is at `start`: after its closing quote, or at the end of the line. */
function endOfString(css: string, start: number): number {
  const quote = css[start];
  for (let at = start + 1; at < css.length; at++) {
    if (css[at] === '\\') at++;
    else if (css[at] === quote) return at + 1;
    else if (css[at] === '\n') return at;
  }
  return css.length;
}

/** Puts a space in the place of each comment, and of each string that holds a mark which `rulesOf` splits at. */
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

/** Each rule of a sheet: its selectors and its declarations. Those for other media, and nested ones, are left out. */
function* rulesOf(css: string): Generator<[selectors: string, body: string]> {
  const pieces = `${withoutComments(css)}}`.split(/([{};])/);
  let groups = 0;
  let skipped = 0;
  let selectors: string | null = null;
  let body = '';
  // What is left open ends with the sheet; a brace too many makes the next selector invalid.
  let stray = '';
  for (let index = 0; index + 1 < pieces.length; index += 2) {
    const before = pieces[index] ?? '';
    const mark = pieces[index + 1];
    if (mark === '{') {
      const media = /^\s*@media\b(.*)$/is.exec(before)?.[1];
      if (skipped > 0 || selectors !== null) skipped++;
      else if (media !== undefined && isForScreens(media)) groups++;
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

/** Selectors Level 4, section 17, as far as `SELECTOR` goes. */
function specificityOf(selector: string): number {
  const count = (part: RegExp): number => selector.match(part)?.length ?? 0;
  return 1e6 * count(/#/g) + 1e3 * count(/[.[]/g) + count(/(?:^|[\s>])[a-z]/gi);
}

function elementsOf($: CheerioAPI, selector: string): Element[] {
  try {
    return $.root().find(selector).toArray().filter(isTag);
  } catch {
    return []; // no selector
  }
}

function readRules($: CheerioAPI): Rule[] {
  const rules: Rule[] = [];
  for (const element of elementsOf($, 'style')) {
    if (!isForScreens(element.attribs.media ?? '')) continue;
    const css = element.children.map((child) => (isText(child) ? child.data : '')).join('');
    for (const [selectors, body] of rulesOf(css)) {
      const declarations = readDeclarations(body);
      const parts = selectors.split(',').map((part) => part.trim());
      if (declarations.size === 0 || parts.includes('')) continue;
      for (const selector of parts) {
        if (selector.length <= SELECTOR_LENGTH && SELECTOR.test(selector) && rules.length < RULES)
          rules.push({ selector, specificity: specificityOf(selector), declarations });
      }
    }
  }
  return rules.sort((a, b) => a.specificity - b.specificity);
}

/** What the `style` elements of a page say about showing its elements; nothing where that takes too long to find out. */
export function readSheets($: CheerioAPI): Sheets {
  const found = new Map<Element, Map<string, Declaration>>();
  const rules = readRules($);
  const looks = rules.reduce((sum, { selector }) => sum + (/[\s>]/.test(selector) ? NESTED : 1), 0);
  if (looks === 0 || looks * $('*').length > WORK) return found;
  for (const { selector, declarations } of rules)
    for (const element of elementsOf($, selector)) {
      const known = found.get(element);
      if (known === undefined) found.set(element, new Map(declarations));
      else override(known, declarations);
    }
  return found;
}
