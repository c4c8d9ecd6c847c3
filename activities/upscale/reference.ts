import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BareNetwork } from './enhance.ts';
import type { Plane } from './lanczos.ts';
import type { Factor } from './networkTypes.ts';

type ModelDefinition = object;
interface Reference {
  upscale(image: object, options: { output: 'tensor' }): Promise<import('@tensorflow/tfjs-core').Tensor>;
}

// These packages are loaded with `require`, because their ES module builds import files that Node cannot resolve.
const require = createRequire(import.meta.url);
const tf: typeof import('@tensorflow/tfjs-core') = require('@tensorflow/tfjs-core');
const {
  setWasmPaths,
}: typeof import('@tensorflow/tfjs-backend-wasm') = require('@tensorflow/tfjs-backend-wasm');
const models: Record<Factor, ModelDefinition> = {
  2: require('@upscalerjs/esrgan-slim/2x'),
  4: require('@upscalerjs/esrgan-slim/4x'),
};
const Upscaler: new (options: { model: ModelDefinition }) => Reference = require('upscaler/node');

setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
await tf.setBackend('wasm');

// This build of TensorFlow.js cannot load files in Node, so the handler below reads model files.
tf.io.registerLoadRouter((url) => {
  const [address] = [url].flat();
  if (address?.startsWith('file://') !== true) throw new Error(`${address} is not a file URL`);
  const path = fileURLToPath(address);
  return {
    async load() {
      const { modelTopology, weightsManifest } = JSON.parse(readFileSync(path, 'utf8'));
      const specs = weightsManifest.flatMap((group: { weights: object[] }) => group.weights);
      const files = weightsManifest.flatMap((group: { paths: string[] }) => group.paths);
      const bytes = Buffer.concat(files.map((name: string) => readFileSync(join(dirname(path), name))));
      return { modelTopology, weightSpecs: specs, weightData: new Uint8Array(bytes).buffer };
    },
  };
});

/**
 * Opens the network of UpscalerJS for a factor, on TensorFlow.js in WebAssembly, which takes about 20 times as long as
 * networks of the same size on ONNX Runtime.
 */
export async function openReference(factor: Factor): Promise<BareNetwork> {
  const upscaler = new Upscaler({ model: models[factor] });
  return {
    async run(planes) {
      const [{ width, height }] = planes;
      const channels = planes.map(({ data }) => tf.tensor2d(data, [height, width]));
      const source = tf.stack(channels, 2);
      const large = await upscaler.upscale(source, { output: 'tensor' });
      const samples = await large.data();
      tf.dispose([...channels, source, large]);
      const size = { width: width * factor, height: height * factor };
      const plane = (channel: number): Plane => ({
        data: Float32Array.from(
          { length: size.width * size.height },
          (_, at) => samples[3 * at + channel] ?? 0,
        ),
        ...size,
      });
      return [plane(0), plane(1), plane(2)];
    },
  };
}
