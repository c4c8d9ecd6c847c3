/** Bytes a collection starts with. */
const START = 64 * 1024;

/**
 * Joins chunks into one buffer that grows by doubling. `transfer` gives the old memory back at once, where a list of
 * chunks that is joined at the end holds everything twice until the next garbage collection.
 */
export async function collect(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  let memory = new ArrayBuffer(Math.min(START, maxBytes));
  let length = 0;
  for await (const chunk of chunks) {
    const needed = length + chunk.length;
    if (needed > memory.byteLength)
      memory = memory.transfer(Math.max(needed, Math.min(2 * memory.byteLength, maxBytes)));
    new Uint8Array(memory).set(chunk, length);
    length = needed;
  }
  return Buffer.from(memory.byteLength > 2 * length ? memory.transfer(length) : memory, 0, length);
}
