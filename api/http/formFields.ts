import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Number of bytes to decode before yielding to the event loop; this takes about 10 ms. */
const YIELD_BYTES = 1_048_576;
const [PERCENT, PLUS, SPACE] = [0x25, 0x2b, 0x20];

/** Returns the value of a hexadecimal digit; -1 for any other byte. */
function hexValue(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/**
 * Percent-decodes a name or value and replaces `+` by a space. A percent sign without two hexadecimal digits is kept
 * (URL Standard, section 5.1).
 */
async function decode(bytes: Buffer): Promise<string> {
  const decoded = Buffer.allocUnsafe(bytes.length);
  let size = 0;
  let yieldAt = YIELD_BYTES;
  for (let at = 0; at < bytes.length; at++) {
    if (at >= yieldAt) {
      await yieldToEventLoop();
      yieldAt += YIELD_BYTES;
    }
    let byte = bytes[at] ?? 0;
    if (byte === PLUS) byte = SPACE;
    else if (byte === PERCENT) {
      const high = hexValue(bytes[at + 1]);
      const low = hexValue(bytes[at + 2]);
      if (high >= 0 && low >= 0) {
        byte = high * 16 + low;
        at += 2;
      }
    }
    decoded[size++] = byte;
  }
  return decoded.toString('utf8', 0, size);
}

/**
 * Parses an `application/x-www-form-urlencoded` body with the same result as `new URLSearchParams(text)`, which would
 * take seconds for some bodies that are within the size limit.
 *
 * @param limit maximum number of fields
 * @returns null if the body has more fields
 */
export async function parseFields(body: Buffer, limit: number): Promise<URLSearchParams | null> {
  const fields = new URLSearchParams();
  let count = 0;
  for (let start = 0; start < body.length; ) {
    const next = body.indexOf('&', start);
    const end = next === -1 ? body.length : next;
    if (++count > limit) return null;
    if (end > start) {
      const field = body.subarray(start, end);
      const equals = field.indexOf('=');
      const name = equals === -1 ? field : field.subarray(0, equals);
      const value = equals === -1 ? '' : await decode(field.subarray(equals + 1));
      fields.append(await decode(name), value);
    }
    start = end + 1;
  }
  return fields;
}
