import { block, integer } from './protobuf.ts';

// These functions encode ONNX graphs. The field numbers are those of onnx.proto.

const IR_VERSION = 8;
const OPERATORS = 13;
const FLOAT = 1;

export type Attribute = number | string | readonly number[];

const ATTRIBUTE = { name: 1, i: 3, s: 4, ints: 8, type: 20 };
const ATTRIBUTE_TYPE = { int: 2, string: 3, ints: 7 };

function attribute(name: string, value: Attribute): Buffer {
  const parts =
    typeof value === 'number'
      ? [integer(ATTRIBUTE.i, value), integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.int)]
      : typeof value === 'string'
        ? [block(ATTRIBUTE.s, value), integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.string)]
        : [
            ...value.map((item) => integer(ATTRIBUTE.ints, item)),
            integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.ints),
          ];
  return block(5, [block(ATTRIBUTE.name, name), ...parts]);
}

/** Encodes a node of the ONNX graph as a protobuf message. The node has the same name as its only output. */
export const node = (
  operator: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, Attribute>> = {},
): Buffer =>
  block(1, [
    ...inputs.map((input) => block(1, input)),
    block(2, output),
    block(3, output),
    block(4, operator),
    ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
  ]);

/** Encodes a constant tensor of 32-bit floats. */
export const tensor = (name: string, shape: readonly number[], values: Float32Array): Buffer =>
  block(5, [
    ...shape.map((size) => integer(1, size)),
    integer(2, FLOAT),
    block(8, name),
    block(9, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)),
  ]);

/**
 * Encodes the input or output of the ONNX model: floats of shape [1, 3, height, width], where height and width are
 * variable.
 */
function imageValue(field: number, name: string, suffix: string): Buffer {
  const shape = [
    block(1, [integer(1, 1)]),
    block(1, [integer(1, 3)]),
    block(1, [block(2, `height${suffix}`)]),
    block(1, [block(2, `width${suffix}`)]),
  ];
  return block(field, [block(1, name), block(2, [block(1, [integer(1, FLOAT), block(2, shape)])])]);
}

/** Encodes an ONNX model. @param parts encoded tensors, and encoded nodes in topological order */
export const model = (parts: readonly Buffer[], input: string, output: string): Buffer =>
  Buffer.concat([
    integer(1, IR_VERSION),
    block(7, [block(2, 'upscale'), ...parts, imageValue(11, input, ''), imageValue(12, output, '-out')]),
    block(8, [block(1, ''), integer(2, OPERATORS)]),
  ]);
