/** Tool output that a job has already serialized, so that serializing large output does not block the worker. */
export interface EncodedOutput {
  json: Uint8Array<ArrayBuffer>;
}

/** Serializes tool output as JSON. @typeParam O type of the output */
export const encodeOutput = <O>(output: O): EncodedOutput => ({
  json: new TextEncoder().encode(JSON.stringify(output)),
});

/** Returns tool output as JSON, whether it is encoded already or not. */
export function jsonOf(output: Readonly<Record<string, unknown>>): Buffer {
  const { json } = output;
  return json instanceof Uint8Array
    ? Buffer.from(json.buffer, json.byteOffset, json.byteLength)
    : Buffer.from(JSON.stringify(output));
}
