/** One attribute selector; the operator is empty if the attribute only has to exist. */
export interface AttributeTest {
  name: string;
  operator: string;
  value: string;
}

/** A compound selector (Selectors, section 3.1), such as `button.reject:not([disabled])`. */
export interface Compound {
  tag: string | null;
  id: string | null;
  classes: string[];
  attributes: AttributeTest[];
  pseudos: { name: string; argument: string }[];
}

/** A compound selector, with the combinator before it. */
export interface Part {
  combinator: string;
  compound: Compound;
}

/** Thrown for rules of which no page can be made. */
export class Unsupported extends Error {
  override readonly name = 'Unsupported';
}

const COMBINATOR = /\s*([>+~])\s*|\s+/y;
const NAME = /(?:\\[0-9a-f]{1,6}\s?|\\.|[\w\u0080-\uffff-])+/iy;
const ATTRIBUTE = /\[\s*([\w:-]+)\s*(?:([~|^$*]?=)\s*(?:"([^"]*)"|'([^']*)'|([^\]\s]+))\s*(?:[is]\s*)?)?\]/iy;

const unescaped = (name: string): string =>
  name
    .replace(/\\([0-9a-f]{1,6})\s?/gi, (_, digits: string) =>
      String.fromCodePoint(Number.parseInt(digits, 16)),
    )
    .replace(/\\(.)/g, '$1');

/** Reads a CSS selector from left to right. */
class Reader {
  #at = 0;
  readonly #text: string;
  constructor(text: string) {
    this.#text = text.trim();
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  name(): string {
    const found = this.take(NAME);
    if (found === null) throw new Unsupported(`selector: ${this.#text}`);
    return unescaped(found[0]);
  }

  /** Returns the text up to the closing parenthesis. */
  argument(): string {
    const start = this.#at;
    for (let depth = 1; depth > 0; this.#at++) {
      const sign = this.#text[this.#at];
      if (sign === undefined) throw new Unsupported(`selector: ${this.#text}`);
      depth += Number(sign === '(') - Number(sign === ')');
    }
    return this.#text.slice(start, this.#at - 1);
  }

  compound(): Compound {
    const compound: Compound = { tag: null, id: null, classes: [], attributes: [], pseudos: [] };
    const start = this.#at;
    if (this.take(/\*/y) === null) compound.tag = this.take(NAME)?.[0].toLowerCase() ?? null;
    for (;;) {
      const attribute = this.take(ATTRIBUTE);
      if (attribute !== null) {
        const [, name = '', operator = '', double, single, plain = ''] = attribute;
        compound.attributes.push({ name, operator, value: double ?? single ?? plain });
      } else if (this.take(/#/y) !== null) compound.id = this.name();
      else if (this.take(/\./y) !== null) compound.classes.push(this.name());
      else if (this.take(/:/y) !== null) {
        const name = this.name();
        compound.pseudos.push({ name, argument: this.take(/\(/y) === null ? '' : this.argument() });
      } else break;
    }
    if (this.#at === start) throw new Unsupported(`selector: ${this.#text}`);
    return compound;
  }
}

/** Parses a list of selectors, which can begin with combinators, as in `:has()`. @throws Unsupported */
export function parseSelectors(text: string): Part[][] {
  const reader = new Reader(text);
  const selectors: Part[][] = [[]];
  while (!reader.isAtEnd) {
    if (reader.take(/\s*,\s*/y) !== null) {
      selectors.push([]);
      continue;
    }
    const combinator = reader.take(COMBINATOR)?.[1] ?? ' ';
    selectors.at(-1)?.push({ combinator, compound: reader.compound() });
  }
  return selectors;
}
