import { type Element, isTag, type ParentNode } from 'domhandler';

/** The elements of a page that describe it as a whole, found in one pass. */
export interface PageIndex {
  /** Number of elements by tag. */
  counts: ReadonlyMap<string, number>;
  /** Elements by tag, for the tags in `LISTED`. */
  listed: ReadonlyMap<string, readonly Element[]>;
}

const LISTED = new Set(['html', 'body', 'title', 'meta', 'link', 'script', 'noscript']);

export function indexPage(root: ParentNode): PageIndex {
  const counts = new Map<string, number>();
  const listed = new Map<string, Element[]>();
  const waiting = [...root.children].reverse();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!isTag(node)) continue;
    const { name, children } = node;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (LISTED.has(name)) {
      const known = listed.get(name);
      if (known === undefined) listed.set(name, [node]);
      else known.push(node);
    }
    for (let at = children.length - 1; at >= 0; at--) {
      const child = children[at];
      if (child !== undefined) waiting.push(child);
    }
  }
  return { counts, listed };
}

/** Returns the content of the first `meta` element with a name or property; empty if there is none. */
export function metaContent({ listed }: PageIndex, ...names: readonly string[]): string {
  for (const { attribs } of listed.get('meta') ?? []) {
    const own = [attribs.property, attribs.name].map((name) => name?.toLowerCase() ?? '');
    if (names.some((name) => own.includes(name))) return attribs.content ?? '';
  }
  return '';
}

/** Returns the description of a page; empty if it has none. */
export const readDescription = (index: PageIndex): string =>
  metaContent(index, 'description', 'og:description');
