import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../schemas/errors.ts';

/** A part of a body of the type multipart/form-data. */
interface Part {
  /** Name of the field; '' if it has none. */
  name: string;
  /** Name of the file; null if the part is no file. */
  fileName: string | null;
  /** To be read to its end before the next part is requested, or not at all. */
  content: AsyncIterable<Buffer>;
}

/** Maximum size in bytes of the headers of a part. */
const HEAD_BYTES = 8192;
const PARAMETER = /;\s*([\w*]+)\s*=\s*(?:"([^"]*)"|([^;\s]+))/g;
/** Characters that browsers escape in names (HTML Standard, "multipart form data"). */
const ESCAPED: Readonly<Record<string, string>> = { '%22': '"', '%0D': '\r', '%0A': '\n' };

const malformed = (): ServiceError =>
  new ServiceError('malformed_json', { detail: 'The body is not complete multipart/form-data.' });

/** Reads the parameters of a header such as Content-Disposition. */
export const parametersOf = (header: string): Map<string, string> =>
  new Map(
    [...header.matchAll(PARAMETER)].map(([, name = '', quoted, token = '']) => [
      name.toLowerCase(),
      quoted?.replace(/%(?:22|0D|0A)/g, (code) => ESCAPED[code] ?? code) ?? token,
    ]),
  );

/** Returns the boundary of a multipart/form-data body; null if the body is of another type. */
export function boundaryOf({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const type = headers['content-type'] ?? '';
  if (!/^\s*multipart\/form-data\s*(?:;|$)/i.test(type)) return null;
  const boundary = parametersOf(type).get('boundary') ?? '';
  // RFC 2046, section 5.1.1.
  if (boundary === '' || boundary.length > 70) throw malformed();
  return boundary;
}

function headOf(text: string): Pick<Part, 'name' | 'fileName'> {
  const line = text.split('\r\n').find((it) => /^content-disposition:/i.test(it)) ?? '';
  const parameters = parametersOf(line);
  return { name: parameters.get('name') ?? '', fileName: parameters.get('filename') ?? null };
}

/**
 * Yields the parts of a multipart/form-data body (RFC 7578) as they arrive. Holds one chunk in memory.
 *
 * @throws ServiceError malformed_json if the body is incomplete or its headers are too long; what `chunks` throws
 */
export async function* readParts(chunks: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<Part> {
  const source = chunks[Symbol.asyncIterator]();
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // The first delimiter may be at the start of the body.
  let held: Buffer = Buffer.from('\r\n');

  async function more(): Promise<void> {
    const { done, value } = await source.next();
    if (done === true) throw malformed();
    held = Buffer.concat([held, value]);
  }

  /** Yields the bytes up to the next delimiter, which it skips. */
  async function* content(): AsyncGenerator<Buffer> {
    for (;;) {
      const at = held.indexOf(delimiter);
      const sure = at >= 0 ? at : Math.max(0, held.length - delimiter.length + 1);
      const part = held.subarray(0, sure);
      held = held.subarray(at >= 0 ? at + delimiter.length : sure);
      if (part.length > 0) yield part;
      if (at >= 0) return;
      await more();
    }
  }

  /** Returns the text up to the next `end`, which it skips. */
  async function textUntil(end: string): Promise<string> {
    for (;;) {
      const at = held.indexOf(end);
      if (at > HEAD_BYTES || (at < 0 && held.length > HEAD_BYTES)) throw malformed();
      if (at >= 0) {
        const text = held.subarray(0, at).toString('utf8');
        held = held.subarray(at + end.length);
        return text;
      }
      await more();
    }
  }

  /** Whether the delimiter that was skipped was the last. */
  async function isEnd(): Promise<boolean> {
    while (held.length < 2) await more();
    return held.subarray(0, 2).equals(Buffer.from('--'));
  }

  try {
    for await (const _preamble of content());
    while (!(await isEnd())) {
      // White space may follow the delimiter.
      await textUntil('\r\n');
      const part = { ...headOf(await textUntil('\r\n\r\n')), content: content() };
      yield part;
      for await (const _unread of part.content);
    }
    while ((await source.next()).done !== true);
  } finally {
    await source.return?.();
  }
}

/** Reads content to its end. @param detail of the error. Default: that of the error table. @throws ServiceError body_too_large */
export async function contentOf(
  content: AsyncIterable<Buffer>,
  limit: number,
  detail?: string,
): Promise<Buffer> {
  const read: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > limit) throw new ServiceError('body_too_large', detail === undefined ? {} : { detail });
    read.push(chunk);
  }
  return Buffer.concat(read);
}
