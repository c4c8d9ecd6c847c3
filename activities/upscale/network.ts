import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { convertModel } from './convert.ts';
import type { Plane } from './lanczos.ts';
import type { Factor, Network, Planes } from './networkTypes.ts';

/** Variant of UpscalerJS's ESRGAN network for each factor, chosen by the measurements in test/quality/upscale.md. */
export const MODEL = { 2: 'slim', 4: 'slim' } as const satisfies Record<Factor, string>;

/** Returns the path of the model.json of UpscalerJS's network for a factor. */
export function modelPath(factor: Factor): string {
  const entry = createRequire(import.meta.url).resolve(`@upscalerjs/esrgan-${MODEL[factor]}`);
  const [folder] = entry.split(join('/', 'dist', '/'));
  return join(folder ?? dirname(entry), 'models', `x${factor}`, 'model.json');
}

/** Concatenates the samples of the three channels into the network's input. */
function pack(planes: Planes): Float32Array {
  const [{ data }] = planes;
  const packed = new Float32Array(3 * data.length);
  for (const [channel, plane] of planes.entries()) packed.set(plane.data, channel * data.length);
  return packed;
}

/** Splits the network's output into channels and clamps samples to 0 to 255, as UpscalerJS does. */
function unpack(data: Float32Array, width: number, height: number): Planes {
  for (let at = 0; at < data.length; at++) data[at] = Math.min(255, Math.max(0, data[at] ?? 0));
  const plane = (channel: number): Plane => ({
    data: data.subarray(channel * width * height, (channel + 1) * width * height),
    width,
    height,
  });
  return [plane(0), plane(1), plane(2)];
}

/**
 * Opens a network of UpscalerJS on ONNX Runtime, which is about 20 times as fast as TensorFlow.js.
 *
 * @param path path of model.json
 * @throws Error when ONNX Runtime does not support this platform
 */
export async function openOnnxNetwork(factor: Factor, path = modelPath(factor)): Promise<Network> {
  const { InferenceSession, Tensor } = await import('onnxruntime-node');
  const { bytes, input, output } = convertModel(path);
  const session = await InferenceSession.create(bytes, { executionProviders: ['cpu'] });
  return {
    async run(planes) {
      const [{ width, height }] = planes;
      const feed = new Tensor('float32', pack(planes), [1, 3, height, width]);
      const { [output]: result } = await session.run({ [input]: feed });
      if (!(result?.data instanceof Float32Array)) throw new Error('the network returned no image');
      return unpack(result.data, width * factor, height * factor);
    },
  };
}

const opened = new Map<Factor, Promise<Network>>();

/**
 * Opens the network for a factor on ONNX Runtime, or on TensorFlow.js if ONNX Runtime fails. The network stays open for
 * the lifetime of the process.
 */
export function openNetwork(factor: Factor): Promise<Network> {
  const cached = opened.get(factor);
  if (cached !== undefined) return cached;
  const network = openOnnxNetwork(factor).catch(() => loadReference(factor));
  opened.set(factor, network);
  network.catch(() => opened.delete(factor));
  return network;
}

async function loadReference(factor: Factor): Promise<Network> {
  const { openReference } = await import('./reference.ts');
  return openReference(factor);
}
