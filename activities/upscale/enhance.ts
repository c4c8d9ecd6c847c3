import { combine, enlarge, type Plane, reduce } from './lanczos.ts';
import type { Network, Planes } from './networkTypes.ts';

/** Share of the network's output in the enhanced image before back-projection; the rest is Lanczos. */
const NETWORK_SHARE = 0.5;

/** Linear interpolation `a + share * (b - a)` per sample. */
const mix = (a: Plane, b: Plane, share: number): Plane => combine(1 - share, a, share, b);

/** One step of back-projection (Irani and Peleg, 1991): corrects `large` by the error of its reduction to the source. */
const backProject = (large: Plane, source: Plane, factor: number): Plane =>
  combine(1, large, 1, enlarge(combine(1, source, -1, reduce(large, factor)), factor));

export interface Enlarged {
  /** Lanczos only. */
  plain: Planes;
  /** Lanczos mixed with the network's output, then back-projected. */
  enhanced: Planes;
}

const each = (planes: Planes, work: (plane: Plane, channel: 0 | 1 | 2) => Plane): Planes => [
  work(planes[0], 0),
  work(planes[1], 1),
  work(planes[2], 2),
];

export async function enlargeBothWays(planes: Planes, factor: number, network: Network): Promise<Enlarged> {
  const predicted = await network.run(planes);
  const plain = each(planes, (plane) => enlarge(plane, factor));
  const enhanced = each(plain, (plane, channel) =>
    backProject(mix(plane, predicted[channel], NETWORK_SHARE), planes[channel], factor),
  );
  return { plain, enhanced };
}

/** Enlarges by a weighted mean of both results. @param weight 0 for Lanczos only, 1 for the enhanced image */
export async function enlargeMixed(
  planes: Planes,
  factor: number,
  network: Network,
  weight: number,
): Promise<Planes> {
  if (weight === 0) return each(planes, (plane) => enlarge(plane, factor));
  const { plain, enhanced } = await enlargeBothWays(planes, factor, network);
  return each(plain, (plane, channel) => mix(plane, enhanced[channel], weight));
}
