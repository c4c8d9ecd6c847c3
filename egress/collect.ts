/** Initial size of the buffer in bytes. */
const START = 64 * 1024;
/**
 * When more bytes than this are needed, the buffer grows to `maxBytes` in one step. This costs no memory, because the kernel
 * allocates pages only when they are written.
 */
const WHOLE = 4 * 1024 * 1024;

/**
 * Concatenates chunks into one growing buffer. `ArrayBuffer.transfer` frees the old memory at once; collecting the chunks
 * and concatenating them at the end would keep every byte twice until the next garbage collection.
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
