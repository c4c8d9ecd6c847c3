/** An allocation limit that is in force until it is disposed. */
export interface ByteLimit extends Disposable {
  readonly exceeded: boolean;
}

/**
 * Limits the total size of byte arrays that this process creates; larger allocations throw a RangeError. Needed because
 * pdf.js and pdf-lib do not limit decompressed streams: both grow a `Uint8Array` until the stream ends.
 *
 * @param bytes total of all allocations, including arrays that are no longer in use
 */
export function limitBytes(bytes: number): ByteLimit {
  const original = globalThis.Uint8Array;
  let left = bytes;
  globalThis.Uint8Array = new Proxy(original, {
    construct(target, values, newTarget) {
      const [length]: unknown[] = values;
      if (typeof length === 'number') left -= length;
      if (left < 0) throw new RangeError('the decompressed content of the file is too large');
      return Reflect.construct(target, values, newTarget);
    },
  });
  return {
    get exceeded() {
      return left < 0;
    },
    [Symbol.dispose]() {
      globalThis.Uint8Array = original;
    },
  };
}
