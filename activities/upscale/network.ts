import { fileURLToPath } from 'node:url';
import type { Plane } from './lanczos.ts';
import type { Factor, Network, Planes } from './networkTypes.ts';

/** Returns the path of the ONNX model for a factor: models/README.md. */
const modelPath = (factor: Factor): string =>
  fileURLToPath(new URL(`./models/${factor}x.onnx`, import.meta.url));

/** Concatenates the samples of the three channels into the network's input. */
function pack(planes: Planes): Float32Array {
  const [{ data }] = planes;
  const packed = new Float32Array(3 * data.length);
  for (const [channel, plane] of planes.entries()) packed.set(plane.data, channel * data.length);
  return packed;
}

/** Splits the network's output into channels, without copying. */
function unpack(data: Float32Array, width: number, height: number): Planes {
  const plane = (channel: number): Plane => ({
    data: data.subarray(channel * width * height, (channel + 1) * width * height),
    width,
    height,
  });
  return [plane(0), plane(1), plane(2)];
}

/** How far the networks are trusted with images that were stored without loss. */
const LOSSLESS = {
  2: { noise: 0.02, boldness: 1.6, projection: 1 },
  4: { noise: 0.01, boldness: 2.4, projection: 1 },
} as const satisfies Record<Factor, object>;

/**
 * Returns the inputs of the model that models/README.md explains. They were chosen so that no picture of
 * test/quality/upscale.md is worse than by Lanczos.
 */
function careFor(factor: Factor, coarseness: number) {
  if (coarseness === 0) return LOSSLESS[factor];
  return {
    noise: LOSSLESS[factor].noise + 8 * coarseness + 9 * coarseness ** 2,
    boldness: Math.max(0, 1.6 - 1.8 * coarseness),
    projection: Math.max(0, 1 - 8 * coarseness),
  };
}

/**
 * Opens the network for a factor on ONNX Runtime. The model enlarges an image of shape [1, 3, height, width], and contains all
 * steps of the enlargement, so that they run on all cores.
 *
 * @throws Error when ONNX Runtime does not support this platform
 */
export async function openOnnxNetwork(factor: Factor): Promise<Network> {
  const { InferenceSession, Tensor } = await import('onnxruntime-node');
  // With an arena, the process would keep 400 MB for an image of 512 x 384. It would then be replaced after each image, and
  // the start of the next one takes longer than the allocations without an arena.
  const session = await InferenceSession.create(modelPath(factor), {
    executionProviders: ['cpu'],
    enableCpuMemArena: false,
  });
  const scalar = (value: number) => new Tensor('float32', [value], []);
  return {
    async prepare(_, coarseness) {
      const { noise, boldness, projection } = careFor(factor, coarseness);
      const care = {
        noise: scalar(noise),
        boldness: scalar(boldness),
        projection: scalar(projection),
      };
      return async (part) => {
        const [{ width, height }] = part;
        const x = new Tensor('float32', pack(part), [1, 3, height, width]);
        const { y } = await session.run({ x, ...care });
        if (!(y?.data instanceof Float32Array)) throw new Error('the network returned no image');
        return unpack(y.data, width * factor, height * factor);
      };
    },
  };
}

const opened = new Map<Factor, Promise<Network>>();

/**
 * Opens the network for a factor on ONNX Runtime, or UpscalerJS if ONNX Runtime fails. The network stays open for the
 * lifetime of the process.
 */
export function openNetwork(factor: Factor): Promise<Network> {
  const cached = opened.get(factor);
  if (cached !== undefined) return cached;
  const network = openOnnxNetwork(factor).catch(() => loadFallback(factor));
  opened.set(factor, network);
  network.catch(() => opened.delete(factor));
  return network;
}

async function loadFallback(factor: Factor): Promise<Network> {
  const { openFallback } = await import('./fallback.ts');
  return openFallback(factor);
}
