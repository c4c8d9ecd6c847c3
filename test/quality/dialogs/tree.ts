import { type AttributeTest, type Compound, type Part, parseSelectors, Unsupported } from './selectors.ts';

/** An element that is made so that selectors match it. */
export interface Made {
  tag: string;
  id: string | null;
  classes: string[];
  attributes: Map<string, string>;
  children: Made[];
  parent: Made | null;
  /** Root of the elements in its shadow root, or in its frame if the element is an `iframe`. */
  inner: Made | null;
  text: string;
  /** Number of clicks after which the element is shown. */
  after: number;
  /** Numbers of the clicks that this element waits for. */
  clicks: number[];
  /** Whether the element only takes a place, so that others have the place that they need. */
  isFiller: boolean;
}

export function make(tag: string, parent: Made | null, some: Partial<Made> = {}): Made {
  const made: Made = {
    ...{ tag, parent, id: null, classes: [], attributes: new Map(), children: [], inner: null, text: '' },
    ...{ after: 0, clicks: [], isFiller: false, ...some },
  };
  parent?.children.push(made);
  return made;
}

export const isAddress = (name: string): boolean => name === 'src' || name === 'href';

function attributeOf(made: Made, name: string): string | undefined {
  if (name === 'id') return made.id ?? undefined;
  const own = made.attributes.get(name);
  if (name !== 'class' || made.classes.length === 0) return own;
  return [own, ...made.classes].filter((text) => text !== undefined).join(' ');
}

function meets(made: Made, { name, operator, value }: AttributeTest): boolean {
  const own = attributeOf(made, name);
  if (own === undefined) return false;
  if (operator === '=') return own === value;
  if (operator === '^=') return own.startsWith(value);
  if (operator === '$=') return own.endsWith(value);
  if (operator === '~=') return own.split(' ').includes(value);
  if (operator === '|=') return own === value || own.startsWith(`${value}-`);
  return operator === '' || own.includes(value);
}

/** Returns the place among siblings from 1 for `:nth-child()` and its like, and the siblings; null for other pseudo-classes. */
function placeOf(made: Made, name: string): { place: number; last: number } | null {
  if (!/-child$|-of-type$/.test(name)) return null;
  const siblings = (made.parent?.children ?? [made]).filter(
    ({ tag }) => !name.endsWith('-of-type') || tag === made.tag,
  );
  return { place: siblings.indexOf(made) + 1, last: siblings.length };
}

/** Elements below one, without those in shadow roots and frames. */
export const below = (root: Made): Made[] => root.children.flatMap((child) => [child, ...below(child)]);

function meetsPseudo(made: Made, { name, argument }: Compound['pseudos'][number]): boolean {
  const found = placeOf(made, name);
  if (found !== null) {
    const { place, last } = found;
    if (name.startsWith('nth-')) return place === Number(argument);
    if (name.startsWith('only-')) return last === 1;
    return place === (name.startsWith('last-') ? last : 1);
  }
  if (name === 'not')
    return parseSelectors(argument).every(([part]) => part !== undefined && !matches(made, part.compound));
  if (name === 'has')
    return parseSelectors(argument).some((selector) =>
      below(made).some((each) => matchesUpTo(each, selector, selector.length - 1, made)),
    );
  if (name === 'checked') return made.attributes.has('checked');
  if (name === 'disabled') return made.attributes.has('disabled');
  if (name === 'empty') return made.children.length === 0 && made.text === '';
  if (name === 'root') return made.tag === 'html';
  throw new Unsupported(`:${name}`);
}

export function matches(made: Made, { tag, id, classes, attributes, pseudos }: Compound): boolean {
  if (tag !== null && made.tag !== tag) return false;
  if (id !== null && made.id !== id) return false;
  const own = (attributeOf(made, 'class') ?? '').split(' ');
  return (
    classes.every((name) => own.includes(name)) &&
    attributes.every((test) => meets(made, test)) &&
    pseudos.every((pseudo) => meetsPseudo(made, pseudo))
  );
}

/** Whether an element matches a selector up to its part number `at`. @param scope element in which a first `>` begins */
function matchesUpTo(made: Made, selector: readonly Part[], at: number, scope: Made | null): boolean {
  const part = selector[at];
  if (part === undefined || !matches(made, part.compound)) return false;
  if (at === 0) return part.combinator !== '>' || made.parent === scope;
  const before = (each: Made) => matchesUpTo(each, selector, at - 1, scope);
  const earlier = made.parent?.children.slice(0, made.parent.children.indexOf(made)) ?? [];
  if (part.combinator === '+') return earlier.slice(-1).some(before);
  if (part.combinator === '~') return earlier.some(before);
  if (part.combinator === '>') return made.parent !== null && before(made.parent);
  for (let above = made.parent; above !== null; above = above.parent) if (before(above)) return true;
  return false;
}

/** Returns the first element in the tree that matches the first `count` parts of a selector. */
export function find(root: Made, selector: readonly Part[], count = selector.length): Made | undefined {
  return [root, ...below(root)].find((each) => matchesUpTo(each, selector, count - 1, null));
}

function addAttribute(made: Made, { name, operator, value }: AttributeTest): void {
  const own = attributeOf(made, name);
  if (name === 'id') made.id = operator === '$=' ? `made${value}` : value === '' ? 'made' : value;
  else if (own === undefined || operator === '=') made.attributes.set(name, value);
  else if (operator === '^=') made.attributes.set(name, `${value}${own}`);
  else if (operator !== '')
    made.attributes.set(name, `${own}${isAddress(name) || operator === '$=' ? '' : ' '}${value}`);
}

/** Changes an element so that it matches, as far as its place and its content allow. */
export function apply(made: Made, { tag, id, classes, attributes, pseudos }: Compound, layer: number): void {
  if (tag !== null && made.isFiller) made.tag = tag;
  made.isFiller = false;
  made.id = id ?? made.id;
  for (const name of classes) if (!made.classes.includes(name)) made.classes.push(name);
  for (const test of attributes) if (!meets(made, test)) addAttribute(made, test);
  for (const { name, argument } of pseudos) {
    if (name === 'checked' || name === 'disabled') made.attributes.set(name, '');
    if (name === 'has') {
      const [selector = []] = parseSelectors(argument);
      ensureBelow(made, selector, layer);
    }
  }
}

/** Tag for an element of which a selector does not tell the tag. */
const ORDINARY = 'div';

/** Tag of an element that only takes a place. Parsers end a paragraph before a `div`. */
function fillerIn(tag: string): string {
  if (tag === 'ul' || tag === 'ol') return 'li';
  return /^(?:p|a|span|label|button|strong|h[1-6])$/.test(tag) ? 'span' : ORDINARY;
}

function create(parent: Made, compound: Compound, layer: number, tag: string): Made {
  const own = compound.tag ?? tag;
  const place = compound.pseudos.find(({ name }) => /^nth-|^first-/.test(name));
  const wanted = place === undefined ? 0 : place.name.startsWith('nth-') ? Number(place.argument) : 1;
  if (Number.isNaN(wanted)) throw new Unsupported(`:${place?.name}(${place?.argument})`);
  const ofType = place?.name.endsWith('-of-type') === true;
  const siblings = () => parent.children.filter((each) => !ofType || each.tag === own);
  const after = Math.max(layer, parent.after);
  while (siblings().length < wanted - 1)
    make(own === 'button' || ofType ? own : fillerIn(parent.tag), parent, { isFiller: true, after });
  const taken = wanted > 0 ? siblings()[wanted - 1] : undefined;
  if (taken !== undefined && !taken.isFiller) throw new Unsupported('two elements in one place');
  const made = taken ?? make(own, parent, { after });
  apply(made, compound, layer);
  return made;
}

/** Returns the element with the id that a compound selector asks for, if there is one that it can be. */
function withId(root: Made, { id, tag }: Compound): Made | undefined {
  return id === null
    ? undefined
    : below(root).find((each) => each.id === id && (tag === null || tag === each.tag));
}

function ensureBelow(root: Made, selector: readonly Part[], layer: number): void {
  let parent = root;
  for (const { combinator, compound } of selector)
    parent = create(
      combinator === '+' || combinator === '~' ? (parent.parent ?? parent) : parent,
      compound,
      layer,
      ORDINARY,
    );
}

/**
 * Returns the element that a selector matches, and makes what is missing.
 *
 * @param root the document
 * @param scope returns the element in which a new element is made if the selector does not tell
 * @param tag tag of the element if the selector does not tell
 * @param layer number of clicks after which new elements are shown
 */
export function ensure(
  root: Made,
  selector: readonly Part[],
  options: { scope(first: Compound): Made; tag: string; layer: number },
): Made {
  const { layer } = options;
  let count = selector.length;
  while (count > 0 && find(root, selector, count) === undefined) count -= 1;
  let made = count > 0 ? find(root, selector, count) : undefined;
  for (const [at, { combinator, compound }] of selector.entries()) {
    if (at < count) continue;
    const isRoot = compound.tag === 'html' || compound.tag === 'body' || compound.pseudos[0]?.name === 'root';
    const same = isRoot
      ? [root, ...root.children].find(({ tag }) => tag === (compound.tag ?? 'html'))
      : withId(root, compound);
    if (same !== undefined) {
      apply(same, compound, layer);
      made = same;
      continue;
    }
    const isBeside = combinator === '+' || combinator === '~';
    const isIn = (tag: string) => made?.tag === tag;
    let parent = made;
    if (isBeside) parent = made?.parent ?? undefined;
    else if (combinator === ' ' && (isIn('html') || isIn('body'))) parent = options.scope(compound);
    else if (combinator === '>' && isIn('html')) parent = undefined;
    const isLast = at === selector.length - 1;
    made = create(parent ?? options.scope(compound), compound, layer, isLast ? options.tag : ORDINARY);
  }
  if (made === undefined) throw new Unsupported('empty selector');
  return made;
}
