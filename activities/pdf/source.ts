import { closeSync, openSync, readSync } from 'node:fs';

/** A file that the tool holds open. */
export interface PdfSource {
  /** The file may have no name: this can be its place among the open files of the worker, in /proc. */
  path: string;
  /** Bytes. */
  size: number;
}

/** Bytes at the start within which readers look for the header (ISO 32000-2, annex I; Acrobat's own note 13). */
const START = 1024;

export interface PdfBytes {
  bytes: Uint8Array<ArrayBuffer>;
  /** The first of them, a character each. */
  start: string;
}

export function readSource({ path, size }: PdfSource): PdfBytes {
  const bytes = new Uint8Array(size);
  const fd = openSync(path, 'r');
  try {
    for (let read = 0; read < size; ) {
      const got = readSync(fd, bytes, read, size - read, read);
      if (got === 0) throw new RangeError('the file has become shorter');
      read += got;
    }
  } finally {
    closeSync(fd);
  }
  return { bytes, start: Buffer.from(bytes.subarray(0, START)).toString('latin1') };
}

export const hasHeader = (start: string): boolean => start.includes('%PDF-');

/** Whether it may be a PDF: it says so or, its header lost, has an object where the first one stands. */
export const mayBePdf = (start: string): boolean => hasHeader(start) || /\d\s+\d+\s+obj\b/.test(start);

/** The insides of the dictionaries that hold no other dictionary or hexadecimal string. */
const flatDictionaries = (text: string): string[] =>
  text.split('<<').flatMap((part, index) => {
    const end = part.search(/[<>]/);
    return index > 0 && part.startsWith('>>', end) ? [part.slice(0, end)] : [];
  });

/**
 * Pages of a linearized file by its first object, whose numbers are in the clear also where everything else is encrypted
 * (ISO 32000-2, annex F.3.3); null when it is not linearized, or was changed since.
 */
export function linearizedPages(start: string, size: number): number | null {
  const dictionary = flatDictionaries(start).find((it) => /\/Linearized\b/.test(it)) ?? '';
  const pages = Number(/\/N\s+(\d+)/.exec(dictionary)?.[1]);
  const length = Number(/\/L\s+(\d+)/.exec(dictionary)?.[1]);
  return length === size && pages > 0 ? pages : null;
}
