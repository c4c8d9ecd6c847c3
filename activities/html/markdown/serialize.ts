import type { Root, RootContent } from 'mdast';
import { gfmStrikethroughToMarkdown } from 'mdast-util-gfm-strikethrough';
import { gfmTableToMarkdown } from 'mdast-util-gfm-table';
import { gfmTaskListItemToMarkdown } from 'mdast-util-gfm-task-list-item';
import { defaultHandlers, type Options, toMarkdown, type Unsafe } from 'mdast-util-to-markdown';
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

/** Regular expression for the rest of a character reference after its `&`. At the end of a text, the `;` can be in the next one. */
const REFERENCE = '#?[A-Za-z0-9]*(?:;|$)';
/** The serializer escapes each `&` before a letter, as in R&D and in URLs. */
const AMPERSANDS: Options = {
  handlers: {
    root: (node: Root, parent, state, info) => {
      state.unsafe = state.unsafe.map((it) =>
        it.character === '&' ? { ...it, after: `(?=${REFERENCE})` } : it,
      );
      return defaultHandlers.root(node, parent, state, info);
    },
  },
};

/**
 * Regular expression for a bare URL with a character that the serializer escapes. GitHub would read the backslash as part of the
 * URL, so the URL must be no link.
 */
const IN_URL = `(?=[^ \\t\\n<]*(?:[\\\\*\\[~\`$!<]|\\]\\(|#(?:\\n|$)|&${REFERENCE}|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])))`;
/** Parts of links, in which URLs are no links of their own. */
const IN_LINK: Unsafe['notInConstruct'] = ['autolink', 'destinationLiteral', 'destinationRaw', 'label'];
/** GitHub makes a link of a URL in a text before it reads escapes. */
const URLS: Options = {
  unsafe: [
    {
      ...{ character: ':', before: '[PSps]', after: `(?=//)${IN_URL}` },
      ...{ inConstruct: 'phrasing', notInConstruct: IN_LINK },
    },
    {
      ...{ character: '.', before: '[Ww]{3}', after: IN_URL },
      ...{ inConstruct: 'phrasing', notInConstruct: IN_LINK },
    },
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
    AMPERSANDS,
    URLS,
  ],
};

/** Writes nodes as GitHub Flavored Markdown. No text becomes markup. */
export const serialize = (children: RootContent[]): string =>
  toMarkdown({ type: 'root', children }, OPTIONS).trimEnd();
