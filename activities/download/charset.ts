// Node's TextDecoder uses ICU, which differs from the Encoding Standard in many Korean, Chinese and Japanese characters.
import { TextDecoder } from '@exodus/bytes/encoding.js';

/** Byte order marks that identify an encoding (Encoding Standard, "BOM sniff"). */
const MARKS: readonly (readonly [label: string, mark: readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16be', [0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
];
/** Encoding of text that declares none and is not valid UTF-8, as in browsers. It maps every byte to a character. */
const FALLBACK = 'windows-1252';

/** Returns the encoding that the byte order mark identifies; null without one. */
export const charsetOfMark = (bytes: Buffer): string | null =>
  MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0] ?? null;

/** Returns the name of the encoding that the Encoding Standard assigns to a label; null for an unknown label. */
export function charsetOfLabel(label: string): string | null {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}

/** Decodes bytes and removes a byte order mark; null when the bytes are invalid in the encoding. */
export function decodeStrictly(bytes: Buffer, charset: string): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Decodes bytes that are known to be text. A byte order mark takes precedence over the declared encoding, as in browsers.
 * Without both, the bytes are decoded as UTF-8 if valid, else as windows-1252, a superset of printable Latin-1. Bytes
 * that are invalid in the encoding become U+FFFD.
 *
 * @param declared encoding label; unknown labels are ignored
 */
export function decodeText(bytes: Buffer, declared: string | null): string {
  const charset = charsetOfMark(bytes) ?? (declared === null ? null : charsetOfLabel(declared));
  if (charset !== null) return new TextDecoder(charset).decode(bytes);
  return decodeStrictly(bytes, 'utf-8') ?? new TextDecoder(FALLBACK).decode(bytes);
}
