import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bytes after which other connections get a turn; about 10 ms. */
const TURN_BYTES = 1_048_576;
const [PERCENT, PLUS, SPACE] = [0x25, 0x2b, 0x20];

/** The value of a hexadecimal digit, or -1. */
function hexValue(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Percent-decodes, with `+` for a space; a percent sign without two digits stays (URL Standard, section 5.1). */
async function decode(bytes: Buffer): Promise<string> {
  const decoded = Buffer.allocUnsafe(bytes.length);
  let size = 0;
  let turnEnd = TURN_BYTES;
  for (let at = 0; at < bytes.length; at++) {
    if (at >= turnEnd) {
      await nextTurn();
      turnEnd += TURN_BYTES;
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
 * Parses an `application/x-www-form-urlencoded` body as `new URLSearchParams(text)` does, which takes seconds for some
 * bodies of this service's size.
 *
 * @param limit fields
 * @returns null when there are more
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
