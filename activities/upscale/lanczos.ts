/** One channel of an image, rows from the top. */
export interface Plane {
  data: Float32Array;
  width: number;
  height: number;
}

/** Computes `x * a + y * b` per sample. */
export function combine(x: number, a: Plane, y: number, b: Plane): Plane {
  const data = new Float32Array(a.data.length);
  for (let at = 0; at < data.length; at++) data[at] = x * (a.data[at] ?? 0) + y * (b.data[at] ?? 0);
  return { ...a, data };
}

/** Number of lobes of the Lanczos kernel on each side (Duchon, 1979). Three is the usual choice. */
const LOBES = 3;

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const kernel = (x: number): number => (Math.abs(x) < LOBES ? sinc(x) * sinc(x / LOBES) : 0);

/** The source samples from which one sample is resampled, and their weights. */
interface Tap {
  /** Index of the first source sample; negative if it lies before the start of the line. */
  start: number;
  weights: Float64Array;
}

const NO_WEIGHTS = new Float64Array(0);
const NO_PLACES = new Int32Array(0);

/**
 * Computes the normalized weights for a sample at the source position `centre`, with `scale` source samples per lobe.
 */
function tap(centre: number, scale: number): Tap {
  const start = Math.ceil(centre - LOBES * scale);
  const count = Math.floor(centre + LOBES * scale) - start + 1;
  const weights = Float64Array.from({ length: count }, (_, index) =>
    kernel((start + index - centre) / scale),
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return { start, weights: weights.map((weight) => weight / sum) };
}

/** Returns the indices of the source samples of a tap, clamped to the line. */
const placesOf = ({ start, weights }: Tap, length: number): Int32Array =>
  Int32Array.from(weights, (_, i) => Math.min(length - 1, Math.max(0, start + i)));

/** Resamples each row of a plane. Works row by row, for locality of memory access. */
function alongRows({ data, width, height }: Plane, taps: readonly Tap[]): Plane {
  const out = new Float32Array(height * taps.length);
  const places = taps.map((it) => placesOf(it, width));
  for (let row = 0; row < height; row++) {
    const from = row * width;
    for (let index = 0; index < taps.length; index++) {
      const weights = taps[index]?.weights ?? NO_WEIGHTS;
      const at = places[index] ?? NO_PLACES;
      let sum = 0;
      for (let i = 0; i < at.length; i++) sum += (weights[i] ?? 0) * (data[from + (at[i] ?? 0)] ?? 0);
      out[row * taps.length + index] = sum;
    }
  }
  return { data: out, width: taps.length, height };
}

/** Resamples each column of a plane. Adds up whole rows, for locality of memory access. */
function alongColumns({ data, width, height }: Plane, taps: readonly Tap[]): Plane {
  const out = new Float32Array(width * taps.length);
  for (const [index, it] of taps.entries()) {
    const to = index * width;
    for (const [i, place] of placesOf(it, height).entries()) {
      const weight = it.weights[i] ?? 0;
      const from = place * width;
      for (let x = 0; x < width; x++) out[to + x] = (out[to + x] ?? 0) + weight * (data[from + x] ?? 0);
    }
  }
  return { data: out, width, height: taps.length };
}

const tapsOf = (length: number, centre: (index: number) => number, scale: number): Tap[] =>
  Array.from({ length }, (_, index) => tap(centre(index), scale));

export function enlarge(plane: Plane, factor: number): Plane {
  const taps = (length: number) => tapsOf(length * factor, (index) => (index + 0.5) / factor - 0.5, 1);
  return alongColumns(alongRows(plane, taps(plane.width)), taps(plane.height));
}

/**
 * Reduces a plane by an integer factor without aliasing. Pixels at the right and bottom that do not fill a whole pixel
 * of the result are dropped.
 */
export function reduce(plane: Plane, factor: number): Plane {
  const taps = (length: number) =>
    tapsOf(Math.floor(length / factor), (index) => (index + 0.5) * factor - 0.5, factor);
  return alongColumns(alongRows(plane, taps(plane.width)), taps(plane.height));
}
