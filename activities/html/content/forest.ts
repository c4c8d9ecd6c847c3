/** An ensemble of decision trees as the model file keeps it: arrays of numbers in base64, one entry for each node. */
export interface StoredForest {
  /** Int16: index of the feature that a node compares; -1 for a leaf. */
  feature: string;
  /** Float32: threshold of a node; value of a leaf. */
  value: string;
  /** Uint16: distance to the next node if the feature is above the threshold; otherwise it is the following node. */
  above: string;
}

/** Examples for a forest. No feature is NaN. */
interface Examples {
  count: number;
  /** Tables of features with a row for each example, side by side. */
  tables: readonly Float32Array[];
  /** Features that are equal for all examples, which follow those of the tables. */
  constants: ArrayLike<number>;
}

/** Returns the sum of the trees' values for each example. */
export type Forest = (examples: Examples) => Float64Array;

/** Number of examples that are evaluated together, so that their rows and a tree stay in the cache of the processor. */
const CHUNK = 128;

const bytesOf = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text, 'base64')).buffer;

/** The arrays of a forest. */
interface Nodes {
  feature: Int16Array;
  value: Float32Array;
  above: Uint16Array;
  roots: readonly number[];
  /** Largest number of nodes of a tree. */
  size: number;
}

/** Least and largest value of each feature in a chunk. */
interface Ranges {
  least: Float32Array;
  most: Float32Array;
}

/**
 * @param names the features of the model
 * @param columns the features of the examples
 */
export function readForest(
  stored: StoredForest,
  names: readonly string[],
  columns: readonly string[],
): Forest {
  const columnOf = names.map((name) => columns.indexOf(name));
  const feature = new Int16Array(bytesOf(stored.feature)).map((index) => {
    if (index < 0) return -1;
    const column = columnOf[index] ?? -1;
    if (column < 0) throw new Error(`The model needs the feature ${names[index]}`);
    return column;
  });
  const value = new Float32Array(bytesOf(stored.value));
  const above = new Uint16Array(bytesOf(stored.above));
  // Trees follow each other: the node after the last leaf of one is the root of the next.
  const roots: number[] = [];
  let size = 0;
  for (let root = 0, last = 0; root < feature.length; root = last + 1) {
    roots.push(root);
    last = root;
    while ((feature[last] ?? -1) >= 0) last += above[last] ?? 1;
    size = Math.max(size, last + 1 - root);
  }
  const nodes = { feature, value, above, roots, size };
  return (examples) => evaluate(nodes, examples, columns.length);
}

function evaluate(nodes: Nodes, { count, tables, constants }: Examples, columns: number): Float64Array {
  const sums = new Float64Array(count);
  const width = columns - constants.length;
  const rows = new Float32Array(CHUNK * width);
  const ranges = { least: new Float32Array(columns), most: new Float32Array(columns) };
  ranges.least.set(constants, width);
  ranges.most.set(constants, width);
  const addTree = createTreeSum(nodes, rows, width, ranges);
  for (let start = 0; start < count; start += CHUNK) {
    const length = Math.min(CHUNK, count - start);
    let column = 0;
    for (const table of tables) {
      const own = table.length / count;
      for (let row = 0; row < length; row++)
        rows.set(table.subarray((start + row) * own, (start + row + 1) * own), row * width + column);
      column += own;
    }
    measureRanges(rows, width, length, ranges);
    const part = sums.subarray(start, start + length);
    for (const root of nodes.roots) addTree(root, part);
  }
  return sums;
}

function measureRanges(rows: Float32Array, width: number, count: number, { least, most }: Ranges): void {
  least.set(rows.subarray(0, width));
  most.set(rows.subarray(0, width));
  for (let row = 1; row < count; row++)
    for (let column = 0; column < width; column++) {
      const value = rows[row * width + column] ?? 0;
      if (value < (least[column] ?? 0)) least[column] = value;
      if (value > (most[column] ?? 0)) most[column] = value;
    }
}

/**
 * Creates a function that adds the values of a tree for the rows of a chunk. It leaves out the nodes that decide alike for
 * all rows: neighbours on a page have much in common. All rows then take the same number of steps, without branches that
 * the processor could predict wrongly, and four at a time, because each step waits for memory.
 */
function createTreeSum(
  { feature, value, above, size }: Nodes,
  rows: Float32Array,
  width: number,
  { least, most }: Ranges,
): (root: number, sums: Float64Array) => void {
  // The nodes that remain, level by level. The two children of a node follow each other; a leaf is its own child.
  const origin = new Int32Array(size);
  const column = new Int32Array(size);
  const threshold = new Float32Array(size);
  const child = new Int32Array(size);
  const result = new Float32Array(size);

  /** Returns the first node from a node on that can decide differently for two rows, or the leaf. */
  const undecided = (from: number): number => {
    let node = from;
    for (let at = feature[node] ?? -1; at >= 0; at = feature[node] ?? -1) {
      const limit = value[node] ?? 0;
      if ((most[at] ?? 0) <= limit) node++;
      else if ((least[at] ?? 0) > limit) node += above[node] ?? 1;
      else break;
    }
    return node;
  };
  /** Copies what remains of a tree. @returns the number of its levels below the root */
  const reduce = (root: number): number => {
    origin[0] = undecided(root);
    let levels = 0;
    let levelEnd = 1;
    let end = 1;
    for (let at = 0; at < end; at++) {
      if (at === levelEnd) {
        levels++;
        levelEnd = end;
      }
      const node = origin[at] ?? 0;
      const tested = feature[node] ?? -1;
      column[at] = Math.max(0, tested);
      threshold[at] = tested < 0 ? Infinity : (value[node] ?? 0);
      child[at] = tested < 0 ? at : end;
      result[at] = value[node] ?? 0;
      if (tested < 0) continue;
      origin[end++] = undecided(node + 1);
      origin[end++] = undecided(node + (above[node] ?? 1));
    }
    return levels;
  };
  const step = (node: number, row: number): number =>
    (child[node] ?? 0) + Number((rows[row + (column[node] ?? 0)] ?? 0) > (threshold[node] ?? 0));

  return (root, sums) => {
    const levels = reduce(root);
    const { length } = sums;
    let index = 0;
    if (levels > 0)
      for (; index + 3 < length; index += 4) {
        const row = index * width;
        let [a, b, c, d] = [0, 0, 0, 0];
        for (let level = 0; level < levels; level++) {
          a = step(a, row);
          b = step(b, row + width);
          c = step(c, row + 2 * width);
          d = step(d, row + 3 * width);
        }
        sums[index] = (sums[index] ?? 0) + (result[a] ?? 0);
        sums[index + 1] = (sums[index + 1] ?? 0) + (result[b] ?? 0);
        sums[index + 2] = (sums[index + 2] ?? 0) + (result[c] ?? 0);
        sums[index + 3] = (sums[index + 3] ?? 0) + (result[d] ?? 0);
      }
    for (; index < length; index++) {
      let node = 0;
      for (let level = 0; level < levels; level++) node = step(node, index * width);
      sums[index] = (sums[index] ?? 0) + (result[node] ?? 0);
    }
  };
}
