import { type Aspect, type BlockPage, featureNames } from './blockPage.ts';

const STEPS = [-3, -2, -1, 1, 2, 3];
/** Distances to prose of this many blocks and more are the same feature value. */
const FAR = 100;

export const NEIGHBOUR_FEATURES = [
  ...STEPS.flatMap((step) => featureNames(`near${step}`, 'words links same')),
  ...featureNames('around5', 'words links'),
  ...featureNames('around12', 'words links prices'),
  'proseBefore',
  'proseAfter',
];

/** Returns for each block the distance to the last one up to it that is prose. */
function distancesToProse(prose: readonly boolean[]): number[] {
  let distance = FAR;
  return prose.map((isProse) => {
    distance = isProse ? 0 : Math.min(FAR, distance + 1);
    return distance;
  });
}

/** Describes the blocks before and after a block. @param kinIds number of the template of each block */
export function describeNeighbours(
  { blocks, measures: { words, linkShare, prose }, partOf, pricesIn }: BlockPage,
  kinIds: Int32Array,
): Aspect {
  const before = distancesToProse(prose);
  const after = distancesToProse(prose.toReversed()).reverse();
  return (index) => {
    const around = (size: number) => ({
      start: Math.max(0, index - size),
      end: Math.min(blocks.length, index + size + 1),
    });
    const [few, many] = [partOf(around(5)), partOf(around(12))];
    return [
      ...STEPS.flatMap((step) => {
        const near = index + step;
        const isSame = kinIds[near] === kinIds[index];
        return [words[near] ?? -1, linkShare[near] ?? -1, isSame ? 1 : 0];
      }),
      few.words,
      few.links,
      many.words,
      many.links,
      pricesIn(around(12)),
      before[index] ?? FAR,
      after[index] ?? FAR,
    ];
  };
}
