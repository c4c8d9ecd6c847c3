import type { Duplex } from 'node:stream';
import { ServiceError } from '../../schemas/errors.ts';
import type { DocumentType } from './types.ts';

/** A document to convert. */
export interface Document {
  bytes: Uint8Array;
  type: DocumentType;
  /** File name with its extension, which a field in the document may show. */
  name: string;
  /** Documents that replace bookmarks, each with LibreOffice's import filter. Default: none. */
  embedded?: readonly { bookmark: string; filter: string; bytes: Uint8Array }[];
  /** Font families of which to find out what is used for them. Default: none. */
  families?: readonly string[];
  /** Characters of which to find out whether a font has them. Default: none. */
  characters?: readonly string[];
}

export interface Converted {
  pdf: Buffer;
  /** For each font family of the document, the families that may be used for it. */
  fonts: Readonly<Record<string, readonly string[]>>;
  /** Those of the characters that no font has. */
  undrawable: readonly string[];
}

/** A sandboxed LibreOffice process that converts one document. */
export interface OfficeProcess {
  readonly ended: boolean;
  /**
   * Waits until the process is warm and converts a document to PDF.
   *
   * @throws ServiceError corrupt_source, output_too_large; Error when the process dies
   */
  convert(document: Document): Promise<Converted>;
  /** Kills the process. Resolves when its process tree and files are gone, or at once after a conversion. */
  end(): Promise<void>;
}

/** Maximum size of a PDF in bytes; the contract's limit for tool output. */
const PDF_BYTES = 50_000_000;
/** Maximum size of the report on fonts in bytes. */
const REPORT_BYTES = 1_000_000;
/** Maximum length in bytes of the first and last line of a process's response together. */
const LINES_BYTES = 100;
/** Last line of the response of a process that ended by itself. */
const ENDED = '\nended';

/**
 * Creates the client of a LibreOffice process that the fork server will fork.
 *
 * @param channel socket to the process; forkServer.py describes the protocol
 * @param ready resolves when the fork server can fork, rejects when it ends
 */
export function createOfficeProcess(channel: Duplex, ready: Promise<void>): OfficeProcess {
  let isReady = false;
  const onReady = () => {
    isReady = true;
  };
  ready.then(onReady, () => undefined);
  // An EPIPE error occurs when the process ends before it has read the document; `convert` reports that.
  channel.on('error', () => undefined);

  return {
    get ended() {
      return channel.readableEnded || channel.destroyed;
    },
    async convert({ bytes, type, name, embedded = [], families = [], characters = [] }) {
      await ready;
      const items = embedded.map(({ bookmark, filter, bytes: { length } }) => ({
        bookmark,
        filter,
        size: length,
      }));
      const size = bytes.length;
      const request = { filter: type.filter, name, size, embedded: items, families, characters };
      channel.write(`${JSON.stringify(request)}\n`);
      for (const content of [bytes, ...embedded.map((it) => it.bytes)]) channel.write(content);
      return readReply();
    },
    async end() {
      if (!isReady) channel.destroy();
      if (channel.closed) return;
      // `once` of node:events would reject when the process ends before it has read the document.
      const closed = new Promise<void>((resolve) => channel.once('close', resolve));
      channel.end();
      channel.resume();
      await closed;
    },
  };

  async function readReply(): Promise<Converted> {
    const chunks: Buffer[] = [];
    let size = 0;
    let range: ReplyRange | null = null;
    // Leaving the loop destroys the channel, which kills the process unless it has ended.
    for await (const chunk of channel) {
      chunks.push(chunk);
      size += chunk.length;
      // The first line may arrive in pieces.
      if (size - chunk.length < LINES_BYTES) range ??= replyRange(Buffer.concat(chunks));
      if (size > PDF_BYTES + (range?.reportBytes ?? 0) + LINES_BYTES)
        throw new ServiceError('output_too_large');
      // Does not wait until the process has ended, because the next document can be converted meanwhile.
      if (range !== null && size >= range.end) return readConverted(Buffer.concat(chunks), range);
    }
    throw failureOf(Buffer.concat(chunks));
  }
}

/** Positions within a response, in bytes. */
interface ReplyRange {
  start: number;
  reportStart: number;
  reportBytes: number;
  end: number;
}

/** Reads the first line of a response. @returns null when it is incomplete or announces no PDF */
function replyRange(head: Buffer): ReplyRange | null {
  const match = /^pdf (\d+) (\d+)\n/.exec(head.toString('latin1', 0, LINES_BYTES));
  if (match === null) return null;
  const start = match[0].length;
  const reportBytes = Number(match[2]);
  // A report that is larger than any of ours, which a process that a document took over could announce.
  if (reportBytes > REPORT_BYTES) throw new ServiceError('output_too_large');
  const reportStart = start + Number(match[1]);
  return { start, reportStart, reportBytes, end: reportStart + reportBytes };
}

function readConverted(reply: Buffer, { start, reportStart, end }: ReplyRange): Converted {
  const report: unknown = JSON.parse(reply.toString('utf8', reportStart, end));
  if (!checkReport(report)) throw new Error('the report of LibreOffice is invalid');
  return { pdf: reply.subarray(start, reportStart), ...report };
}

const areTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((it) => typeof it === 'string');

function checkReport(report: unknown): report is Omit<Converted, 'pdf'> {
  if (typeof report !== 'object' || report === null) return false;
  const { fonts, undrawable }: { fonts?: unknown; undrawable?: unknown } = report;
  const areNames = typeof fonts === 'object' && fonts !== null && Object.values(fonts).every(areTexts);
  return areNames && areTexts(undrawable);
}

/** Returns the error that a response without a complete PDF means. */
function failureOf(answer: Buffer): Error {
  const headEnd = answer.indexOf('\n');
  const head = answer.toString('latin1', 0, Math.min(LINES_BYTES, Math.max(0, headEnd)));
  const rest = answer.subarray(headEnd + 1);
  if (head === 'failed') return new Error(`LibreOffice could not be started: ${rest}`);
  // The document is not to blame, for example if the kernel ran out of memory.
  if (!answer.subarray(-ENDED.length).equals(Buffer.from(ENDED))) return new Error('LibreOffice was killed');
  const reason = rest.subarray(0, -ENDED.length);
  return new ServiceError('corrupt_source', {
    detail: 'The document is damaged: LibreOffice cannot read it.',
    cause: new Error(head === 'unreadable' ? reason.toString() : 'LibreOffice ended without an answer'),
  });
}
