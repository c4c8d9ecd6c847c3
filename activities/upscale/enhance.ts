import { combine, enlarge, type Plane, reduce } from './lanczos.ts';
import type { Planes } from './networkTypes.ts';

/** A network whose output is not checked. */
export interface BareNetwork {
  run(planes: Planes): Promise<Planes>;
}

/** Share of the network's output in the enhanced image before back-projection. The rest is the Lanczos enlargement. */
const NETWORK_SHARE = 0.5;

/** Interpolates linearly between two planes: `a + share * (b - a)` for each sample. */
const mix = (a: Plane, b: Plane, share: number): Plane => combine(1 - share, a, share, b);

/**
 * One step of back-projection (Irani and Peleg, 1991): reduces `large` to the size of `source`, and adds the difference
 * between the two, enlarged, to `large`.
 */
const backProject = (large: Plane, source: Plane, factor: number): Plane =>
  combine(1, large, 1, enlarge(combine(1, source, -1, reduce(large, factor)), factor));

interface Enlarged {
  /** The image enlarged by Lanczos only. */
  plain: Planes;
  /** The Lanczos enlargement mixed with the network's output, then back-projected. */
  enhanced: Planes;
}

const each = (planes: Planes, work: (plane: Plane, channel: 0 | 1 | 2) => Plane): Planes => [
  work(planes[0], 0),
  work(planes[1], 1),
  work(planes[2], 2),
];

export async function enlargeBothWays(
  planes: Planes,
  factor: number,
  network: BareNetwork,
): Promise<Enlarged> {
  const predicted = await network.run(planes);
  const plain = each(planes, (plane) => enlarge(plane, factor));
  const enhanced = each(plain, (plane, channel) =>
    backProject(mix(plane, predicted[channel], NETWORK_SHARE), planes[channel], factor),
  );
  return { plain, enhanced };
}

/**
 * Enlarges an image to a weighted mean of its plain and its enhanced enlargement.
 *
 * @param weight 0 for Lanczos only, 1 for the enhanced image only
 */
export async function enlargeMixed(
  planes: Planes,
  factor: number,
  network: BareNetwork,
  weight: number,
): Promise<Planes> {
  if (weight === 0) return each(planes, (plane) => enlarge(plane, factor));
  const { plain, enhanced } = await enlargeBothWays(planes, factor, network);
  return each(plain, (plane, channel) => mix(plane, enhanced[channel], weight));
}
