import { HIDDEN, ofCharacters, ofParagraph, symbolFonts } from './properties.ts';

/** A part of the table stream, by its place in the file information block. */
export type TablePart = (place: number) => Buffer;

/** Places of the styles, the fonts, and the properties of characters and paragraphs. */
const PLACES = { styles: 0xa2, characters: 0xfa, paragraphs: 0x102, fonts: 0x112 };
const PAGE = 512;
const PARAGRAPH_STYLE = 1;

/** Returns the numbers before the data of a table with positions ([MS-DOC] 2.2.2), one more than data, and the offset of the data. */
export function readPlc(plc: Buffer, dataBytes: number) {
  const count = Math.max(0, Math.floor((plc.length - 4) / (4 + dataBytes)));
  return {
    count,
    numbers: Array.from({ length: count + 1 }, (_, at) => (plc.length < 4 ? 0 : plc.readUInt32LE(4 * at))),
    data: 4 * (count + 1),
  };
}

/** Yields the runs of bytes of the document stream that have the same properties, in their order, from pages (ChpxFkp and PapxFkp). */
function* runsOf(word: Buffer, plc: Buffer, entryBytes: 1 | 13) {
  const { count, data } = readPlc(plc, 4);
  let end = 0;
  for (let index = 0; index < count; index++) {
    const start = PAGE * (plc.readUInt32LE(data + 4 * index) & 0x3fffff);
    const page = word.subarray(start, start + PAGE);
    const runs = page.readUInt8(PAGE - 1);
    for (let run = 0; run < runs; run++) {
      const from = Math.max(end, page.readUInt32LE(4 * run));
      end = Math.max(end, page.readUInt32LE(4 * run + 4));
      const at = 2 * page.readUInt8(4 * (runs + 1) + entryBytes * run);
      if (from < end) yield { from, to: end, page, at };
    }
  }
}

/** Returns the flags of each style, by its number (STSH). A style inherits the flags of the style on which it is based. */
function readStyles(sheet: Buffer, symbols: ReadonlySet<number>): number[] {
  const styles: { known: number; base: number }[] = [];
  const count = sheet.length < 6 ? 0 : sheet.readUInt16LE(2);
  const baseBytes = count === 0 ? 0 : sheet.readUInt16LE(4);
  for (let at = count === 0 ? 0 : 2 + sheet.readUInt16LE(0); styles.length < count; ) {
    const style = sheet.subarray(at + 2, at + 2 + sheet.readUInt16LE(at));
    at += 2 + style.length;
    const found = { known: 0, base: -1 };
    styles.push(found);
    if (style.length < baseBytes + 2) continue;
    const kind = style.readUInt16LE(2);
    found.base = kind >> 4;
    let start = baseBytes + 4 + 2 * style.readUInt16LE(baseBytes);
    for (let part = 0; part < 2 && start + 2 <= style.length; part++) {
      const properties = style.subarray(start + 2, start + 2 + style.readUInt16LE(start));
      start += 2 + properties.length + (properties.length % 2);
      const isOfParagraph = (kind & 15) === PARAGRAPH_STYLE && part === 0;
      found.known |= isOfParagraph
        ? ofParagraph(properties.subarray(2))
        : ofCharacters(properties, symbols, []);
    }
  }
  return styles.map((style) => {
    let known = 0;
    for (let it: typeof style | undefined = style, depth = 0; it !== undefined && depth < 20; depth++) {
      known |= it.known;
      it = styles[it.base];
    }
    return known;
  });
}

/** Returns the flags of all characters, by the offset of the character in the document stream. */
export function readKnown(word: Buffer, part: TablePart): Uint8Array {
  const known = new Uint8Array(word.length);
  const symbols = symbolFonts(part(PLACES.fonts));
  const styles = readStyles(part(PLACES.styles), symbols);
  for (const { from, to, page, at } of runsOf(word, part(PLACES.paragraphs), 13)) {
    const words = at === 0 ? 0 : page.readUInt8(at);
    const start = words === 0 ? at + 2 : at + 1;
    const size = at === 0 ? 0 : words === 0 ? 2 * page.readUInt8(at + 1) : 2 * words - 1;
    const properties = page.subarray(start, start + size);
    const style = properties.length < 2 ? 0 : properties.readUInt16LE(0);
    known.fill((styles[style] ?? 0) | ofParagraph(properties.subarray(2)), from, to);
  }
  for (const { from, to, page, at } of runsOf(word, part(PLACES.characters), 1)) {
    const properties = at === 0 ? page.subarray(0, 0) : page.subarray(at + 1, at + 1 + page.readUInt8(at));
    if ((ofCharacters(properties, symbols, styles) & HIDDEN) === 0) continue;
    for (let byte = from; byte < to && byte < known.length; byte++) known[byte] = (known[byte] ?? 0) | HIDDEN;
  }
  return known;
}
