import type { Plane } from './lanczos.ts';

export const FACTORS = [2, 4] as const;
export type Factor = (typeof FACTORS)[number];

/** The red, green and blue channels of an image, with samples from 0 to 255. */
export type Planes = readonly [Plane, Plane, Plane];

/** A neural network that enlarges images. */
export interface Network {
  run(planes: Planes): Promise<Planes>;
}
