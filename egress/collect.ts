/** Bytes a collection starts with. */
const START = 64 * 1024;
/** From here on it gets all the room it may need: the system backs memory only once it is written to. */
const WHOLE = 4 * 1024 * 1024;

/**
 * Joins chunks into one buffer that grows. `transfer` gives the old memory back at once, where a list of chunks that is
 * joined at the end holds everything twice until the next garbage collection.
 *
 * @param maxBytes what the chunks have together at most
 */
export async function collect(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  let memory = new ArrayBuffer(Math.min(START, maxBytes));
  let length = 0;
  for await (const chunk of chunks) {
    const needed = length + chunk.length;
    if (needed > memory.byteLength)
      memory = memory.transfer(
        needed > WHOLE ? maxBytes : Math.max(needed, Math.min(2 * memory.byteLength, maxBytes)),
      );
    new Uint8Array(memory).set(chunk, length);
    length = needed;
  }
  return Buffer.from(memory.byteLength > 2 * length ? memory.transfer(length) : memory, 0, length);
}
