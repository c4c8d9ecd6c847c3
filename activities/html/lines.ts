/** All that one space does not stand for already. */
const WHITE_SPACE = /[\t\n\f\r][\t\n\f\r ]*| [\t\n\f\r ]+/g;

/** Text that is put together piece by piece, white space as a browser shows it. */
export interface Lines {
  /** Runs of white space become one space. */
  add(text: string): void;
  /** Line breaks and spaces count. */
  addPreformatted(text: string): void;
  /** What follows begins on another line; with 2, after an empty one. */
  separate(breaks: 1 | 2): void;
  /** One line break, of which there may be several. */
  breakLine(): void;
  /** What follows stands apart on the same line. */
  space(gap: ' ' | '\t'): void;
  /** Counts a node that is looked at; false when there is as much text as was asked for, or far too little in many. */
  wantsMore(): boolean;
  toString(): string;
}

/** @param limit characters beyond which no more is wanted */
export function createLines(limit = Infinity): Lines {
  const parts: string[] = [];
  /** Characters of one piece, white space included, and nodes of all. */
  const reach = 10 * limit;
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
      const collapsed = text.slice(0, reach).replace(WHITE_SPACE, ' ');
      const begin = collapsed.startsWith(' ') ? 1 : 0;
      const end = collapsed.endsWith(' ') ? collapsed.length - 1 : collapsed.length;
      if (begin === 1) space();
      if (begin >= end) return;
      push(collapsed.slice(begin, end));
      if (end < collapsed.length) space();
    },
    addPreformatted(text) {
      for (const [index, line] of text.slice(0, reach).split('\n').entries()) {
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
    wantsMore() {
      nodes++;
      return length <= limit && nodes <= reach;
    },
    toString: () => parts.join(''),
  };
}
