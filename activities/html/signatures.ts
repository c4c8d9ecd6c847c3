/**
 * First bytes of image, audio, video, font and archive files, as Latin-1 (MIME Sniffing Standard, section 6; for MP3
 * frames, section 6.2.3).
 */
const PREFIXES: readonly string[] = [
  ...['\0\0\x01\0', '\0\0\x02\0', '\x89PNG\r\n\x1a\n', '\xff\xd8\xff'],
  ...['ID3', 'OggS\0', 'MThd\0\0\0\x06', '\x1aE\xdf\xa3'],
  ...['\xff\xe2', '\xff\xe3', '\xff\xf2', '\xff\xf3', '\xff\xfa', '\xff\xfb'],
  ...['\0\x01\0\0', 'OTTO', 'ttcf', 'wOFF', 'wOF2'],
  ...['\x1f\x8b\x08', 'PK\x03\x04', 'Rar!\x1a\x07'],
];
/**
 * Signatures that consist of first bytes and of later bytes at an offset. For BMP, the later bytes are reserved and
 * always zero.
 */
const SPLIT_SIGNATURES: readonly (readonly [start: string, offset: number, later: string])[] = [
  ['BM', 6, '\0\0\0\0'],
  ['RIFF', 8, 'WEBPVP'],
  ['RIFF', 8, 'WAVE'],
  ['RIFF', 8, 'AVI '],
  ['FORM', 8, 'AIFF'],
  ['', 4, 'ftyp'],
  ['', 34, 'LP'],
];

/**
 * Whether bytes begin with the signature of a binary file type. Some signatures consist of letters only, so a text can
 * match.
 *
 * @param start the first bytes, decoded as Latin-1
 */
export const hasBinarySignature = (start: string): boolean =>
  PREFIXES.some((it) => start.startsWith(it)) ||
  SPLIT_SIGNATURES.some(
    ([first, offset, later]) => start.startsWith(first) && start.startsWith(later, offset),
  );
