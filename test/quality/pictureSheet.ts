import { existsSync } from 'node:fs';
import { join } from 'node:path';
import sharp, { type OverlayOptions } from 'sharp';

/** Size of a window, and the colour scheme that the reader prefers. */
export interface Look {
  width: number;
  height: number;
  scheme: 'light' | 'dark';
  /** Width of a picture on the sheet. */
  shown: number;
}

const WINDOWS = [
  { width: 390, height: 844, shown: 195 },
  { width: 768, height: 1024, shown: 256 },
  { width: 1440, height: 900, shown: 400 },
];

/** A telephone, a tablet and a desktop, in both colour schemes. */
export const LOOKS: readonly Look[] = WINDOWS.flatMap((size) =>
  (['light', 'dark'] as const).map((scheme) => ({ ...size, scheme })),
);

export const pictureFile = (name: string, { width, scheme }: Look): string =>
  `${name.replaceAll(/\W+/g, '-')}-${width}-${scheme}.webp`;

/** Proportion of the pictures on a sheet, height to width; longer pages are cut off. */
const PROPORTIONS = { 390: 3, 768: 1.8, 1440: 1.1 } as Readonly<Record<number, number>>;
const GAP = 12;
const LABEL_HEIGHT = 22;
const SHEET_WIDTH = 3200;
const QUALITY = 55;

const label = (text: string, width: number): Buffer =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${LABEL_HEIGHT}"><text y="16" font-family="sans-serif" font-size="14" fill="#444">${text}</text></svg>`,
  );

/**
 * Puts the pictures of the pages on one sheet, in rows.
 *
 * @param folders folders with the pictures; those of a page are beside each other
 */
export async function makeSheet(
  folders: readonly string[],
  names: readonly string[],
  look: Look,
): Promise<Buffer> {
  const { width, shown } = look;
  const height = Math.round(shown * (PROPORTIONS[width] ?? 1));
  const cell = { width: folders.length * (shown + GAP / 2) + GAP, height: LABEL_HEIGHT + height + GAP };
  const columns = Math.floor(SHEET_WIDTH / cell.width);
  const parts: OverlayOptions[] = [];
  for (const [index, name] of names.entries()) {
    const left = GAP + (index % columns) * cell.width;
    const top = GAP + Math.floor(index / columns) * cell.height;
    parts.push({ input: label(name, cell.width - GAP), left, top });
    for (const [position, folder] of folders.entries()) {
      const file = join(folder, pictureFile(name, look));
      if (!existsSync(file)) continue;
      const scaled = await sharp(file).resize({ width: shown }).png().toBuffer({ resolveWithObject: true });
      const input = await sharp(scaled.data)
        .extract({ left: 0, top: 0, width: shown, height: Math.min(height, scaled.info.height) })
        .toBuffer();
      parts.push({ input, left: left + position * (shown + GAP / 2), top: top + LABEL_HEIGHT });
    }
  }
  const rows = Math.ceil(names.length / columns);
  const ground = { width: GAP + columns * cell.width, height: GAP + rows * cell.height };
  return sharp({ create: { ...ground, channels: 3, background: '#d5d9df' } })
    .composite(parts)
    .webp({ quality: QUALITY, effort: 6 })
    .toBuffer();
}
