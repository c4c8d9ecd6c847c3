import { closeSync, openSync, readSync } from 'node:fs';

/** A downloaded file, which the tool keeps open while a job reads it. */
export interface PdfSource {
  /** Path of the file. For an unlinked file, the path of the worker's open descriptor in /proc. */
  path: string;
  /** Size of the file in bytes. */
  size: number;
}

/** PDF readers search the first 1024 bytes for the header (ISO 32000-2, annex I; Acrobat implementation note 13). */
const START_BYTES = 1024;

interface PdfBytes {
  bytes: Uint8Array<ArrayBuffer>;
  /** The first 1024 bytes as Latin-1. */
  start: string;
}

export function readSource({ path, size }: PdfSource): PdfBytes {
  const bytes = new Uint8Array(size);
  const fd = openSync(path, 'r');
  try {
    for (let read = 0; read < size; ) {
      const got = readSync(fd, bytes, read, size - read, read);
      if (got === 0) throw new RangeError('the file was truncated while it was read');
      read += got;
    }
  } finally {
    closeSync(fd);
  }
  return { bytes, start: Buffer.from(bytes.subarray(0, START_BYTES)).toString('latin1') };
}

export const hasHeader = (start: string): boolean => start.includes('%PDF-');

/** Whether the file may be a PDF: it has a header or, if the header is missing, an object near its start. */
export const mayBePdf = (start: string): boolean => hasHeader(start) || /\d\s+\d+\s+obj\b/.test(start);

/** Returns the contents of the dictionaries that contain no nested dictionary or hexadecimal string. */
const flatDictionaries = (text: string): string[] =>
  text.split('<<').flatMap((part, index) => {
    const end = part.search(/[<>]/);
    return index > 0 && part.startsWith('>>', end) ? [part.slice(0, end)] : [];
  });

/**
 * Reads the page count from the linearization dictionary, whose numbers are never encrypted (ISO 32000-2, annex F.3.3).
 * Returns null when the file is not linearized or was changed afterwards.
 */
export function linearizedPages(start: string, size: number): number | null {
  const dictionary = flatDictionaries(start).find((it) => /\/Linearized\b/.test(it)) ?? '';
  const pages = Number(/\/N\s+(\d+)/.exec(dictionary)?.[1]);
  const length = Number(/\/L\s+(\d+)/.exec(dictionary)?.[1]);
  return length === size && pages > 0 ? pages : null;
}
