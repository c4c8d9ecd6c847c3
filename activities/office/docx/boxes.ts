import type { SourceText } from '../sourceText.ts';
import type { Tag } from '../xml.ts';

/** Height of a line in sizes of its letters, which is more than that of usual fonts. */
const LINE = 1.5;
const EMU_PER_POINT = 12_700;
/** Space above and below the text of a text box, in points (ECMA-376-1, 21.1.2.1.1: 45,720 EMU each). */
const INSETS = 7.2;
const POINTS: Readonly<Record<string, number>> = { pt: 1, in: 72, cm: 28.35, mm: 2.835 };
/** The first letters of a text. */
const START = /^[^\p{L}\p{N}]*[\p{L}\p{N}\p{M}]{1,4}/u;

/** A text box or a cell that is open. */
interface Box {
  element: string;
  /** Its smaller side in points: 0 if it is unknown, Infinity if the box grows with its text, -Infinity if the letters are drawings. */
  room: number;
  /** Size of its first letters in points; null before them. */
  size: number | null;
  text: SourceText;
}

/** Returns the smaller side of a VML shape in points; 0 if it is not known. */
function roomOf(style: string): number {
  const sides = [...style.matchAll(/(?:^|;)\s*(?:width|height)\s*:\s*([\d.]+)(pt|in|cm|mm)/g)];
  if (sides.length < 2) return 0;
  return Math.min(...sides.map(([, value, unit = '']) => Number(value) * (POINTS[unit] ?? 0))) - INSETS;
}

/**
 * Sorts the text of text boxes and cells into that which Word certainly shows and that which it can cut off. A text box that grows
 * with its text, and a cell without a fixed height, show all. Others show at least their first letters, if a line fits.
 *
 * @param result gets the text
 */
export function createBoxes(result: SourceText) {
  const open: Box[] = [];
  /** Fixed heights of the rows that are open, in points; Infinity for others. */
  const rows: number[] = [];
  let shape = 0;

  const push = (element: string, room: number): void => {
    open.push({ element, room, size: null, text: { sure: [], loose: [] } });
  };

  function sort({ element, room, size, text }: Box): void {
    // Text boxes are not cut off by the cell that they are in.
    const target = element === 'w:tc' ? (open.at(-1)?.text ?? result) : result;
    for (const paragraph of text.loose) target.loose.push(paragraph);
    const start = room < (size ?? 0) * LINE ? '' : (START.exec(text.sure[0] ?? '')?.[0] ?? '');
    if (room !== Number.POSITIVE_INFINITY && start !== '') target.sure.push(start);
    for (const [index, paragraph] of text.sure.entries())
      if (room === Number.POSITIVE_INFINITY) target.sure.push(paragraph);
      else target.loose.push(index === 0 ? paragraph.slice(start.length) : paragraph);
  }

  return {
    /** Gets the paragraphs that end. */
    get text(): SourceText {
      return open.at(-1)?.text ?? result;
    },
    /** @param size of letters that are read, in points */
    letters(size: number): void {
      const box = open.at(-1);
      if (box !== undefined) box.size ??= size;
    },
    open({ name, attributes }: Tag): void {
      const box = open.at(-1);
      if (name === 'w:tr') rows.push(Number.POSITIVE_INFINITY);
      else if (name === 'w:trHeight' && attributes['w:hRule'] === 'exact')
        rows.splice(-1, 1, Number(attributes['w:val']) / 20);
      else if (name === 'w:tc') push(name, rows.at(-1) ?? Number.POSITIVE_INFINITY);
      else if (name === 'wps:wsp') push(name, 0);
      else if (name === 'v:textbox')
        push(
          name,
          /mso-fit-shape-to-text:\s*t/.test(attributes.style ?? '') ? Number.POSITIVE_INFINITY : shape,
        );
      else if (name.startsWith('v:') && attributes.style !== undefined) shape = roomOf(attributes.style);
      if (box?.element !== 'wps:wsp') return;
      const sides = [attributes.cx, attributes.cy].map((side) => Number(side) / EMU_PER_POINT - INSETS);
      if (name === 'a:ext' && box.room === 0 && !sides.some(Number.isNaN)) box.room = Math.min(...sides);
      if (name === 'a:prstTxWarp' && attributes.prst !== 'textNoShape') box.room = Number.NEGATIVE_INFINITY;
      if (name === 'a:spAutoFit' && box.room >= 0) box.room = Number.POSITIVE_INFINITY;
    },
    close(name: string): void {
      if (name === 'w:tr') rows.pop();
      if (open.at(-1)?.element !== name) return;
      const box = open.pop();
      if (box !== undefined) sort(box);
    },
  };
}
