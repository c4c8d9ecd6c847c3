import type { Receipt } from './receipt.ts';

/** A4 in points, and its margin. */
const PAGE: [number, number] = [595.28, 841.89];
const MARGIN = 64;
/** Distance between facts, and between the lines of one fact. */
const LINE = 24;
const INNER_LINE = 14;
/** Left edge of the values. */
const VALUES = MARGIN + 120;
const WIDTH = PAGE[0] - VALUES - MARGIN;
const SIZE = 10.5;

/** Breaks a text into lines that fit, at any character, because long values are addresses and ids. */
function linesOf(text: string, fits: (line: string) => boolean): string[] {
  const lines = [''];
  for (const character of text) {
    const longer = `${lines.at(-1)}${character}`;
    if (fits(longer)) lines[lines.length - 1] = longer;
    else lines.push(character);
  }
  return lines;
}

/**
 * Writes a receipt as a PDF with one page. The same receipt always gives the same bytes. Loads `pdf-lib` only if needed,
 * because receipts are rare.
 */
export async function receiptPdf({ id, paidAt, facts }: Receipt): Promise<Buffer> {
  const { PDFDocument, StandardFonts, rgb } = await import('pdf-lib');
  const document = await PDFDocument.create();
  document.setTitle(`Receipt ${id}`, { showInWindowTitleBar: true });
  document.setLanguage('en');
  document.setCreationDate(paidAt);
  document.setModificationDate(paidAt);
  const [plain, bold] = await Promise.all([
    document.embedFont(StandardFonts.Helvetica),
    document.embedFont(StandardFonts.HelveticaBold),
  ]);
  // The standard fonts of PDF have only Latin characters.
  const known = new Set(plain.getCharacterSet());
  const encodable = (text: string) =>
    Array.from(text, (character) => (known.has(character.codePointAt(0) ?? 0) ? character : '?')).join('');
  const quiet = rgb(0.38, 0.41, 0.46);
  const page = document.addPage(PAGE);
  let y = PAGE[1] - MARGIN - 22;
  page.drawText('Receipt', { x: MARGIN, y, size: 22, font: bold });
  y -= 18;
  for (const { term, value } of facts) {
    y -= LINE;
    page.drawText(term, { x: MARGIN, y, size: SIZE, font: plain, color: quiet });
    const lines = linesOf(encodable(value), (text) => plain.widthOfTextAtSize(text, SIZE) <= WIDTH);
    for (const [index, line] of lines.entries()) {
      if (index > 0) y -= INNER_LINE;
      page.drawText(line, { x: VALUES, y, size: SIZE, font: plain });
    }
  }
  return Buffer.from(await document.save());
}
