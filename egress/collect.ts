/** Initial size of the buffer in bytes. */
const START = 64 * 1024;
/** From this size on the buffer grows to its limit at once: the kernel backs memory only when it is written. */
const WHOLE = 4 * 1024 * 1024;

/**
 * Joins chunks into one growing buffer. `transfer` frees the old memory at once; a list of chunks that is joined at the
 * end would hold everything twice until the next garbage collection.
 *
 * @param maxBytes upper bound of the total size of the chunks
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
