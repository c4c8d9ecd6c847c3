import { keepsResult, withNested } from '../docx/fields.ts';
import type { SourceText } from '../sourceText.ts';
import { CELL, CUT, HIDDEN, ROW_END } from './properties.ts';

/** Ends of paragraphs, cells, pages and columns; marks of notes, line breaks and tabs; a hyphen at which no line breaks. */
const ENDS = '\r\x07\x0c\x0e';
const SPACES = '\x02\x0b\t';
const HYPHEN = '\x1e';

/** Characters in their order, and the flags of each (`properties.ts`). */
export interface Characters {
  text: string;
  known: Uint8Array;
}

function shownAs(character: string): string {
  if (SPACES.includes(character)) return ' ';
  if (character === HYPHEN) return '-';
  return character < ' ' ? '' : character;
}

/** Returns the paragraphs of a part of the text. */
export function paragraphsOf({ text, known }: Characters): SourceText {
  const result: SourceText = { sure: [], loose: [] };
  const fields: { instruction: string; state: 'instruction' | 'shown' | 'hidden' }[] = [];
  let paragraph = '';
  let isCut = false;
  /** The paragraphs of the row that is read, and whether it can be cut off. */
  let row: string[] = [];
  let isRowCut = false;

  function endRow(): void {
    for (const it of row) result[isRowCut ? 'loose' : 'sure'].push(it);
    row = [];
    isRowCut = false;
  }
  function endParagraph(mark: string, flags: number): void {
    if ((flags & CELL) === 0) endRow();
    const target = isCut ? result.loose : (flags & CELL) === 0 ? result.sure : row;
    if (paragraph.trim() !== '') target.push(paragraph);
    if ((flags & ROW_END) !== 0) {
      isRowCut ||= isCut;
      // The row of a table in a cell ends with the mark of a paragraph.
      if (mark === '\x07') endRow();
    }
    paragraph = '';
    isCut = false;
  }

  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    const flags = known[at] ?? 0;
    const field = fields.at(-1);
    isCut ||= (flags & CUT) !== 0;
    if (character === '\x13') fields.push({ instruction: '', state: 'instruction' });
    else if (character === '\x14' && field !== undefined)
      field.state = keepsResult(field.instruction) ? 'shown' : 'hidden';
    else if (character === '\x15') {
      const nested = fields.pop();
      const outer = fields.at(-1);
      if (nested !== undefined && outer?.state === 'instruction')
        outer.instruction = withNested(outer.instruction, nested.instruction);
    } else if (field?.state === 'instruction') field.instruction += character;
    else if (ENDS.includes(character)) endParagraph(character, flags);
    else if ((flags & HIDDEN) === 0 && fields.every(({ state }) => state === 'shown'))
      paragraph += shownAs(character);
  }
  endParagraph('', 0);
  return result;
}
