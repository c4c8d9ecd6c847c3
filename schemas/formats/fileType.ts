/** Number of bytes from the start of a file that `sniffFileType` reads. */
const SNIFFED_BYTES = 4096;

const ZIP = 'PK\u0003\u0004';
const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const ODT = 'application/vnd.oasis.opendocument.text';

/** The types that tools read, and how their files start, as Latin-1. The first that matches counts. */
const TYPES: readonly (readonly [type: string, matches: (start: string) => boolean])[] = [
  ['image/png', (start) => start.startsWith('\u0089PNG\r\n\u001a\n')],
  ['image/jpeg', (start) => start.startsWith('\u00ff\u00d8\u00ff')],
  ['image/webp', (start) => start.startsWith('RIFF') && start.startsWith('WEBP', 8)],
  ['image/gif', (start) => /^GIF8[79]a/.test(start)],
  // The reserved fields are zero in all files.
  ['image/bmp', (start) => start.startsWith('BM') && start.startsWith('\0\0\0\0', 6)],
  ['application/rtf', (start) => start.startsWith('{\\rtf')],
  // OpenDocument 1.3, part 2, 3.3: the first entry is the type, not compressed.
  [ODT, (start) => start.startsWith(ZIP) && start.startsWith(`mimetype${ODT}`, 30)],
  // Names of entries are not compressed.
  [DOCX, (start) => start.startsWith(ZIP) && start.includes('word/')],
  ['application/zip', (start) => start.startsWith(ZIP)],
  // Word 6 to 2003, MS-CFB 2.2.
  [
    'application/x-ole-storage',
    (start) => start.startsWith('\u00d0\u00cf\u0011\u00e0\u00a1\u00b1\u001a\u00e1'),
  ],
  // PDF readers search the first 1024 bytes for the header (ISO 32000-2, annex I).
  ['application/pdf', (start) => start.slice(0, 1024).includes('%PDF-')],
];

/**
 * Returns the media type of a file by its content; `application/octet-stream` if it is none that a tool reads. It informs the
 * owner of the file: tools detect types themselves.
 */
export function sniffFileType(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString('latin1');
  return TYPES.find(([, matches]) => matches(start))?.[0] ?? 'application/octet-stream';
}

/** File extensions of the types that tools return. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'application/pdf': 'pdf',
};

/** Name of a file that a tool returns without a name. */
export const suggestedName = (toolName: string, type: string): string =>
  `${toolName}.${EXTENSIONS[type] ?? 'bin'}`;
