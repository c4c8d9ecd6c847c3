import { enlargeBothWays } from './enhance.ts';
import { combine, enlarge, type Plane, reduce } from './lanczos.ts';
import type { Network, Planes } from './networkTypes.ts';

/** Of the weight that is best one size below: the next size is never quite like it. */
const CAUTION = 0.5;
const MOST = 0.7;
/**
 * What the finest details of the picture must hold at least of the energy of those one size coarser. With less the
 * picture is blurred, has nothing finer to be found, and Lanczos is as good as it gets.
 */
const SHARP = 0.35;
/** Energy that rounding to 8 bits alone may leave. */
const FAINT = 0.25;
/** Pixels a side that are measured: the middle of a larger picture. */
const MEASURED = 768;
/** Pixels a side that must be left after reducing twice. */
const LEAST = 4;

/** ITU-R BT.601. */
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

/** The middle, of sides that divide by `unit`. */
function middle(planes: Planes, unit: number): Planes {
  const [{ width, height }] = planes;
  const side = (length: number) => Math.min(length, MEASURED) - (Math.min(length, MEASURED) % unit);
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
/** What 8 bits can hold. */
const round = (plane: Plane): Plane => ({
  ...plane,
  data: new Float32Array(new Uint8ClampedArray(plane.data)),
});

/**
 * How much of the network to use for a picture, from what it does for the picture itself: that is reduced, enlarged again
 * both ways, and the mixture that comes nearest to the original in luma (least squares) is taken with caution. 0 where the
 * network does harm, where the picture is blurred, and where it is too small to tell.
 */
export async function measureWeight(planes: Planes, factor: number, network: Network): Promise<number> {
  const original = middle(planes, factor * factor);
  const [{ width, height }] = original;
  if (Math.min(width, height) < LEAST * factor * factor) return 0;
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
  if (energy(missing) <= Math.max(FAINT, SHARP * energy(coarseMissing))) return 0;

  const added = difference(lumaOf(enhanced), base);
  const best = product(missing, added) / Math.max(product(added, added), Number.EPSILON);
  return Math.min(MOST, Math.max(0, CAUTION * best));
}
