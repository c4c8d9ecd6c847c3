import { type BareNetwork, enlargeBothWays } from './enhance.ts';
import { combine, enlarge, type Plane, reduce } from './lanczos.ts';
import type { Planes } from './networkTypes.ts';

/**
 * Factor that reduces the weight found to be best for the reduced image, because the full image behaves slightly
 * differently.
 */
const DAMPING = 0.5;
const MAX_WEIGHT = 0.7;
/**
 * Smallest ratio of the energy of the finest details to the energy of details one scale coarser. Below it the image is
 * blurred: it has no finer details to restore, and Lanczos alone is the best method.
 */
const SHARPNESS = 0.35;
/** Largest energy that rounding to 8 bits can cause. */
const ROUNDING_ENERGY = 0.25;
/** Largest width and height in pixels of the centre of the image that is measured. */
const MAX_MEASURED = 768;
/** Smallest width and height in pixels that the image must have after it was reduced twice. */
const MIN_REDUCED_SIDE = 4;

/** Luma weights of red, green and blue by ITU-R BT.601. */
const LUMA = [0.299, 0.587, 0.114] as const;

const lumaOf = ([red, green, blue]: Planes): Plane =>
  combine(1, combine(LUMA[0], red, LUMA[1], green), LUMA[2], blue);

function crop({ data, width }: Plane, left: number, top: number, size: Omit<Plane, 'data'>): Plane {
  const part = new Float32Array(size.width * size.height);
  for (let y = 0; y < size.height; y++) {
    const start = (top + y) * width + left;
    part.set(data.subarray(start, start + size.width), y * size.width);
  }
  return { data: part, ...size };
}

/**
 * Crops the centre of an image, at most MAX_MEASURED pixels wide and high and with sides that are multiples of `unit`.
 */
function cropCentre(planes: Planes, unit: number): Planes {
  const [{ width, height }] = planes;
  const side = (length: number) => Math.min(length, MAX_MEASURED) - (Math.min(length, MAX_MEASURED) % unit);
  const size = { width: side(width), height: side(height) };
  const [left, top] = [(width - size.width) >> 1, (height - size.height) >> 1];
  const cut = (plane: Plane) => crop(plane, left, top, size);
  return [cut(planes[0]), cut(planes[1]), cut(planes[2])];
}

function product(a: Plane, b: Plane): number {
  let sum = 0;
  for (let at = 0; at < a.data.length; at++) sum += (a.data[at] ?? 0) * (b.data[at] ?? 0);
  return sum;
}
const difference = (a: Plane, b: Plane): Plane => combine(1, a, -1, b);
const energy = (plane: Plane): number => product(plane, plane) / plane.data.length;
/** Rounds and clamps samples to 8 bits. */
const round = (plane: Plane): Plane => ({
  ...plane,
  data: new Float32Array(new Uint8ClampedArray(plane.data)),
});

/**
 * Chooses the weight of the network's output for an image: reduces the image, enlarges it again with and without the
 * network, finds the mix of both that is nearest to the original in luma (least squares), and damps that weight.
 * Returns 0 when the network makes the image worse, and when the image is blurred or too small to measure.
 */
export async function measureWeight(planes: Planes, factor: number, network: BareNetwork): Promise<number> {
  const original = cropCentre(planes, factor * factor);
  const [{ width, height }] = original;
  if (Math.min(width, height) < MIN_REDUCED_SIDE * factor * factor) return 0;
  const small: Planes = [
    round(reduce(original[0], factor)),
    round(reduce(original[1], factor)),
    round(reduce(original[2], factor)),
  ];
  const { plain, enhanced } = await enlargeBothWays(small, factor, network);
  const [wanted, base] = [lumaOf(original), lumaOf(plain)];
  const missing = difference(wanted, base);

  const coarse = lumaOf(small);
  const coarseMissing = difference(coarse, enlarge(round(reduce(coarse, factor)), factor));
  if (energy(missing) <= Math.max(ROUNDING_ENERGY, SHARPNESS * energy(coarseMissing))) return 0;

  const added = difference(lumaOf(enhanced), base);
  const best = product(missing, added) / Math.max(product(added, added), Number.EPSILON);
  return Math.min(MAX_WEIGHT, Math.max(0, DAMPING * best));
}
