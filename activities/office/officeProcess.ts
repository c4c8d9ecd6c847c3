import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../../schemas/errors.ts';
import type { DocumentType } from './types.ts';

/** A document to convert. */
export interface Document {
  bytes: Uint8Array;
  type: DocumentType;
  /** File name with its extension, which a field in the document may show. */
  name: string;
}

/** A sandboxed LibreOffice process that converts one document. */
export interface OfficeProcess {
  readonly ended: boolean;
  /**
   * Waits until the process is warm and converts a document to PDF.
   *
   * @throws ServiceError corrupt_source, output_too_large; Error when the process dies
   */
  convert(document: Document): Promise<Buffer>;
  /** Kills the process. Resolves when its process tree and files are gone, or at once after a conversion. */
  end(): Promise<void>;
}

/** Maximum size of a PDF in bytes; the contract's limit for tool output. */
const PDF_BYTES = 50_000_000;
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
    async convert({ bytes, type, name }) {
      await ready;
      channel.write(`${type.filter}\n${name}\n${bytes.length}\n`);
      channel.write(bytes);
      const chunks: Buffer[] = [];
      let size = 0;
      let pdf: PdfRange | null = null;
      // Leaving the loop destroys the channel, which kills the process unless it has ended.
      for await (const chunk of channel) {
        chunks.push(chunk);
        size += chunk.length;
        if (size > PDF_BYTES + LINES_BYTES) throw new ServiceError('output_too_large');
        // The first line may arrive in pieces.
        if (size - chunk.length < LINES_BYTES) pdf ??= pdfRange(Buffer.concat(chunks));
        // Does not wait until the process has ended, because the next document can be converted meanwhile.
        if (pdf !== null && size >= pdf.end) return Buffer.concat(chunks).subarray(pdf.start, pdf.end);
      }
      throw failureOf(Buffer.concat(chunks));
    },
    async end() {
      if (!isReady) channel.destroy();
      if (channel.closed) return;
      channel.end();
      channel.resume();
      await once(channel, 'close');
    },
  };
}

/** Position of the PDF within a response, in bytes. */
interface PdfRange {
  start: number;
  end: number;
}

/** Reads the first line of a response. @returns null when it is incomplete or announces no PDF */
function pdfRange(start: Buffer): PdfRange | null {
  const match = /^pdf (\d+)\n/.exec(start.toString('latin1', 0, LINES_BYTES));
  return match === null ? null : { start: match[0].length, end: match[0].length + Number(match[1]) };
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
