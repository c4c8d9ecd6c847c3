import type { BillingDocument } from './billingDocument.ts';

/** A4 in points, and its margin. */
const PAGE: [number, number] = [595.28, 841.89];
const MARGIN = 64;
/** Distance between facts, and between the lines of one fact. */
const LINE = 24;
const INNER_LINE = 14;
/** Left edge of the values. */
const VALUES = MARGIN + 120;
const SIZE = 10.5;

/** Breaks a text into lines that fit: between words, and within a word that is longer than a line, as ids are. */
function linesOf(text: string, fits: (line: string) => boolean): string[] {
  const lines = [''];
  for (const part of text.split(/(?<= )/)) {
    const last = lines.at(-1) ?? '';
    if (fits(`${last}${part.trimEnd()}`)) {
      lines[lines.length - 1] = `${last}${part}`;
      continue;
    }
    if (last !== '') lines.push('');
    for (const character of part) {
      const longer = `${lines.at(-1)}${character}`;
      if (character === ' ' || fits(longer)) lines[lines.length - 1] = longer;
      else lines.push(character);
    }
  }
  return lines.map((line) => line.trimEnd());
}

/**
 * Writes a document as a PDF. The same document always gives the same bytes. Loads `pdf-lib` only if needed,
 * because receipts are rare.
 */
export async function billingPdf({ id, title, at, facts, notes }: BillingDocument): Promise<Buffer> {
  const { PDFDocument, StandardFonts, rgb } = await import('pdf-lib');
  const document = await PDFDocument.create();
  document.setTitle(`${title} ${id}`, { showInWindowTitleBar: true });
  document.setLanguage('en');
  document.setCreationDate(at);
  document.setModificationDate(at);
  const [plain, bold] = await Promise.all([
    document.embedFont(StandardFonts.Helvetica),
    document.embedFont(StandardFonts.HelveticaBold),
  ]);
  // The standard fonts of PDF have only Latin characters.
  const known = new Set(plain.getCharacterSet());
  const encodable = (text: string) =>
    Array.from(text, (character) => (known.has(character.codePointAt(0) ?? 0) ? character : '?')).join('');
  const quiet = rgb(0.38, 0.41, 0.46);
  let page = document.addPage(PAGE);
  let y = PAGE[1] - MARGIN - 22;
  /** Moves down, to the top of a new page below the end of the last. */
  function moveDown(points: number): void {
    y -= points;
    if (y >= MARGIN) return;
    page = document.addPage(PAGE);
    y = PAGE[1] - MARGIN;
  }
  page.drawText(title, { x: MARGIN, y, size: 22, font: bold });
  moveDown(18);
  /** Draws a text at `y`, and its further lines below, at the left edge `x`. */
  function draw(text: string, x: number): void {
    const width = PAGE[0] - x - MARGIN;
    const lines = linesOf(encodable(text), (line) => plain.widthOfTextAtSize(line, SIZE) <= width);
    for (const [index, line] of lines.entries()) {
      if (index > 0) moveDown(INNER_LINE);
      page.drawText(line, { x, y, size: SIZE, font: plain });
    }
  }
  for (const { term, value } of facts) {
    moveDown(LINE);
    page.drawText(term, { x: MARGIN, y, size: SIZE, font: plain, color: quiet });
    draw(value, VALUES);
  }
  for (const text of notes) {
    moveDown(LINE);
    draw(text, MARGIN);
  }
  return Buffer.from(await document.save());
}
