import {
  type ChildNode,
  type Document,
  type Element,
  isDocument,
  isTag,
  isText,
  type ParentNode,
} from 'domhandler';

/** Namespace of HTML elements, as opposed to SVG and MathML. */
export const HTML = 'http://www.w3.org/1999/xhtml';

/** Elements that can have a shadow root, besides custom elements (DOM Standard, section 4.9, "attach a shadow root"). */
const HOSTS = new Set(
  'article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span'.split(' '),
);
const CUSTOM = /^[a-z][^A-Z]*-/;
/** Shadow roots in deeper elements are left out, so that the depth of the tree stays limited. */
const MAX_DEPTH = 256;

/** The element whose shadow root an element was in. Elements that were in none are missing. */
export type Scopes = ReadonlyMap<Element, Element>;

const isShadowTemplate = (node: ChildNode): node is Element =>
  isTag(node) &&
  node.name === 'template' &&
  node.namespace === HTML &&
  /^(?:open|closed)$/i.test(node.attribs.shadowrootmode ?? '');

/** Yields the elements below a node with their depth below it, in document order, without the content of templates. */
function* elementsBelow(root: ParentNode): Generator<{ element: Element; depth: number }> {
  const waiting = root.children.toReversed().map((node) => ({ node, depth: 1 }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    if (!isTag(node)) continue;
    yield { element: node, depth };
    if (node.name !== 'template')
      for (const child of node.children.toReversed()) waiting.push({ node: child, depth: depth + 1 });
  }
}

function setChildren(parent: ParentNode, children: ChildNode[]): void {
  parent.children = children;
  for (const [index, child] of children.entries()) {
    child.parent = parent;
    child.prev = children[index - 1] ?? null;
    child.next = children[index + 1] ?? null;
  }
}

/** Puts the children of a host into the slots of its shadow root (DOM Standard, section 4.2.2.3). */
function fillSlots(host: Element, light: readonly ChildNode[]): void {
  const bySlot = Map.groupBy(
    light.filter((node) => isTag(node) || isText(node)),
    (node) => (isTag(node) ? (node.attribs.slot ?? '') : ''),
  );
  // Found before they are filled: slots among the children of the host belong to the tree around it.
  const slots = [...elementsBelow(host)].filter(
    ({ element }) => element.name === 'slot' && element.namespace === HTML,
  );
  for (const { element } of slots) {
    const name = element.attribs.name ?? '';
    const assigned = bySlot.get(name);
    if (assigned === undefined) continue;
    bySlot.delete(name);
    setChildren(element, assigned);
  }
}

/**
 * Replaces the children of each element that has a declarative shadow root with what a browser renders: the content of the
 * shadow root, with the children in its slots. Children without a slot are dropped.
 */
export function flattenShadowRoots(document: Document): Scopes {
  const scopes = new Map<Element, Element>();
  for (const { element: host, depth } of elementsBelow(document)) {
    const template = host.children.find(isShadowTemplate);
    const [content] = template?.children ?? [];
    if (template === undefined || content === undefined || !isDocument(content)) continue;
    if (depth > MAX_DEPTH || (!HOSTS.has(host.name) && !CUSTOM.test(host.name))) continue;
    const light = host.children.filter((child) => child !== template);
    setChildren(host, content.children);
    for (const { element } of elementsBelow(host)) scopes.set(element, host);
    fillSlots(host, light);
  }
  return scopes;
}
