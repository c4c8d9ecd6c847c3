/**
 * Chooses the blocks with the largest expected F1: those above the best of all thresholds.
 *
 * @param words number of words by block
 * @param chances probability by block that it is content
 * @returns the blocks from the most to the least probable one, and the expected F1
 */
export function chooseBlocks(
  words: readonly number[],
  chances: Float64Array,
): { kept: number[]; expected: number } {
  const order = [...chances.keys()].sort((a, b) => (chances[b] ?? 0) - (chances[a] ?? 0));
  const wanted = order.reduce((sum, index) => sum + (chances[index] ?? 0) * (words[index] ?? 0), 0);
  let [right, made, best, count] = [0, 0, 0, 0];
  for (const [at, index] of order.entries()) {
    right += (chances[index] ?? 0) * (words[index] ?? 0);
    made += words[index] ?? 0;
    const expected = (2 * right) / Math.max(1, made + wanted);
    if (expected > best) [best, count] = [expected, at + 1];
  }
  return { kept: order.slice(0, count), expected: best };
}
