/** Blocks from `start` on, before `end`. */
export interface Range {
  start: number;
  end: number;
}

/** Returns a function that sums the values of a range of blocks, in constant time. */
export function summed(values: readonly number[]): (range: Range) => number {
  const sums = new Float64Array(values.length + 1);
  for (const [index, value] of values.entries()) sums[index + 1] = (sums[index] ?? 0) + value;
  return ({ start, end }) => (sums[end] ?? 0) - (sums[start] ?? 0);
}
