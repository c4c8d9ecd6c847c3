/** An allocation limit, which applies until it is disposed of. */
export interface ByteLimit extends Disposable {
  readonly exceeded: boolean;
  /** Allows further bytes, unless the limit was exceeded. */
  allow(bytes: number): void;
}

/**
 * Limits the total size of byte arrays that this process creates; larger allocations throw a RangeError. Needed because
 * pdf.js and pdf-lib do not limit decompressed streams: both grow a `Uint8Array` until the stream ends. The memory limit
 * of the process is no replacement: a file of 1 MB that expands to 1 GB would use all of the call's time to reach it, and
 * both libraries would then report a damaged file.
 *
 * Replaces the global `Uint8Array`, with which both libraries allocate their buffers. This is not part of their interfaces,
 * so package.json pins their exact versions, and test/tools/pdf-metadata.test.ts checks the limit with hostile files. Once
 * pdf.js has an option that limits decompressed streams, use that option instead.
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
    allow(more) {
      if (left >= 0) left += more;
    },
    [Symbol.dispose]() {
      globalThis.Uint8Array = original;
    },
  };
}
