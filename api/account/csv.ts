type Cell = string | number | null;

/**
 * First characters that make a spreadsheet interpret text as a formula, including their full-width forms (OWASP, "CSV
 * Injection").
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

function field(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Formats one CSV record (RFC 4180), including its line end. Text that looks like a formula is prefixed with `'`;
 * null becomes an empty field.
 */
export const csvRecord = (cells: readonly Cell[]): string => `${cells.map(field).join(',')}\r\n`;
