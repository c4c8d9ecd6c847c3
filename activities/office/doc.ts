import { legacyHookDecode } from '@exodus/bytes/encoding.js';
import { ServiceError } from '../../schemas/errors.ts';
import { readCfb } from './cfb.ts';
import { readKnown, readPlc, type TablePart } from './doc/known.ts';
import { type Characters, paragraphsOf } from './doc/paragraphs.ts';
import { HIDDEN } from './doc/properties.ts';
import type { SourceText } from './sourceText.ts';

/** Offsets in the file information block ([MS-DOC] 2.5): flags, numbers of characters of the parts, and places in the table stream. */
const FLAGS = 0x0a;
/** Body, footnotes, headers, comments, endnotes, text boxes. */
const LENGTHS = [0x4c, 0x50, 0x54, 0x5c, 0x60, 0x64];
const [BODY, FOOTNOTES, ENDNOTES, BOXES] = [0, 1, 4, 5];
const PLACES = { footnotes: 0xaa, pieces: 0x1a2, endnotes: 0x20a };
const SECOND_TABLE = 0x0200;

/** Reads the pieces of the text (Clx); null if some have properties of a kind that is not read, as where Word saved only changes. */
function readCharacters(word: Buffer, part: TablePart): Characters | null {
  const pieces = part(PLACES.pieces);
  let at = 0;
  // Properties of pieces precede the pieces.
  while (pieces.readUInt8(at) === 1) at += 3 + pieces.readUInt16LE(at + 1);
  const plc = pieces.subarray(at + 5, at + 5 + pieces.readUInt32LE(at + 1));
  const { numbers, data, count } = readPlc(plc, 8);
  const total = numbers.at(-1) ?? 0;
  if (total > word.length) throw new RangeError('the pieces overlap');
  const bytes = readKnown(word, part);
  const known = new Uint8Array(total);
  const texts: string[] = [];
  for (let index = 0; index < count; index++) {
    const [from = 0, to = 0] = [numbers[index], numbers[index + 1]];
    const place = plc.readUInt32LE(data + 8 * index + 2);
    if (plc.readUInt16LE(data + 8 * index + 6) !== 0) return null;
    const isCompressed = (place & 0x4000_0000) !== 0;
    const [start, size] = isCompressed ? [(place & 0x3fff_ffff) / 2, 1] : [place & 0x3fff_ffff, 2];
    const piece = word.subarray(start, start + size * Math.max(0, to - from));
    if (to < from || piece.length < size * (to - from))
      throw new RangeError('a piece is outside of the document');
    texts.push(isCompressed ? legacyHookDecode(piece, 'windows-1252') : piece.toString('utf16le'));
    for (let character = from; character < to; character++)
      known[character] = bytes[start + size * (character - from)] ?? 0;
  }
  return { text: texts.join(''), known };
}

function read(word: Buffer, part: TablePart): SourceText | null {
  const characters = readCharacters(word, part);
  if (characters === null) return null;
  const { text, known } = characters;
  let at = 0;
  const parts = LENGTHS.map((offset) => {
    const start = at;
    at += word.readUInt32LE(offset);
    return paragraphsOf({ text: text.slice(start, at), known: known.subarray(start, at) });
  });
  const all = (index: number): SourceText => parts[index] ?? { sure: [], loose: [] };
  /** The text of notes. It is not certain to be shown if the mark of one is hidden. */
  const notes = (index: number, place: number): SourceText => {
    const { numbers, count } = readPlc(part(place), 2);
    const isHidden = numbers.slice(0, count).some((mark) => ((known[mark] ?? 0) & HIDDEN) !== 0);
    const { sure, loose } = all(index);
    return isHidden ? { sure: [], loose: [...sure, ...loose] } : { sure, loose };
  };
  const sources = [all(BODY), notes(FOOTNOTES, PLACES.footnotes), notes(ENDNOTES, PLACES.endnotes)];
  const boxes = all(BOXES);
  return {
    sure: sources.flatMap(({ sure }) => sure),
    loose: [...sources.flatMap(({ loose }) => loose), ...boxes.sure, ...boxes.loose],
  };
}

/**
 * Reads the text that a document of Word 97 or later shows ([MS-DOC]): the body and the notes; text boxes are not certain to be shown.
 * Headers and footers are not read.
 *
 * @returns null when its text is not known, because Word saved only the changes, or the file is damaged
 */
export function readDoc(bytes: Buffer): SourceText | null {
  try {
    const streams = readCfb(bytes);
    const word = streams.get('WordDocument')?.() ?? Buffer.alloc(0);
    const name = (word.readUInt16LE(FLAGS) & SECOND_TABLE) === 0 ? '0Table' : '1Table';
    const table = streams.get(name)?.() ?? Buffer.alloc(0);
    return read(word, (place) => {
      const start = word.readUInt32LE(place);
      return table.subarray(start, start + word.readUInt32LE(place + 4));
    });
  } catch (error) {
    if (error instanceof RangeError || error instanceof ServiceError) return null;
    throw error;
  }
}
