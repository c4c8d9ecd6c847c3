/** One channel of a picture, rows from the top. */
export interface Plane {
  data: Float32Array;
  width: number;
  height: number;
}

/** Lobes of the kernel (Duchon, 1979; three as everywhere). */
const LOBES = 3;

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const kernel = (x: number): number => (Math.abs(x) < LOBES ? sinc(x) * sinc(x / LOBES) : 0);

interface Tap {
  /** Of the first sample, which may lie before the picture. */
  start: number;
  weights: number[];
}

/** How a sample at `centre` comes from samples of a line, `scale` of them to a lobe; together they weigh 1. */
function tap(centre: number, scale: number): Tap {
  const start = Math.ceil(centre - LOBES * scale);
  const count = Math.floor(centre + LOBES * scale) - start + 1;
  const weights = Array.from({ length: count }, (_, index) => kernel((start + index - centre) / scale));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return { start, weights: weights.map((weight) => weight / sum) };
}

/** One line after the other along an axis; beyond its ends a line goes on as it ends. */
function along({ data, width, height }: Plane, taps: readonly Tap[], vertical: boolean): Plane {
  const [lines, length] = vertical ? [width, height] : [height, width];
  const out = new Float32Array(lines * taps.length);
  const size = vertical ? { width, height: taps.length } : { width: taps.length, height };
  const [lineStep, step] = vertical ? [1, width] : [width, 1];
  const [outLineStep, outStep] = vertical ? [1, size.width] : [size.width, 1];
  taps.forEach(({ start, weights }, index) => {
    const at = weights.map((_, i) => step * Math.min(length - 1, Math.max(0, start + i)));
    for (let line = 0; line < lines; line++) {
      let sum = 0;
      for (let i = 0; i < weights.length; i++)
        sum += (weights[i] ?? 0) * (data[line * lineStep + (at[i] ?? 0)] ?? 0);
      out[line * outLineStep + index * outStep] = sum;
    }
  });
  return { data: out, ...size };
}

const tapsOf = (length: number, centre: (index: number) => number, scale: number): Tap[] =>
  Array.from({ length }, (_, index) => tap(centre(index), scale));

/** A plane `factor` times as large. */
export function enlarge(plane: Plane, factor: number): Plane {
  const taps = (length: number) => tapsOf(length * factor, (index) => (index + 0.5) / factor - 0.5, 1);
  return along(along(plane, taps(plane.width), false), taps(plane.height), true);
}

/** A plane a `factor`th as large, without aliasing; what is left over at the far sides is left out. */
export function reduce(plane: Plane, factor: number): Plane {
  const taps = (length: number) =>
    tapsOf(Math.floor(length / factor), (index) => (index + 0.5) * factor - 0.5, factor);
  return along(along(plane, taps(plane.width), false), taps(plane.height), true);
}
