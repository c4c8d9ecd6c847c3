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
  /** Kills the process; resolves when its process tree and files are gone. */
  end(): Promise<void>;
}

/** Maximum size of a PDF in bytes; the contract's limit for tool output. */
const PDF_BYTES = 50_000_000;
/** Maximum length in bytes of the first and last line of a process's response together. */
const LINES_BYTES = 100;
/** Last line of the response of a process that ended by itself. */
const ENDED = '\nended';

/**
 * Creates the client of a forked LibreOffice process.
 *
 * @param channel socket to the process; forkServer.py describes the protocol
 * @param ready resolves when the process can be forked, rejects when its fork server ends
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
      for await (const chunk of channel) {
        size += chunk.length;
        if (size <= PDF_BYTES + LINES_BYTES) chunks.push(chunk);
        else channel.end();
      }
      if (size > PDF_BYTES + LINES_BYTES) throw new ServiceError('output_too_large');
      return readAnswer(Buffer.concat(chunks));
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

function readAnswer(answer: Buffer): Buffer {
  const headEnd = answer.indexOf('\n');
  const head = answer.toString('latin1', 0, Math.min(LINES_BYTES, Math.max(0, headEnd)));
  const rest = answer.subarray(headEnd + 1);
  if (head === 'failed') throw new Error(`LibreOffice could not be started: ${rest}`);
  // The document is not to blame, for example if the kernel ran out of memory.
  if (!answer.subarray(-ENDED.length).equals(Buffer.from(ENDED))) throw new Error('LibreOffice was killed');
  const body = rest.subarray(0, -ENDED.length);
  if (head === `pdf ${body.length}`) return body;
  throw new ServiceError('corrupt_source', {
    detail: 'The document is damaged: LibreOffice cannot read it.',
    cause: new Error(head === 'unreadable' ? body.toString() : 'LibreOffice ended without an answer'),
  });
}
