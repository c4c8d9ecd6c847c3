import { ServiceError } from '../../schemas/errors.ts';

/** A part of a multipart body. Its content is read before the next part is requested; what is left of it is skipped then. */
interface Part {
  name: string;
  /** Null if the part is no file. */
  fileName: string | null;
  content: AsyncGenerator<Buffer>;
}

/** Maximum size of the headers of a part in bytes. */
const HEAD_BYTES = 8192;
const LINE_END = '\r\n';
const HEAD_END = Buffer.from('\r\n\r\n');
const NAME = /(?:^|;)\s*name="([^"]*)"/i;
const FILE_NAME = /(?:^|;)\s*filename="([^"]*)"/i;

const malformed = (): ServiceError =>
  new ServiceError('malformed_json', { detail: 'The form is incomplete, or not multipart/form-data.' });

/** Returns the boundary of a multipart form. @throws ServiceError unsupported_media_type */
export function boundaryOf(contentType: string): string {
  const [, boundary] =
    /^multipart\/form-data\s*;\s*boundary="?([\w'()+,./:=?-]{1,70})"?$/i.exec(contentType) ?? [];
  if (boundary === undefined)
    throw new ServiceError('unsupported_media_type', {
      detail: 'The form must be sent as multipart/form-data.',
    });
  return boundary;
}

/** Reads the names in the headers of a part. @throws ServiceError malformed_json */
function namesOf(head: string): Pick<Part, 'name' | 'fileName'> {
  const line = head.split(LINE_END).find((header) => /^content-disposition:/i.test(header)) ?? '';
  const [, name] = NAME.exec(line) ?? [];
  if (name === undefined) throw malformed();
  return { name, fileName: FILE_NAME.exec(line)?.[1] ?? null };
}

/** Reads chunks up to delimiters, of which each may be split between chunks. Holds what a chunk contains. */
function createReader(chunks: AsyncIterator<Buffer>) {
  let rest: Buffer = Buffer.alloc(0);
  async function fill(): Promise<void> {
    const { value, done } = await chunks.next();
    if (done === true) throw malformed();
    rest = rest.length === 0 ? value : Buffer.concat([rest, value]);
  }
  const take = (length: number): Buffer => {
    const taken = rest.subarray(0, length);
    rest = rest.subarray(length);
    return taken;
  };
  return {
    async bytes(length: number): Promise<Buffer> {
      while (rest.length < length) await fill();
      return take(length);
    },
    /** Yields what comes before a delimiter, and passes the delimiter. */
    async *until(delimiter: Buffer): AsyncGenerator<Buffer> {
      for (;;) {
        const at = rest.indexOf(delimiter);
        // Less than a delimiter may be the beginning of one.
        const known = at >= 0 ? at : rest.length - delimiter.length + 1;
        if (known > 0) yield take(known);
        if (at >= 0) {
          take(delimiter.length);
          return;
        }
        await fill();
      }
    },
  };
}

/** Reads content to its end. @throws ServiceError body_too_large */
export async function contentOf(content: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const read: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > limit) throw new ServiceError('body_too_large');
    read.push(chunk);
  }
  return Buffer.concat(read);
}

/**
 * Yields the parts of a multipart form (RFC 7578) as they arrive. No parser is kept in the packages of this project; this one reads
 * what browsers send: no preamble, and each part with a quoted name.
 *
 * @throws ServiceError malformed_json
 */
export async function* partsOf(chunks: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<Part> {
  const source = chunks[Symbol.asyncIterator]();
  const reader = createReader(source);
  const delimiter = Buffer.from(`${LINE_END}--${boundary}`);
  try {
    const first = await reader.bytes(delimiter.length - LINE_END.length);
    if (!first.equals(delimiter.subarray(LINE_END.length))) throw malformed();
    for (;;) {
      const next = (await reader.bytes(LINE_END.length)).toString('latin1');
      if (next === '--') return;
      if (next !== LINE_END) throw malformed();
      const head = await contentOf(reader.until(HEAD_END), HEAD_BYTES);
      const content = reader.until(delimiter);
      yield { ...namesOf(head.toString()), content };
      for await (const _skipped of content);
    }
  } finally {
    // Not awaited, because the body may still be arriving; its reader has a time limit of its own.
    Promise.resolve(source.return?.()).catch(() => undefined);
  }
}
