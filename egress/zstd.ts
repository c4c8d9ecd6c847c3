/**
 * Parses one zstd frame or skippable frame (RFC 8878 section 3.1). Yields the size in bytes of the next part; for a part of
 * at most four bytes, the caller passes its value, a little-endian number, to `next()`.
 */
function* partsOf(): Generator<number, void, number> {
  const magic = yield 4;
  if (magic >= 0x184d2a50 && magic <= 0x184d2a5f) {
    const size = yield 4;
    yield size;
    return;
  }
  // Data that is not a frame is passed on unsplit, for the decoder to reject.
  if (magic !== 0xfd2fb528) yield Infinity;
  const descriptor = yield 1;
  const isSingle = (descriptor & 0x20) !== 0;
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const dictionaryId = [0, 1, 2, 4][descriptor & 3] ?? 0;
  yield (isSingle ? 0 : 1) + dictionaryId + contentSize;
  for (let last = false; !last; ) {
    const block = yield 3;
    last = (block & 1) === 1;
    const isRepeated = ((block >> 1) & 3) === 1;
    yield isRepeated ? 1 : block >> 3;
  }
  const hasChecksum = (descriptor & 4) !== 0;
  yield hasChecksum ? 4 : 0;
}

/**
 * Splits a zstd body at the ends of its frames. A body may have several frames, but Node's decoder ignores data that follows
 * a frame in the same chunk.
 */
export async function* splitFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts = partsOf();
  let part = parts.next();
  let seen = 0;
  let value = 0;
  for await (const chunk of source) {
    let begin = 0;
    let at = 0;
    while (at < chunk.length) {
      const { value: length = 0 } = part;
      if (length > 4) {
        const step = Math.min(length - seen, chunk.length - at);
        at += step;
        seen += step;
      } else {
        value += (chunk[at] ?? 0) * 256 ** seen;
        at++;
        seen++;
      }
      while (part.done !== true && seen === part.value) {
        part = parts.next(value);
        seen = 0;
        value = 0;
      }
      if (part.done !== true) continue;
      yield chunk.subarray(begin, at);
      begin = at;
      parts = partsOf();
      part = parts.next();
    }
    if (begin < at) yield chunk.subarray(begin);
  }
}
