/** Bytes of a file: the first, and the one after the last. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Reads a Range header (RFC 9110, section 14.2). One range of bytes is supported; of others, the header is ignored, which the standard
 * permits.
 *
 * @returns null for the whole file; `unsatisfiable` if no byte of the range is in the file
 */
export function readRange(header: string, size: number): ByteRange | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header.trim()) ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}
