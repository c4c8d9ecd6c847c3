import { type ChildNode, type Element, isTag } from 'domhandler';

/** Returns the first element among nodes and in them, in document order; null when there is none. */
export function find(nodes: readonly ChildNode[], isWanted: (element: Element) => boolean): Element | null {
  for (const node of nodes) {
    if (!isTag(node)) continue;
    const found = isWanted(node) ? node : find(node.children, isWanted);
    if (found !== null) return found;
  }
  return null;
}
