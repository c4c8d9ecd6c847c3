import { create, type QRCode } from 'qrcode';
import { invalidInput } from '../../schemas/errors.ts';
import { minimumSize, tooLong } from '../../schemas/formats/qr.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/qr-generate.ts';
import { encodeBilevelPng } from '../images/png.ts';

type Modules = QRCode['modules'];

/** The smallest code that holds the text, split by qrcode into the shortest run of digits, capitals and UTF-8. */
function encode(text: string, level: ToolInput<typeof definition>['errorCorrection']): Modules {
  try {
    return create(text, { errorCorrectionLevel: level }).modules;
  } catch (error) {
    // qrcode has no error type; this is the one thing it refuses in a text that is not empty.
    if (error instanceof Error && error.message.startsWith('The amount of data is too big'))
      throw invalidInput([tooLong(level)]);
    throw error;
  }
}

/** Rows of pixels, 1 for white: modules of whole pixels, the rest a margin around them. */
function draw(modules: Modules, size: number): Buffer[] {
  const scale = Math.floor(size / minimumSize(modules.size));
  const margin = Math.floor((size - scale * modules.size) / 2);
  const blank = Buffer.alloc(Math.ceil(size / 8), 0xff);
  const rows = new Array<Buffer>(size).fill(blank);
  for (let y = 0; y < modules.size; y++) {
    const row = Buffer.from(blank);
    for (let x = 0; x < modules.size; x++) {
      if (!modules.get(y, x)) continue;
      const start = margin + x * scale;
      for (let pixel = start; pixel < start + scale; pixel++)
        row.writeUInt8(row.readUInt8(pixel >> 3) & ~(0x80 >> (pixel & 7)), pixel >> 3);
    }
    rows.fill(row, margin + y * scale, margin + (y + 1) * scale);
  }
  return rows;
}

/** ISO/IEC 18004. */
export async function run(input: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  const { text, size, errorCorrection } = input;
  const modules = encode(text, errorCorrection);
  const least = minimumSize(modules.size);
  if (size < least)
    throw invalidInput([
      { pointer: '/size', message: `is too small for this text: its code takes at least ${least} pixels` },
    ]);
  const png = encodeBilevelPng(size, draw(modules, size));
  return { imageBase64: png.toString('base64'), mimeType: 'image/png', size };
}
