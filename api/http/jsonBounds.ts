import type { Fault } from '../../schemas/errors.ts';

/** Maximum nesting depth of arrays and objects. The deepest input of a tool has three levels. */
const MAX_DEPTH = 32;
/**
 * Maximum number of values in all arrays and objects together. The largest input, one with 100 headers, has about 200. The
 * validator creates an error object for each invalid value, which takes about 10 µs.
 */
const MAX_VALUES = 2000;
/**
 * Maximum length of a field name in bytes, as written. Limited because the validator copies the name for each fault
 * below that field.
 */
const MAX_NAME_BYTES = 256;

const [TAB, LINE_FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB;

/** Whether the first byte that is not white space opens an object. */
export function startsObject(json: Uint8Array): boolean {
  let at = BYTE_ORDER_MARK.every((byte, index) => json[index] === byte) ? BYTE_ORDER_MARK.length : 0;
  while (isSpace(json[at])) at++;
  return json[at] === OBJECT;
}

/**
 * Finds the first of these bounds that a JSON text exceeds, in one pass over its bytes. Without them, parsing and
 * validating a large number of small values takes seconds, while a few long strings take milliseconds. Invalid JSON
 * is left for the parser to report.
 *
 * @returns null if the text is within all bounds
 */
export function exceededBound(json: Uint8Array): Fault | null {
  const exceeded = (message: string): Fault => ({ pointer: '', message });
  let depth = 0;
  let values = 0;
  let nameBytes = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      const start = at;
      for (at++; at < json.length && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at++;
      nameBytes = at - start;
    } else if (byte === COLON) {
      if (nameBytes > MAX_NAME_BYTES)
        return exceeded(`must not have a field whose name is longer than ${MAX_NAME_BYTES} bytes`);
    } else if (byte === COMMA) {
      if (++values > MAX_VALUES) return exceeded(`must not hold more than ${MAX_VALUES} values`);
    } else if (byte === ARRAY || byte === OBJECT) {
      if (++values > MAX_VALUES) return exceeded(`must not hold more than ${MAX_VALUES} values`);
      if (++depth > MAX_DEPTH) return exceeded(`must not be nested deeper than ${MAX_DEPTH} levels`);
    } else if (byte === ARRAY_END || byte === OBJECT_END) depth--;
  }
  return null;
}
