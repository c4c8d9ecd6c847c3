import { SYMBOLS } from '../docx/text.ts';

/** Properties of characters, paragraphs and tables ([MS-DOC] 2.6). The upper three bits of a name are the kind of its operand. */
const DELETED = 0x0800;
const VANISH = 0x083c;
const CHARACTER_STYLE = 0x4a30;
const FONTS = [0x4a4f, 0x4a51];
const IN_TABLE = 0x2416;
const ROW_ENDS = [0x2417, 0x244c];
const FRAME_HEIGHT = 0x442b;
const ROW_HEIGHT = 0x9407;
const ROW_CELLS = 0xd608;
const VERTICAL_MERGE = 0xd62b;
const ELSEWHERE = [0x6645, 0x6646];
const OPERANDS = [1, 1, 2, 4, 2, 2, 0, 3];
/** The character set of fonts of symbols, and the offset of the name of a font (FFN). */
const SYMBOL_CHARSET = 2;
const FONT_NAME = 40;

/**
 * Flags of a character: it is hidden or a symbol (`HIDDEN`), its paragraph or row can be cut off (`CUT`), it is in a cell (`CELL`), or it is
 * in the paragraph that ends a row (`ROW_END`).
 */
export const HIDDEN = 1;
export const CUT = 2;
export const CELL = 4;
export const ROW_END = 8;

/** Yields properties with their operands ([MS-DOC] 2.6.1). */
function* propertiesOf(bytes: Buffer): Generator<[name: number, operand: Buffer]> {
  for (let at = 0; at + 2 < bytes.length; ) {
    const name = bytes.readUInt16LE(at);
    const length = OPERANDS[name >> 13] || 1 + bytes.readUInt8(at + 2);
    const size = name === ROW_CELLS && at + 4 <= bytes.length ? 1 + bytes.readUInt16LE(at + 2) : length;
    const operand = bytes.subarray(at + 2, at + 2 + size);
    if (operand.length === size) yield [name, operand];
    at += 2 + size;
  }
}

/** Returns the indexes of fonts whose letters are symbols (SttbfFfn), by their character set or their name. */
export function symbolFonts(fonts: Buffer): Set<number> {
  const found = new Set<number>();
  for (let index = 0, at = 4; at + 5 <= fonts.length; at += 1 + fonts.readUInt8(at), index++) {
    const name = fonts.toString('utf16le', at + FONT_NAME, at + 1 + fonts.readUInt8(at));
    if (fonts.readUInt8(at + 4) === SYMBOL_CHARSET || SYMBOLS.test(name)) found.add(index);
  }
  return found;
}

/** Whether a row has a cell that continues another one, whose content is not shown (TDefTableOperand, TC80). */
function hasContinued(operand: Buffer): boolean {
  const cells = operand.readUInt8(2);
  for (let at = 3 + 2 * (cells + 1); at + 2 <= operand.length; at += 20) {
    const flags = operand.readUInt16LE(at);
    if ((flags & 3) === 1 || ((flags >> 5) & 3) === 1) return true;
  }
  return false;
}

/** Returns the flags that the properties of a paragraph or row give its characters. */
export function ofParagraph(properties: Buffer): number {
  let known = 0;
  for (const [name, operand] of propertiesOf(properties)) {
    const value = operand.readUInt8(0);
    if (name === IN_TABLE && value === 1) known |= CELL;
    else if (ROW_ENDS.includes(name) && value === 1) known |= ROW_END;
    // The upper bit says that a frame grows with its text; a negative height of a row, that it does not.
    else if (name === FRAME_HEIGHT && operand.readInt16LE(0) > 0) known |= CUT;
    else if (name === ROW_HEIGHT && operand.readInt16LE(0) < 0) known |= CUT;
    else if (name === ROW_CELLS && hasContinued(operand)) known |= CUT;
    else if (name === VERTICAL_MERGE && operand.at(2) === 1) known |= CUT;
    else if (ELSEWHERE.includes(name)) known |= CUT;
  }
  return known;
}

/** Returns the flags that properties of characters give. @param styles flags of character styles, by their numbers */
export function ofCharacters(
  properties: Buffer,
  symbols: ReadonlySet<number>,
  styles: readonly number[],
): number {
  let known = 0;
  for (const [name, operand] of propertiesOf(properties)) {
    if ((name === VANISH || name === DELETED) && (operand.readUInt8(0) & 1) === 1) known |= HIDDEN;
    else if (FONTS.includes(name) && symbols.has(operand.readUInt16LE(0))) known |= HIDDEN;
    else if (name === CHARACTER_STYLE) known |= styles[operand.readUInt16LE(0)] ?? 0;
  }
  return known;
}
