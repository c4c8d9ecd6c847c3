// Node's own decoder is ICU's, which differs from the Encoding Standard in many characters of Korean, Chinese and Japanese.
import { TextDecoder } from '@exodus/bytes/encoding.js';

/** U+FEFF at the start of a text, in the encodings where it tells which one it is (Encoding Standard, "BOM sniff"). */
const MARKS: readonly (readonly [label: string, mark: readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16be', [0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
];
/** What the Encoding Standard has browsers take where nothing is said; each of its bytes is a character. */
const FALLBACK = 'windows-1252';

/** The encoding that a byte order mark tells; null without one. */
export const charsetOfMark = (bytes: Buffer): string | null =>
  MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0] ?? null;

/** The Encoding Standard's name of an encoding for a label as servers write it; null for one it does not have. */
export function charsetOfLabel(label: string): string | null {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}

/** The text of bytes that are wholly of that encoding, without a byte order mark; null when they are not. */
export function decodeStrictly(bytes: Buffer, charset: string): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * The text of bytes that are known to be text. A byte order mark outranks what was declared, as in browsers; where
 * neither is there, it is UTF-8 when the bytes are that, else windows-1252, of which Latin-1 is a part. What has no
 * meaning in a declared encoding becomes U+FFFD.
 *
 * @param declared a label as servers write it; one that the Encoding Standard does not have counts as none
 */
export function decodeText(bytes: Buffer, declared: string | null): string {
  const charset = charsetOfMark(bytes) ?? (declared === null ? null : charsetOfLabel(declared));
  if (charset !== null) return new TextDecoder(charset).decode(bytes);
  return decodeStrictly(bytes, 'utf-8') ?? new TextDecoder(FALLBACK).decode(bytes);
}
