import type { Edit, Tag } from '../xml.ts';

/** Widths in twentieths of a point. */
export interface PageWidth {
  /** Between the margins. */
  text: number;
  /** From the left margin to the edge of the paper. */
  paper: number;
}

/** Those of documents that do not say them: A4 with margins of an inch. */
const DEFAULT_WIDTH: Readonly<PageWidth> = { text: 9026, paper: 10_466 };
/** Space at the left and right of a cell, in twentieths of a point (ECMA-376-1, 17.4.42). */
const CELL_MARGINS = 216;

interface Table {
  /** Whether Word adjusts the widths of its columns to the available space (ECMA-376-1, 17.18.87). */
  fits: boolean;
  columns: { tag: Tag; width: number }[];
  /** Factor by which its columns are made narrower. Known from its first row on. */
  factor: number;
  /** Space for its columns, the width from which its text is cut off, and the width of what is in the current cell. */
  space: number;
  most: number;
  cell: number;
}

/** Returns the widths of the widest section. @param xml the main part */
export function pageWidth(xml: string): PageWidth {
  const widths: PageWidth[] = [];
  for (const [section] of xml.matchAll(/<w:sectPr\b.{0,5000}?<\/w:sectPr>/gs)) {
    const read = (element: string, attribute: string): number =>
      Number(new RegExp(`<w:${element}\\b[^>]*\\bw:${attribute}="(\\d+)"`).exec(section)?.[1]);
    const paper = read('pgSz', 'w') - read('pgMar', 'left');
    const text = paper - read('pgMar', 'right');
    if (text > 0) widths.push({ text, paper });
  }
  return widths.toSorted((a, b) => b.paper - a.paper)[0] ?? DEFAULT_WIDTH;
}

/**
 * Collects the edits that make tables of automatic width as narrow as the space that there is, where LibreOffice would cut off their
 * last columns: at the edge of the paper, or of the cell that a table is in.
 *
 * @param xml the part that contains them
 */
export function createTableEdits(xml: string, page: PageWidth) {
  const edits: Edit[] = [];
  const open: Table[] = [];

  /** Multiplies a width that an attribute of a tag has. */
  function scale({ start, end }: Tag, factor: number): void {
    const text = xml
      .slice(start, end)
      .replace(
        /(\bw\s*=\s*["'])(\d+)/,
        (_, before: string, value: string) => `${before}${Math.max(1, Math.floor(Number(value) * factor))}`,
      );
    edits.push({ start, end, text });
  }

  return {
    edits,
    open(tag: Tag): void {
      const { name, attributes } = tag;
      const table = open.at(-1);
      const value = Number(attributes['w:w']);
      const isAutomatic = /^(?:auto|nil)$/.test(attributes['w:type'] ?? '');
      if (name === 'w:tbl') {
        const [space, most] =
          table === undefined ? [page.text, page.paper] : [table.cell, table.cell + CELL_MARGINS];
        open.push({ fits: true, columns: [], factor: 1, space, most, cell: space });
      }
      if (table === undefined) return;
      if (name === 'w:tblW' && !isAutomatic) table.fits = false;
      if (name === 'w:tblLayout' && attributes['w:type'] === 'fixed') table.fits = false;
      if (name === 'w:gridCol' && value > 0) table.columns.push({ tag, width: value });
      if (name === 'w:tcW' && attributes['w:type'] === 'dxa' && value > 0) {
        table.cell = Math.max(1, value * table.factor - CELL_MARGINS);
        if (table.factor < 1) scale(tag, table.factor);
      }
    },
    close(name: string): void {
      const table = open.at(-1);
      if (name === 'w:tbl') open.pop();
      if (name !== 'w:tblGrid' || table === undefined) return;
      const wanted = table.columns.reduce((sum, column) => sum + column.width, 0);
      if (!table.fits || wanted <= table.most) return;
      table.factor = table.space / wanted;
      for (const { tag } of table.columns) scale(tag, table.factor);
    },
  };
}
