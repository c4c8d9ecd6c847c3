import type { ImageHeader } from './header.ts';
import { jpegData } from './jpegSegments.ts';
import { isIntact, pngHead } from './pngChunks.ts';

/** The number of pixels per length at which an image is meant to be printed. */
export interface Density {
  x: number;
  y: number;
  /** `none`: only the ratio of both is known, which is that of the sides of a pixel. */
  unit: 'inch' | 'cm' | 'metre' | 'none';
}

const INCH_IN_METRES = 0.0254;
/** Units by their number in JFIF (ITU-T T.871, 10.1), in EXIF (EXIF 2.32, 4.6.5) and in a PNG (11.3.4.3). */
const JFIF_UNITS = ['none', 'inch', 'cm'] as const;
const EXIF_UNITS: Readonly<Record<number, Density['unit']>> = { 1: 'none', 2: 'inch', 3: 'cm' };
const PNG_UNITS = ['none', 'metre'] as const;

/** Largest density that JFIF can state, with 16 bits. */
const JFIF_MAX = 65_535;
/** EXIF states a density as a fraction. With this denominator it has four decimal places. */
const DENOMINATOR = 10_000;
const APP0 = 0xe0;

/** Tags of EXIF: XResolution, YResolution and ResolutionUnit. */
const X_RESOLUTION = 0x011a;
const Y_RESOLUTION = 0x011b;
const RESOLUTION_UNIT = 0x0128;

function densityOf(x: number, y: number, unit: Density['unit'] | undefined): Density | null {
  if (unit === undefined || !(x > 0 && y > 0 && Number.isFinite(x + y))) return null;
  return unit === 'none' && x === y ? null : { x, y, unit };
}

function fromJfif(bytes: Buffer): Density | null {
  const data = jpegData(bytes, APP0, 'JFIF\0');
  if (data === null || data.length < 7) return null;
  return densityOf(data.readUInt16BE(3), data.readUInt16BE(5), JFIF_UNITS[data.readUInt8(2)]);
}

function fromPng(bytes: Buffer): Density | null {
  for (const chunk of pngHead(bytes))
    if (chunk.type === 'pHYs' && chunk.data.length === 9 && isIntact(bytes, chunk))
      return densityOf(
        chunk.data.readUInt32BE(0),
        chunk.data.readUInt32BE(4),
        PNG_UNITS[chunk.data.readUInt8(8)],
      );
  return null;
}

/** Reads the density from the first directory of EXIF data, a TIFF file (EXIF 2.32, 4.5). */
function fromExif(exif: Buffer): Density | null {
  const tiff = exif.toString('latin1', 0, 6) === 'Exif\0\0' ? exif.subarray(6) : exif;
  const little = tiff.toString('latin1', 0, 2) === 'II';
  const short = (at: number) => (little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const long = (at: number) => (little ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at));
  const values = new Map<number, number>();
  try {
    const directory = long(4);
    for (let index = 0; index < short(directory); index++) {
      const at = directory + 2 + 12 * index;
      const tag = short(at);
      if (tag === RESOLUTION_UNIT) values.set(tag, short(at + 8));
      else if (tag === X_RESOLUTION || tag === Y_RESOLUTION) {
        const fraction = long(at + 8);
        values.set(tag, long(fraction) / long(fraction + 4));
      }
    }
  } catch {
    // An offset points outside of the data.
  }
  const x = values.get(X_RESOLUTION) ?? 0;
  return densityOf(x, values.get(Y_RESOLUTION) ?? x, EXIF_UNITS[values.get(RESOLUTION_UNIT) ?? 2]);
}

/** Reads the density from BITMAPINFOHEADER and its later versions. */
const fromBmp = (bytes: Buffer): Density | null =>
  bytes.length >= 46 && bytes.readUInt32LE(14) >= 40
    ? densityOf(bytes.readInt32LE(38), bytes.readInt32LE(42), 'metre')
    : null;

/**
 * Reads the density of an image; null if it states none. If the format itself states a density, that of its EXIF data is
 * ignored, as in most programs.
 */
export function readDensity(type: ImageHeader['type'], bytes: Buffer, exif?: Buffer): Density | null {
  const own = { jpeg: fromJfif, png: fromPng, bmp: fromBmp, webp: () => null }[type](bytes);
  return own ?? (exif === undefined ? null : fromExif(exif));
}

const perMetre = (value: number, unit: Density['unit']): number =>
  Math.round(unit === 'inch' ? value / INCH_IN_METRES : unit === 'cm' ? value * 100 : value);

/** Encodes a density as the data of a pHYs chunk. */
export function toPng({ x, y, unit }: Density): Buffer {
  const data = Buffer.alloc(9);
  data.writeUInt32BE(perMetre(x, unit) >>> 0, 0);
  data.writeUInt32BE(perMetre(y, unit) >>> 0, 4);
  data[8] = unit === 'none' ? 0 : 1;
  return data;
}

/** Encodes a density as the data of a JFIF segment; null if JFIF cannot state it. */
export function toJfif({ x, y, unit }: Density): Buffer | null {
  const [across, down] = unit === 'metre' ? [x / 100, y / 100] : [x, y];
  if (Math.max(across, down) > JFIF_MAX || Math.min(across, down) < 0.5) return null;
  const data = Buffer.from('JFIF\0\x01\x02\0\0\0\0\0\0\0', 'latin1');
  data[7] = unit === 'none' ? 0 : unit === 'inch' ? 1 : 2;
  data.writeUInt16BE(Math.round(across), 8);
  data.writeUInt16BE(Math.round(down), 10);
  return data;
}

/** Encodes a density as EXIF data without other entries; null if EXIF cannot state it. */
export function toExif({ x, y, unit }: Density): Buffer | null {
  if (unit === 'none' || Math.max(x, y) * DENOMINATOR > 0xffff_ffff) return null;
  const metres = unit === 'metre' ? 100 : 1;
  const [entries, values] = [10, 50];
  const data = Buffer.alloc(values + 16);
  data.write('II*\0', 'latin1');
  data.writeUInt32LE(8, 4);
  data.writeUInt16LE(3, 8);
  for (const [index, [tag, type, value]] of [
    [X_RESOLUTION, 5, values],
    [Y_RESOLUTION, 5, values + 8],
    [RESOLUTION_UNIT, 3, unit === 'inch' ? 2 : 3],
  ].entries()) {
    const at = entries + 12 * index;
    data.writeUInt16LE(tag ?? 0, at);
    data.writeUInt16LE(type ?? 0, at + 2);
    data.writeUInt32LE(1, at + 4);
    data.writeUInt32LE(value ?? 0, at + 8);
  }
  for (const [index, value] of [x, y].entries()) {
    data.writeUInt32LE(Math.round((value / metres) * DENOMINATOR), values + 8 * index);
    data.writeUInt32LE(DENOMINATOR, values + 8 * index + 4);
  }
  return data;
}

/** The density of an image that is turned by its EXIF orientation: orientations from 5 on swap width and height. */
export const turnDensity = (density: Density | null, orientation = 1): Density | null =>
  density !== null && orientation >= 5 ? { ...density, x: density.y, y: density.x } : density;
