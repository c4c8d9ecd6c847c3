import { combine, enlarge, type Plane, reduce } from './lanczos.ts';
import type { Network, Planes } from './networkTypes.ts';

/** How much of the network's picture goes into what is measured and mixed; the rest is Lanczos. */
const SHARE = 0.5;

/** `a + share * (b - a)`, sample by sample. */
const mix = (a: Plane, b: Plane, share: number): Plane => combine(1 - share, a, share, b);

/** One step of back-projection (Irani and Peleg, 1991): what would not become the source again when reduced is taken out. */
const backProject = (large: Plane, source: Plane, factor: number): Plane =>
  combine(1, large, 1, enlarge(combine(1, source, -1, reduce(large, factor)), factor));

/** A picture by Lanczos, and with what the network and the back-projection add to it. */
export interface Enlarged {
  plain: Planes;
  enhanced: Planes;
}

const each = (planes: Planes, work: (plane: Plane, channel: 0 | 1 | 2) => Plane): Planes => [
  work(planes[0], 0),
  work(planes[1], 1),
  work(planes[2], 2),
];

export async function enlargeBothWays(planes: Planes, factor: number, network: Network): Promise<Enlarged> {
  const drawn = await network.run(planes);
  const plain = each(planes, (plane) => enlarge(plane, factor));
  const enhanced = each(plain, (plane, channel) =>
    backProject(mix(plane, drawn[channel], SHARE), planes[channel], factor),
  );
  return { plain, enhanced };
}

/** @param weight 0 for Lanczos alone */
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
