import { chooseBlocks } from './chooseBlocks.ts';

/** Sets of blocks that belong together, as one number for each block. */
export type Families = ReadonlyMap<string, Int32Array>;

/** Names of the sets, in the order of their features. */
export const FAMILIES = ['kin', 'part', 'up1', 'up3', 'up6', 'group'] as const;
const NEAR = [-2, -1, 1, 2];
const AROUND = [4, 12, 40];

export const CONTEXT_FEATURES = [
  'own',
  ...NEAR.map((step) => `near${step}`),
  ...AROUND.map((size) => `around${size}`),
  ...FAMILIES,
  'page',
  'words',
  'expected',
  'above',
].map((name) => `first.${name}`);

/**
 * Describes each block by what the first forest says of it, of its neighbours and of the blocks that are like it.
 *
 * @param words number of words by block
 * @param chances probability by block that it is content, by the first forest
 * @returns one row after the other, as named by `CONTEXT_FEATURES`
 */
export function describeContext(
  words: readonly number[],
  chances: Float64Array,
  families: Families,
): Float32Array {
  const { length } = words;
  const width = CONTEXT_FEATURES.length;
  const rows = new Float32Array(width * length);
  const weights = words.map((count) => Math.max(1, count));
  const sum = new Float64Array(length + 1);
  const total = new Float64Array(length + 1);
  for (const [index, weight] of weights.entries()) {
    sum[index + 1] = (sum[index] ?? 0) + weight * (chances[index] ?? 0);
    total[index + 1] = (total[index] ?? 0) + weight;
  }
  const mean = (start: number, end: number): number =>
    ((sum[end] ?? 0) - (sum[start] ?? 0)) / Math.max(1, (total[end] ?? 0) - (total[start] ?? 0));
  const familyMeans = FAMILIES.map((name) => {
    const members = families.get(name) ?? new Int32Array(length);
    const sums = new Map<number, { sum: number; total: number }>();
    for (const [index, family] of members.entries()) {
      const entry = sums.get(family) ?? { sum: 0, total: 0 };
      entry.sum += (weights[index] ?? 1) * (chances[index] ?? 0);
      entry.total += weights[index] ?? 1;
      sums.set(family, entry);
    }
    return (index: number): number => {
      const entry = sums.get(members[index] ?? 0);
      return entry === undefined ? 0 : entry.sum / entry.total;
    };
  });
  const { kept, expected } = chooseBlocks(words, chances);
  const least = kept.length === 0 ? 0 : (chances[kept.at(-1) ?? 0] ?? 0);
  let at = 0;
  for (let index = 0; index < length; index++) {
    const own = chances[index] ?? 0;
    rows[at++] = own;
    for (const step of NEAR) rows[at++] = chances[index + step] ?? -1;
    for (const size of AROUND)
      rows[at++] = mean(Math.max(0, index - size), Math.min(length, index + size + 1));
    for (const meanOf of familyMeans) rows[at++] = meanOf(index);
    rows[at++] = mean(0, length);
    rows[at++] = Math.log1p(sum[length] ?? 0);
    rows[at++] = expected;
    rows[at++] = own - least;
  }
  return rows;
}
