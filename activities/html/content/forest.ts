/** An ensemble of decision trees as the model file keeps it: arrays of numbers in base64, one entry for each node. */
export interface StoredForest {
  /** Int16: index of the feature that a node compares; -1 for a leaf. */
  feature: string;
  /** Float32: threshold of a node; value of a leaf. */
  value: string;
  /** Uint16: distance to the next node if the feature is above the threshold; otherwise it is the following node. */
  above: string;
}

/** Returns the sum of the trees' values for one example. */
export type Forest = (features: Float32Array) => number;

const bytesOf = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text, 'base64')).buffer;

/** @param columns the position of each feature of the model in the examples */
export function readForest(stored: StoredForest, columns: readonly number[]): Forest {
  const feature = new Int16Array(bytesOf(stored.feature)).map((index) =>
    index < 0 ? -1 : (columns[index] ?? 0),
  );
  const value = new Float32Array(bytesOf(stored.value));
  const above = new Uint16Array(bytesOf(stored.above));
  // Trees follow each other: the node after the last leaf of one is the root of the next.
  const roots: number[] = [];
  for (let node = 0; node < feature.length; node = lastOf(node) + 1) roots.push(node);
  function lastOf(node: number): number {
    let last = node;
    while ((feature[last] ?? -1) >= 0) last += above[last] ?? 1;
    return last;
  }
  return (features) => {
    let sum = 0;
    for (const root of roots) {
      let node = root;
      for (let column = feature[node] ?? -1; column >= 0; column = feature[node] ?? -1)
        node += (features[column] ?? 0) <= (value[node] ?? 0) ? 1 : (above[node] ?? 1);
      sum += value[node] ?? 0;
    }
    return sum;
  };
}
