import { type ChildNode, Element, type ParentNode } from 'domhandler';
import type { Token, TreeAdapter } from 'parse5';
import { adapter, type Htmlparser2TreeAdapterMap } from 'parse5-htmlparser2-tree-adapter';
import { ServiceError } from '../../schemas/errors.ts';

export type TreeMap = Htmlparser2TreeAdapterMap;

/**
 * Largest number of nodes of a page. A node takes less than 0.5 KB. The single-page HTML Standard has about half as
 * many nodes.
 */
export const MAX_NODES = 750_000;

function join(before: ChildNode | null, after: ChildNode | null): void {
  if (before !== null) before.next = after;
  if (after !== null) after.prev = before;
}

function insertBefore(parent: ParentNode, node: ChildNode, reference: ChildNode): void {
  join(reference.prev, node);
  join(node, reference);
  parent.children.splice(parent.children.lastIndexOf(reference), 0, node);
  node.parent = parent;
}

function insertTextBefore(parent: ParentNode, text: string, reference: ChildNode): void {
  const { prev } = reference;
  if (prev !== null && adapter.isTextNode(prev)) prev.data += text;
  else insertBefore(parent, adapter.createTextNode(text), reference);
}

function detachNode(node: ChildNode): void {
  const { parent } = node;
  if (parent === null) return;
  parent.children.splice(parent.children.lastIndexOf(node), 1);
  join(node.prev, node.next);
  node.prev = null;
  node.next = null;
  node.parent = null;
}

/** Moves all children of the donor to the end of the recipient's children, in linear time. */
export function adoptChildren(donor: ParentNode, recipient: ParentNode): void {
  const { children } = donor;
  join(recipient.children.at(-1) ?? null, children[0] ?? null);
  for (const child of children) {
    child.parent = recipient;
    recipient.children.push(child);
  }
  donor.children = [];
}

const NO_ATTRIBUTES: Record<string, string> = Object.freeze(Object.create(null));

/** Creates an object without a prototype, so that inherited properties do not look like attributes. */
function attributesOf(attrs: readonly Token.Attribute[]): Record<string, string> {
  if (attrs.length === 0) return NO_ATTRIBUTES;
  const attribs: Record<string, string> = Object.create(null);
  for (const { name, value } of attrs) attribs[name] = value;
  return attribs;
}

/**
 * Creates a tree adapter for parse5 that builds the domhandler tree of one page, for cheerio. The adapter of
 * parse5-htmlparser2-tree-adapter searches a node's children from the first to the last, which is slow because the
 * parser mostly changes the last ones.
 *
 * @returns an adapter that throws ServiceError source_too_large when the page has more than `maxNodes` nodes
 */
export function createTree(maxNodes: number): TreeAdapter<TreeMap> {
  let nodes = 0;
  const count = (): void => {
    nodes++;
    if (nodes > maxNodes)
      throw new ServiceError('source_too_large', {
        detail: `The page has more than ${maxNodes} elements, text nodes and comments.`,
      });
  };
  return {
    ...adapter,
    insertBefore,
    insertTextBefore,
    detachNode,
    createElement(tagName, namespace, attrs) {
      count();
      const element = new Element(tagName, attributesOf(attrs));
      element.namespace = namespace;
      return element;
    },
    adoptAttributes(recipient, attrs) {
      if (recipient.attribs === NO_ATTRIBUTES) recipient.attribs = Object.create(null);
      for (const { name, value } of attrs) recipient.attribs[name] ??= value;
    },
    createTextNode(text) {
      count();
      return adapter.createTextNode(text);
    },
    createCommentNode(text) {
      count();
      return adapter.createCommentNode(text);
    },
    insertText(parent, text) {
      const last = parent.children.at(-1);
      if (last !== undefined && adapter.isTextNode(last)) last.data += text;
      else this.appendChild(parent, this.createTextNode(text));
    },
  };
}
