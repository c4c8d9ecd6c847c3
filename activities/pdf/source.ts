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

/**
 * Pages of a linearized file by its first object, whose numbers are in the clear also where everything else is encrypted
 * (ISO 32000-2, annex F.3.3); null when it is not linearized, or was changed since.
 */
export function linearizedPages(start: string, size: number): number | null {
  const dictionary = /<<[^<>]*\/Linearized\b[^<>]*>>/.exec(start)?.[0] ?? '';
  const numberAt = (key: string): number => Number(new RegExp(`/${key}\\s+(\\d+)`).exec(dictionary)?.[1]);
  const pages = numberAt('N');
  return numberAt('L') === size && pages > 0 ? pages : null;
}
