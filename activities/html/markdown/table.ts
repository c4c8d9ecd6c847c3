import { type ChildNode, type Element, isTag } from 'domhandler';

/** Largest span of a cell that is kept. */
const MAX_SPAN = 50;
/** A table with more columns is no data for a reader. */
const MAX_COLUMNS = 200;

const children = ({ children: nodes }: Element): Element[] => nodes.filter(isTag);

/** Returns the rows of a table, without those of tables inside. Browsers show those of a `tfoot` last. */
export function rowsOf(table: Element): Element[] {
  const parts = children(table);
  const isFoot = ({ name }: Element): boolean => name === 'tfoot';
  return [...parts.filter((it) => !isFoot(it)), ...parts.filter(isFoot)].flatMap((child) => {
    if (child.name === 'tr') return [child];
    return /^t(?:head|body|foot)$/.test(child.name)
      ? children(child).filter(({ name }) => name === 'tr')
      : [];
  });
}

function spanOf({ attribs }: Element, name: string): number {
  const span = Number.parseInt(attribs[name] ?? '1', 10);
  // A row span of 0 reaches to the end of the group.
  if (span === 0 && name === 'rowspan') return MAX_SPAN;
  return Number.isFinite(span) ? Math.min(MAX_SPAN, Math.max(1, span)) : 1;
}

/** Elements that make a cell more than a value: then the table only arranges parts of the page. */
const LAYOUT = new Set('table form article section main nav header footer'.split(' '));
/** The same in a table without cells for headings. */
const LAYOUT_WITHOUT_HEAD = new Set(['h1', 'h2', 'h3', ...LAYOUT]);

function contains(nodes: readonly ChildNode[], names: ReadonlySet<string>): boolean {
  return nodes.some((node) => isTag(node) && (names.has(node.name) || contains(node.children, names)));
}

/**
 * Reads a table with data. Spanning cells leave empty cells (null) in the rows and columns that they cover.
 *
 * @returns null for a table that only arranges parts of a page, or has one column or one row without a header
 */
export function readTable(table: Element): { rows: (Element | null)[][]; hasHeader: boolean } | null {
  const found = rowsOf(table);
  if (/^(?:presentation|none)$/.test(table.attribs.role ?? '')) return null;
  const all = found.flatMap(children);
  const layout = all.some(({ name }) => name === 'th') ? LAYOUT : LAYOUT_WITHOUT_HEAD;
  if (all.some((cell) => contains(cell.children, layout))) return null;
  const rows: (Element | null)[][] = [];
  /** Number of further rows that the cell above covers, by column. */
  const covered: number[] = [];
  let group: Element['parent'] = null;
  for (const row of found) {
    // Cells reach no further than their group of rows.
    if (row.parent !== group) covered.length = 0;
    group = row.parent;
    const cells: (Element | null)[] = [];
    const skipCovered = (): void => {
      while ((covered[cells.length] ?? 0) > 0) {
        covered[cells.length] = (covered[cells.length] ?? 0) - 1;
        cells.push(null);
      }
    };
    for (const cell of children(row)) {
      if (cell.name !== 'td' && cell.name !== 'th') continue;
      skipCovered();
      const [columns, more] = [spanOf(cell, 'colspan'), spanOf(cell, 'rowspan') - 1];
      for (let column = 0; column < columns && cells.length < MAX_COLUMNS; column++) {
        covered[cells.length] = more;
        cells.push(column === 0 ? cell : null);
      }
    }
    skipCovered();
    if (cells.length > 0) rows.push(cells);
  }
  const columns = rows.reduce((most, { length }) => Math.max(most, length), 0);
  const [first = []] = rows;
  const above = found[0]?.parent ?? null;
  const inHead = above !== null && isTag(above) && above.name === 'thead';
  const hasHeader =
    inHead || (first.length > 0 && first.every((cell) => cell === null || cell.name === 'th'));
  if (columns < 2 || (rows.length < 2 && !hasHeader)) return null;
  for (const row of rows) while (row.length < columns) row.push(null);
  return { rows, hasHeader };
}
