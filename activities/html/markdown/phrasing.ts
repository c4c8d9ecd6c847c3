import type { Paragraph, PhrasingContent } from 'mdast';

/** Longest text of one node. Escaping takes more than linear time in the length of a node. */
const MAX_TEXT = 1000;

const isSpace = (node: PhrasingContent): boolean =>
  node.type === 'break' || (node.type === 'text' && node.value.trim() === '');

export const isBlank = (nodes: readonly PhrasingContent[]): boolean => nodes.every(isSpace);

/** Divides a text into nodes, at spaces if possible. */
export function textNodes(value: string): PhrasingContent[] {
  const made: PhrasingContent[] = [];
  for (let at = 0; at < value.length; ) {
    let end = Math.min(value.length, at + MAX_TEXT);
    if (end < value.length) end = Math.max(value.lastIndexOf(' ', end), at + MAX_TEXT / 2);
    made.push({ type: 'text', value: value.slice(at, end) });
    at = end;
  }
  return made;
}

/** Removes space and breaks from both ends; says whether there was space. */
function trim(nodes: readonly PhrasingContent[]): {
  children: PhrasingContent[];
  before: boolean;
  after: boolean;
} {
  const start = nodes.findIndex((node) => !isSpace(node));
  if (start < 0) return { children: [], before: nodes.length > 0, after: false };
  const end = nodes.findLastIndex((node) => !isSpace(node));
  const children = nodes.slice(start, end + 1);
  let [before, after] = [start > 0, end < nodes.length - 1];
  const [first] = children;
  if (first?.type === 'text') {
    const value = first.value.trimStart();
    before ||= value.length < first.value.length;
    children[0] = { type: 'text', value };
  }
  const last = children.at(-1);
  if (last?.type === 'text') {
    const value = last.value.trimEnd();
    after ||= value.length < last.value.length;
    children[children.length - 1] = { type: 'text', value };
  }
  return { children, before, after };
}

/** Moves the space at the ends of marked text out of it, where Markdown needs it. */
export function mark(
  nodes: PhrasingContent[],
  make: (children: PhrasingContent[]) => PhrasingContent,
): PhrasingContent[] {
  const { children, before, after } = trim(nodes);
  if (isBlank(children)) return nodes;
  const space = (exists: boolean): PhrasingContent[] => (exists ? [{ type: 'text', value: ' ' }] : []);
  return [...space(before), make(children), ...space(after)];
}

export function paragraph(nodes: readonly PhrasingContent[]): Paragraph[] {
  const { children } = trim(nodes);
  return isBlank(children) ? [] : [{ type: 'paragraph', children }];
}

/** Divides inline content at empty lines (two breaks). */
export function paragraphs(nodes: readonly PhrasingContent[]): Paragraph[] {
  const made: Paragraph[] = [];
  let current: PhrasingContent[] = [];
  let breaks = 0;
  for (const node of nodes) {
    if (node.type === 'break') breaks++;
    else if (!isSpace(node)) {
      if (breaks > 1) {
        made.push(...paragraph(current));
        current = [];
      }
      breaks = 0;
    }
    current.push(node);
  }
  made.push(...paragraph(current));
  return made;
}

/** Replaces breaks by spaces, because headings have one line. */
export const oneLine = (nodes: readonly PhrasingContent[]): PhrasingContent[] =>
  trim(nodes).children.map((node) => (node.type === 'break' ? { type: 'text', value: ' ' } : node));

const PUNCTUATION = /[\p{P}\p{S}]/u;
const isStressed = (
  node: PhrasingContent,
): node is Extract<PhrasingContent, { type: 'emphasis' | 'strong' }> =>
  node.type === 'emphasis' || node.type === 'strong';

/** Returns the first (0) or last (-1) character of an inline node; '' when it has none. */
function edgeOf(node: PhrasingContent, at: 0 | -1): string {
  if ('value' in node) return [...node.value].at(at) ?? '';
  const child = 'children' in node ? node.children.at(at) : undefined;
  return child === undefined ? '' : edgeOf(child, at);
}

/** Collapses space between inline nodes, and around breaks. */
export function joinSpaces(nodes: readonly PhrasingContent[]): PhrasingContent[] {
  const made: PhrasingContent[] = [];
  let endsInSpace = false;
  for (const node of nodes) {
    if (node.type === 'text') {
      const value: string = endsInSpace ? node.value.replace(/^ /, '') : node.value;
      if (value === '') continue;
      endsInSpace = value.endsWith(' ');
      const last = made.at(-1);
      // Adjacent texts become one node, because the serializer looks at the characters beside one that it may escape.
      if (last?.type === 'text' && last.value.length + value.length <= MAX_TEXT) last.value += value;
      else made.push({ type: 'text', value });
      continue;
    }
    if (node.type === 'break') {
      const last = made.at(-1);
      if (last?.type === 'text') {
        const value = last.value.trimEnd();
        if (value === '') made.pop();
        else last.value = value;
      }
    }
    endsInSpace = node.type === 'break';
    const last = made.at(-1);
    // GitHub looks past `~~` for what is beside other marks, which punctuation at their inner edge then disables.
    if (
      last !== undefined &&
      isStressed(last) &&
      node.type === 'delete' &&
      PUNCTUATION.test(edgeOf(last, -1))
    )
      made.splice(-1, 1, ...last.children);
    if (last?.type === 'delete' && isStressed(node) && PUNCTUATION.test(edgeOf(node, 0)))
      made.push(...node.children);
    // Marks that follow each other would be read as one.
    else if (last?.type === 'inlineCode' && node.type === 'inlineCode') last.value += node.value;
    else if (last?.type === 'delete' && node.type === 'delete') last.children.push(...node.children);
    else made.push(node);
  }
  return made;
}
