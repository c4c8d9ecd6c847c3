/** Matches each run of white space that is not a single space. */
const COLLAPSIBLE_SPACE = /[\t\n\f\r][\t\n\f\r ]*| [\t\n\f\r ]+/g;

/** Builds a text from pieces, with the white space that a browser would show. */
export interface TextBuilder {
  /** Appends text and collapses each run of white space to one space. */
  add(text: string): void;
  /** Appends text and keeps its line breaks and spaces. */
  addPreformatted(text: string): void;
  /** Starts a new line before the next text; with 2, also leaves an empty line before it. */
  separate(breaks: 1 | 2): void;
  /** Adds a line break. Repeated breaks leave empty lines. */
  breakLine(): void;
  /** Separates the next text on the same line by a space or a tab. */
  space(gap: ' ' | '\t'): void;
  /** Counts a visited node. Returns false when the text has reached the limit or too many nodes have been visited. */
  visitNode(): boolean;
  toString(): string;
}

/** Creates an empty builder. @param limit number of characters after which `visitNode` returns false */
export function createTextBuilder(limit = Infinity): TextBuilder {
  const parts: string[] = [];
  /**
   * Largest number of characters that are read from one piece, including white space, and of nodes that are visited.
   */
  const workLimit = 10 * limit;
  let nodes = 0;
  let length = 0;
  let breaks = 0;
  let gap = '';

  const push = (text: string): void => {
    const before = length === 0 ? '' : '\n'.repeat(Math.min(breaks, 2)) || gap;
    breaks = 0;
    gap = '';
    parts.push(before, text);
    length += before.length + text.length;
  };
  const space = (wanted: ' ' | '\t' = ' '): void => {
    if (gap !== '\t') gap = wanted;
  };
  return {
    space,
    add(text) {
      const collapsed = text.slice(0, workLimit).replace(COLLAPSIBLE_SPACE, ' ');
      const start = collapsed.startsWith(' ') ? 1 : 0;
      const end = collapsed.endsWith(' ') ? collapsed.length - 1 : collapsed.length;
      if (start === 1) space();
      if (start >= end) return;
      push(collapsed.slice(start, end));
      if (end < collapsed.length) space();
    },
    addPreformatted(text) {
      for (const [index, line] of text.slice(0, workLimit).split('\n').entries()) {
        if (index > 0) breaks++;
        if (line !== '') push(line);
      }
    },
    separate(wanted) {
      breaks = Math.max(breaks, wanted);
    },
    breakLine() {
      breaks++;
    },
    visitNode() {
      nodes++;
      return length <= limit && nodes <= workLimit;
    },
    toString: () => parts.join(''),
  };
}
