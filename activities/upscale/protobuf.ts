/** Writes what ONNX files are made of: the wire format of Protocol Buffers, as far as a network needs it. */

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** A field that is an integer, not negative. */
export const integer = (field: number, value: number): Buffer =>
  Buffer.concat([varint(field * 8), varint(value)]);

/** A field that is a text, bytes, or a message of fields. */
export function block(field: number, content: string | Uint8Array | readonly Buffer[]): Buffer {
  const bytes =
    content instanceof Uint8Array
      ? content
      : typeof content === 'string'
        ? Buffer.from(content)
        : Buffer.concat(content);
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}
