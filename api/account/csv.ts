type Cell = string | number | null;

/** What makes a spreadsheet take a text for a formula (OWASP, "CSV Injection"), full-width forms included. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

function field(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A record of RFC 4180 with its line end. A text that looks like a formula gets a `'` in front; null is empty. */
export const csvRecord = (cells: readonly Cell[]): string => `${cells.map(field).join(',')}\r\n`;
