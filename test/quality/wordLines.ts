import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Points within which the lower edges of words of one line are. */
const SAME_LINE = 3;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const WORD = /<word xMin="([\d.]+)" yMin="[\d.]+" xMax="[\d.]+" yMax="([\d.]+)">(.*?)<\/word>/g;

/** Returns the first and last word of each line of a PDF, as one text, page by page. */
export async function linesOf(path: string): Promise<string[][]> {
  const { stdout } = await run('pdftotext', ['-bbox', path, '-'], { maxBuffer: 2 ** 28 });
  return stdout
    .split('<page ')
    .slice(1)
    .map((page) => {
      const lines = new Map<number, { x: number; text: string }[]>();
      for (const [, x, y, text = ''] of page.matchAll(WORD)) {
        const line = Math.round(Number(y) / SAME_LINE);
        lines.set(line, [...(lines.get(line) ?? []), { x: Number(x), text: decode(text) }]);
      }
      return [...lines].sort(([a], [b]) => a - b).map(([, words]) => ends(words));
    });
}

const decode = (text: string): string =>
  text.replace(/&(\w+);/g, (all, name: string) => ENTITIES[name] ?? all);

function ends(words: { x: number; text: string }[]): string {
  const sorted = words.sort((a, b) => a.x - b.x);
  return `${sorted[0]?.text} … ${sorted.at(-1)?.text}`;
}

/** Longest run of equal items in parts of two lists. */
function longest(
  a: readonly string[],
  b: readonly string[],
  from: Range,
): { a: number; b: number; size: number } {
  let best = { a: from.a, b: from.b, size: 0 };
  let previous = new Map<number, number>();
  for (let i = from.a; i < from.aEnd; i++) {
    const current = new Map<number, number>();
    for (let j = from.b; j < from.bEnd; j++) {
      if (a[i] !== b[j]) continue;
      const size = (previous.get(j - 1) ?? 0) + 1;
      current.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    previous = current;
  }
  return best;
}

interface Range {
  a: number;
  aEnd: number;
  b: number;
  bEnd: number;
}

/**
 * Returns how similar two lists are, from 0 to 1, by the algorithm of Ratcliff and Obershelp, as Python's difflib does: twice the
 * number of items in matching runs, divided by the number of all items.
 */
export function similarity(a: readonly string[], b: readonly string[]): number {
  if (a.length + b.length === 0) return 1;
  let matched = 0;
  const open: Range[] = [{ a: 0, aEnd: a.length, b: 0, bEnd: b.length }];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const found = longest(a, b, range);
    if (found.size === 0) continue;
    matched += found.size;
    open.push({ a: range.a, aEnd: found.a, b: range.b, bEnd: found.b });
    open.push({ a: found.a + found.size, aEnd: range.aEnd, b: found.b + found.size, bEnd: range.bEnd });
  }
  return (2 * matched) / (a.length + b.length);
}
