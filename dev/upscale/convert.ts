import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { model, node, tensor } from './onnx.ts';

/** A layer of a Keras network, with those options that the ESRGAN networks of UpscalerJS use. */
interface Layer {
  class_name: string;
  config: {
    name: string;
    padding?: string;
    activation?: string;
    kernel_size?: [number, number];
    size?: [number, number];
    interpolation?: string;
    beta?: number;
    scale?: number;
  };
  inbound_nodes: [string, ...unknown[]][][];
}

interface Topology {
  modelTopology: { model_config: { config: { layers: Layer[]; output_layers: [string][] } } };
  weightsManifest: {
    paths: string[];
    weights: { name: string; shape: number[]; dtype: string; quantization?: object }[];
  }[];
}

const isTopology = (value: unknown): value is Topology =>
  typeof value === 'object' && value !== null && 'modelTopology' in value && 'weightsManifest' in value;

interface Weight {
  shape: number[];
  values: Float32Array;
}

/** Reads the weights of a network. They are stored in the order of the manifest (TensorFlow.js, "layers-model"). */
function readWeights(folder: string, { weightsManifest }: Topology): Map<string, Weight> {
  const weights = new Map<string, Weight>();
  for (const group of weightsManifest) {
    const bytes = Buffer.concat(group.paths.map((path) => readFileSync(join(folder, path))));
    let at = 0;
    for (const { name, shape, dtype, quantization } of group.weights) {
      if (dtype !== 'float32' || quantization !== undefined)
        throw new Error(`${name}: weights of type ${dtype} are not supported`);
      const length = 4 * shape.reduce((product, size) => product * size, 1);
      weights.set(name, {
        shape,
        values: new Float32Array(bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + length)),
      });
      at += length;
    }
  }
  return weights;
}

/** Transposes a convolution kernel from the order [height, width, in, out] to ONNX's [out, in, height, width]. */
function transposeKernel({ shape, values }: Weight): Weight {
  const [height = 0, width = 0, inputs = 0, outputs = 0] = shape;
  const turned = new Float32Array(values.length);
  let from = 0;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let input = 0; input < inputs; input++)
        for (let output = 0; output < outputs; output++)
          turned[((output * inputs + input) * height + y) * width + x] = values[from++] ?? 0;
  return { shape: [outputs, inputs, height, width], values: turned };
}

function convertLayer(
  { class_name: kind, config, inbound_nodes }: Layer,
  weights: Map<string, Weight>,
): Buffer[] {
  const { name } = config;
  const inputs = (inbound_nodes[0] ?? []).map(([input]) => input);
  switch (kind) {
    case 'InputLayer':
      return [];
    case 'Conv2D': {
      const [kernel, bias] = [weights.get(`${name}/kernel`), weights.get(`${name}/bias`)];
      if (kernel === undefined || bias === undefined) throw new Error(`${name} has no weights`);
      const turned = transposeKernel(kernel);
      const [height = 0, width = 0] = turned.shape.slice(2);
      // Every convolution must preserve the width and height of the image. Only 1x1 kernels do so without padding.
      if ((config.padding !== 'same' && height * width !== 1) || config.activation !== 'linear')
        throw new Error(`the options of ${name} are not supported`);
      const [y, x] = [(height - 1) / 2, (width - 1) / 2];
      return [
        tensor(`${name}/kernel`, turned.shape, turned.values),
        tensor(`${name}/bias`, bias.shape, bias.values),
        node('Conv', [...inputs, `${name}/kernel`, `${name}/bias`], name, {
          kernel_shape: [height, width],
          pads: [y, x, y, x],
        }),
      ];
    }
    case 'Activation':
      if (config.activation !== 'relu') throw new Error(`activation ${config.activation} is not supported`);
      return [node('Relu', inputs, name)];
    case 'Add':
      return [node('Add', inputs, name)];
    case 'Concatenate':
      return [node('Concat', inputs, name, { axis: 1 })];
    case 'MultiplyBeta':
      return [
        tensor(`${name}/beta`, [], Float32Array.of(config.beta ?? 0)),
        node('Mul', [...inputs, `${name}/beta`], name),
      ];
    case 'UpSampling2D': {
      const [height = 0, width = 0] = config.size ?? [];
      if (config.interpolation !== 'nearest')
        throw new Error(`interpolation ${config.interpolation} is not supported`);
      return [
        tensor(`${name}/scales`, [4], Float32Array.of(1, 1, height, width)),
        node('Resize', [...inputs, '', `${name}/scales`], name, {
          mode: 'nearest',
          coordinate_transformation_mode: 'asymmetric',
          nearest_mode: 'floor',
        }),
      ];
    }
    case 'PixelShuffle2x':
    case 'PixelShuffle4x':
      return [node('DepthToSpace', inputs, name, { blocksize: config.scale ?? 0, mode: 'DCR' })];
    default:
      throw new Error(`layer ${kind} is not supported`);
  }
}

/**
 * Converts a TensorFlow.js network of UpscalerJS to ONNX, with the same weights. The channel dimension comes first.
 *
 * @param path path of model.json
 * @returns the ONNX model, whose input and output are images of shape [1, 3, height, width]
 */
export function convertModel(path: string): Buffer {
  const topology: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (!isTopology(topology)) throw new Error(`${path} is not a model`);
  const { layers, output_layers: outputs } = topology.modelTopology.model_config.config;
  const weights = readWeights(dirname(path), topology);
  const input = layers.find(({ class_name: kind }) => kind === 'InputLayer')?.config.name;
  const [output] = outputs[0] ?? [];
  if (input === undefined || output === undefined) throw new Error(`${path} has no input or no output`);
  const parts = layers.flatMap((layer) => convertLayer(layer, weights));
  return model(parts, input, output);
}
