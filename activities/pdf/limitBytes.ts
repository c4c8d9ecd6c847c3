/** A limit on what is allocated while it is in force. */
export interface Ceiling extends Disposable {
  /** Whether something wanted more. */
  readonly hit: boolean;
}

/**
 * Lets this process make byte arrays of so many bytes together, and refuses those beyond with a RangeError: neither pdf.js
 * nor pdf-lib has a limit on what a stream unpacks to, and both grow a `Uint8Array` until the stream ends.
 *
 * @param bytes in all, whether they are still in use or not
 */
export function limitBytes(bytes: number): Ceiling {
  const original = globalThis.Uint8Array;
  let left = bytes;
  globalThis.Uint8Array = new Proxy(original, {
    construct(target, values, newTarget) {
      const [length]: unknown[] = values;
      if (typeof length === 'number') left -= length;
      if (left < 0) throw new RangeError('the file unpacks to too much');
      return Reflect.construct(target, values, newTarget);
    },
  });
  return {
    get hit() {
      return left < 0;
    },
    [Symbol.dispose]() {
      globalThis.Uint8Array = original;
    },
  };
}
