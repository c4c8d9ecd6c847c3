import { chooseBlocks } from './chooseBlocks.ts';
import { type Range, summed } from './sums.ts';

/** Names of the sets of blocks that belong together, in the order of their features. */
export const FAMILIES = ['kin', 'part', 'up1', 'up3', 'up6', 'group', 'item', 'slot'] as const;

/** Sets of blocks that belong together, as one number for each block. No number is much larger than that of elements. */
export type Families = Readonly<Record<(typeof FAMILIES)[number], Int32Array>>;
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
  const sum = summed(weights.map((weight, index) => weight * (chances[index] ?? 0)));
  const total = summed(weights);
  const mean = (range: Range): number => sum(range) / Math.max(1, total(range));
  const page = { start: 0, end: length };
  const familyMeans = FAMILIES.map((name) => {
    const members = families[name];
    const size = members.reduce((most, family) => Math.max(most, family), 0) + 1;
    const sums = new Float64Array(size);
    const totals = new Float64Array(size);
    for (const [index, family] of members.entries()) {
      sums[family] = (sums[family] ?? 0) + (weights[index] ?? 1) * (chances[index] ?? 0);
      totals[family] = (totals[family] ?? 0) + (weights[index] ?? 1);
    }
    return (index: number): number => {
      const family = members[index] ?? 0;
      return (sums[family] ?? 0) / (totals[family] ?? 1);
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
      rows[at++] = mean({ start: Math.max(0, index - size), end: Math.min(length, index + size + 1) });
    for (const meanOf of familyMeans) rows[at++] = meanOf(index);
    rows[at++] = mean(page);
    rows[at++] = Math.log1p(sum(page));
    rows[at++] = expected;
    rows[at++] = own - least;
  }
  return rows;
}
