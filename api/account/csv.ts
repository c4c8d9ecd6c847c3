type Cell = string | number | null;

/** Leading characters that make a spreadsheet interpret a text as a formula (OWASP, "CSV Injection"), also full-width ones. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

function field(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One record of RFC 4180 with its line end. Texts that look like formulas are prefixed with `'`; null is empty. */
export const csvRecord = (cells: readonly Cell[]): string => `${cells.map(field).join(',')}\r\n`;
