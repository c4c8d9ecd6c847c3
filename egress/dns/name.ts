/** Maximum length of an encoded name in octets, including the terminating zero octet (RFC 1035 section 3.1). */
const MAX_OCTETS = 255;
/** Maximum number of compression pointers in a name. A valid name has at most 127 labels, so more pointers are an attack. */
const MAX_POINTERS = 127;

/** Characters that zone files and `dig` escape with a backslash (RFC 1035 section 5.1). */
const SPECIAL = new Set([...'"$().;@\\'].map((character) => character.charCodeAt(0)));

function labelText(label: Uint8Array): string {
  let text = '';
  for (const byte of label) {
    if (byte < 0x21 || byte > 0x7e) text += `\\${String(byte).padStart(3, '0')}`;
    else text += SPECIAL.has(byte) ? `\\${String.fromCharCode(byte)}` : String.fromCharCode(byte);
  }
  return text.toLowerCase();
}

/**
 * Decodes a domain name. Compression pointers (RFC 1035 section 4.1.4) may only point backwards.
 *
 * The text is lower case, because names are compared case-insensitively and queries use random case. Bytes outside
 * printable ASCII are written `\DDD` (RFC 4343 section 2.1). There is no trailing dot, except for the root, `.`.
 *
 * @returns the name as text, and the offset of the first byte after it
 * @throws when the name is malformed or runs past the message
 */
export function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let offset = start;
  let pieceStart = start;
  let end: number | undefined;
  let octets = 1;
  let pointers = 0;
  for (;;) {
    const length = message.readUInt8(offset);
    if (length === 0) break;
    if (length >= 0xc0) {
      const target = message.readUInt16BE(offset) - 0xc000;
      if (target >= pieceStart || ++pointers > MAX_POINTERS) throw new Error('bad compression pointer');
      end ??= offset + 2;
      offset = target;
      pieceStart = target;
      continue;
    }
    octets += length + 1;
    if (length > 63 || octets > MAX_OCTETS || offset + 1 + length > message.length)
      throw new Error('bad label');
    labels.push(labelText(message.subarray(offset + 1, offset + 1 + length)));
    offset += length + 1;
  }
  return { name: labels.length === 0 ? '.' : labels.join('.'), end: end ?? offset + 1 };
}
