import { isIntact, pngHead } from './pngChunks.ts';

/** A PNG chunk that says how its samples are to be shown, besides or instead of a colour profile. */
export interface ColourChunk {
  type: string;
  data: Buffer;
}

/** Types and sizes in bytes of these chunks (PNG, Third Edition, 11.3.2), in the order in which they are written. */
const SIZES: Readonly<Record<string, number>> = { cICP: 4, mDCV: 24, cLLI: 8, sRGB: 1, gAMA: 4, cHRM: 32 };

/** Returns the colour chunks of a PNG that readers obey: the first of each type, if it is valid. */
export function readColourChunks(png: Buffer): ColourChunk[] {
  const found = new Map<string, Buffer>();
  for (const chunk of pngHead(png, 'PLTE')) {
    const { type, data } = chunk;
    if (!found.has(type) && data.length === SIZES[type] && isIntact(png, chunk)) found.set(type, data);
  }
  return Object.keys(SIZES).flatMap((type) => {
    const data = found.get(type);
    return data === undefined ? [] : [{ type, data }];
  });
}

/**
 * Levels of white text and paper, 203 cd/m2, in the two transfer functions of HDR, by their number in cICP (ITU-R BT.2408, table
 * 1; ITU-T H.273, table 3). Full levels are as bright as lamps.
 */
const HDR_WHITE: Readonly<Record<number, number>> = { 16: 0.58, 18: 0.75 };

/** Returns the level of white from 0 to 1 that an image with these chunks uses for paper. */
export const whiteLevel = (chunks: readonly ColourChunk[]): number =>
  HDR_WHITE[chunks.find(({ type }) => type === 'cICP')?.data[1] ?? 0] ?? 1;
