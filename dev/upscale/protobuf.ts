// These functions encode the wire format of Protocol Buffers, as far as ONNX models use it.

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** Encodes a field with a non-negative integer. */
export const integer = (field: number, value: number): Buffer =>
  Buffer.concat([varint(field * 8), varint(value)]);

/** Encodes a length-delimited field: a string, bytes, or a nested message. */
export function block(field: number, content: string | Uint8Array | readonly Buffer[]): Buffer {
  const bytes =
    content instanceof Uint8Array
      ? content
      : typeof content === 'string'
        ? Buffer.from(content)
        : Buffer.concat(content);
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}
