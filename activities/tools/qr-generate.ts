import { create, type QRCode } from 'qrcode';
import { invalidInput } from '../../schemas/errors.ts';
import { minimumSize, tooLong } from '../../schemas/formats/qr.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/qr-generate.ts';
import { encodeBilevelPng } from '../images/png.ts';

type Modules = QRCode['modules'];

/** Creates the smallest code for the text. The qrcode package mixes numeric, alphanumeric and byte segments optimally. */
function encode(text: string, level: ToolInput<typeof definition>['errorCorrection']): Modules {
  try {
    return create(text, { errorCorrectionLevel: level }).modules;
  } catch (error) {
    // The qrcode package has no error types. It throws no other error for non-empty text.
    if (error instanceof Error && error.message.startsWith('The amount of data is too big'))
      throw invalidInput([tooLong(level)]);
    throw error;
  }
}

/** Draws rows of one-bit pixels (1 is white). Modules are whole pixels wide; the remaining pixels form the margin. */
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

/** Generates a QR code (ISO/IEC 18004) as PNG. */
export async function run(input: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  const { text, size, errorCorrection } = input;
  const modules = encode(text, errorCorrection);
  const minSize = minimumSize(modules.size);
  if (size < minSize)
    throw invalidInput([
      { pointer: '/size', message: `is too small for this text: the code needs at least ${minSize} pixels` },
    ]);
  const png = encodeBilevelPng(size, draw(modules, size));
  return { imageBase64: png.toString('base64'), mimeType: 'image/png', size };
}
