import type { DecodedImage } from '../../activities/images/decode.ts';

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

/** Kernels by which pictures are reduced, with their reach on each side. */
const KERNELS = {
  lanczos: { reach: 3, weight: (x: number) => sinc(x) * sinc(x / 3) },
  // Keys (1981), with a = -0.5, as Pillow and libvips use it.
  bicubic: {
    reach: 2,
    weight: (x: number) =>
      Math.abs(x) < 1
        ? 1.5 * Math.abs(x) ** 3 - 2.5 * x ** 2 + 1
        : -0.5 * Math.abs(x) ** 3 + 2.5 * x ** 2 - 4 * Math.abs(x) + 2,
  },
  bilinear: { reach: 1, weight: (x: number) => 1 - Math.abs(x) },
} as const;
export type Kernel = keyof typeof KERNELS;

/** Returns the places and weights of the samples of which one sample of a reduced line is made. */
function tapsOf(
  kernel: Kernel,
  factor: number,
  index: number,
  length: number,
): [place: number, weight: number][] {
  const { reach, weight } = KERNELS[kernel];
  const centre = (index + 0.5) * factor - 0.5;
  const taps: [number, number][] = [];
  for (let place = Math.ceil(centre - reach * factor); place < centre + reach * factor; place++)
    if (place >= 0 && place < length) taps.push([place, weight((place - centre) / factor)]);
  const sum = taps.reduce((total, [, it]) => total + it, 0);
  return taps.map(([place, it]) => [place, it / sum]);
}

/**
 * Reduces a picture of three channels by a factor of which its sides are multiples, in one step and with the kernel widened by
 * the factor, as Pillow does. Sharp first halves a picture that it reduces to a quarter.
 */
export function reducePicture(picture: DecodedImage, factor: number, kernel: Kernel): DecodedImage {
  const [width, height] = [picture.width / factor, picture.height / factor];
  const rows = new Float64Array(3 * width * picture.height);
  for (let x = 0; x < width; x++)
    for (const [place, weight] of tapsOf(kernel, factor, x, picture.width))
      for (let y = 0; y < picture.height; y++)
        for (let channel = 0; channel < 3; channel++) {
          const at = 3 * (y * width + x) + channel;
          rows[at] =
            (rows[at] ?? 0) + weight * (picture.data[3 * (y * picture.width + place) + channel] ?? 0);
        }
  const sums = new Float64Array(3 * width * height);
  for (let y = 0; y < height; y++)
    for (const [place, weight] of tapsOf(kernel, factor, y, picture.height))
      for (let at = 0; at < 3 * width; at++)
        sums[3 * y * width + at] =
          (sums[3 * y * width + at] ?? 0) + weight * (rows[3 * place * width + at] ?? 0);
  return { ...picture, data: Uint8Array.from(new Uint8ClampedArray(sums)), width, height };
}
