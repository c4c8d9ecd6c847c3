/** The output of a tool, as JSON already: a large one is written in a job, so that it blocks no worker. */
export interface Encoded {
  json: Uint8Array<ArrayBuffer>;
}

/** Writes an output as JSON. @typeParam O the type of the tool's output */
export const encode = <O>(output: O): Encoded => ({ json: new TextEncoder().encode(JSON.stringify(output)) });

/** The JSON of what a tool answered, written already or not. */
export function jsonOf(answer: Readonly<Record<string, unknown>>): Buffer {
  const { json } = answer;
  return json instanceof Uint8Array
    ? Buffer.from(json.buffer, json.byteOffset, json.byteLength)
    : Buffer.from(JSON.stringify(answer));
}
