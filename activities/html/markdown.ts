import type { ChildNode, Text } from 'domhandler';
import type { RootContent } from 'mdast';
import { serialize } from './markdown/serialize.ts';
import { createTreeReader } from './markdown/tree.ts';

interface MarkdownOptions {
  /** URL against which those of links and images are resolved. */
  base: string;
  /** Whether a text belongs to the content. */
  keeps?: (text: Text) => boolean;
  /** Paragraphs that follow. */
  extra?: readonly string[];
  /** Number of code points of the result that the caller uses. The rest may be missing or wrong. */
  limit?: number;
}

/** Code points beyond the limit that depend on what follows: the end of a block, or of a word that the limit cuts. */
const MARGIN = 1000;

const isRule = (node: RootContent | undefined): boolean => node?.type === 'thematicBreak';

/**
 * Converts parts of a page to GitHub Flavored Markdown. Text stays text: what could be read as markup is escaped, and
 * nothing is raw HTML but `<br>` in cells of tables.
 */
export function toMarkdown(
  nodes: readonly ChildNode[],
  { base, keeps = () => true, extra = [], limit = Infinity }: MarkdownOptions,
): string {
  const tree = createTreeReader({ base, keeps, limit: limit + MARGIN })(nodes);
  // Rules that separated what is left out separate nothing.
  const kept = tree.filter((node, index) => !isRule(node) || (index > 0 && !isRule(tree[index - 1])));
  while (isRule(kept.at(-1))) kept.pop();
  const paragraphs = extra.map(
    (value): RootContent => ({ type: 'paragraph', children: [{ type: 'text', value }] }),
  );
  return serialize([...kept, ...paragraphs]);
}
