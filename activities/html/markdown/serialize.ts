import type { RootContent } from 'mdast';
import { gfmStrikethroughToMarkdown } from 'mdast-util-gfm-strikethrough';
import { gfmTableToMarkdown } from 'mdast-util-gfm-table';
import { gfmTaskListItemToMarkdown } from 'mdast-util-gfm-task-list-item';
import { type Options, toMarkdown } from 'mdast-util-to-markdown';
import type { DisplayMath, InlineMath } from './mathNodes.ts';

/**
 * Formulas as GitHub reads them. Without its extension they are text, so `<` must not open a tag there.
 */
const MATH: Options = {
  handlers: {
    inlineMath: ({ value }: InlineMath) => `$${value}$`,
    math: ({ value }: DisplayMath) => `$$\n${value}\n$$`,
  },
  // A dollar sign opens a formula only before a character that is no space, and closes one only after such a character
  // and before no digit. So prices stay as they are.
  unsafe: [
    { character: '$', after: '[^\\s\\d]', inConstruct: 'phrasing' },
    { character: '$', before: '[^\\s(]', inConstruct: 'phrasing' },
  ],
};

const OPTIONS: Options = {
  bullet: '-',
  emphasis: '*',
  strong: '*',
  fence: '`',
  fences: true,
  listItemIndent: 'one',
  resourceLink: true,
  rule: '-',
  ruleRepetition: 3,
  incrementListMarker: true,
  extensions: [
    gfmStrikethroughToMarkdown(),
    gfmTableToMarkdown({ tablePipeAlign: false, tableCellPadding: true }),
    gfmTaskListItemToMarkdown(),
    MATH,
  ],
};

/** Writes nodes as GitHub Flavored Markdown. No text becomes markup. */
export const serialize = (children: RootContent[]): string =>
  toMarkdown({ type: 'root', children }, OPTIONS).trimEnd();
