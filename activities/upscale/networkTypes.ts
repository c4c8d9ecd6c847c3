import type { Plane } from './lanczos.ts';

export const FACTORS = [2, 4] as const;
export type Factor = (typeof FACTORS)[number];

/** The red, green and blue channels of an image, with samples from 0 to 255. */
export type Planes = readonly [Plane, Plane, Plane];

/** Enlarges an image or a part of it. Samples of the result may lie slightly outside of 0 to 255. */
type Enlarge = (part: Planes) => Promise<Planes>;

/** A neural network that enlarges images. */
export interface Network {
  /**
   * Prepares the enlargement of an image in parts.
   *
   * @param whole returns the whole image, on which some networks measure how far they can be trusted
   * @param coarseness how coarsely the image was compressed: coarseness.ts
   */
  prepare(whole: () => Planes, coarseness: number): Promise<Enlarge>;
}
