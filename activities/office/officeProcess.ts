import { ServiceError } from '../../schemas/errors.ts';
import type { SandboxedProcess } from '../runtime/sandbox.ts';
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

const READY = Buffer.from('ready\n');
const NO_PDF = 3;
/** Limit of the contract for output. */
const PDF_BYTES = 50_000_000;
const STDERR_CHARACTERS = 2000;

/** @param process runs convert.sh */
export function createOfficeProcess(process: SandboxedProcess): OfficeProcess {
  let stderr = '';
  process.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-STDERR_CHARACTERS);
  });
  const failure = (problem: string, code: number | null) =>
    new Error(`LibreOffice ${problem} (exit code ${code}): ${stderr.trim()}`);

  const chunks: AsyncIterator<Buffer> & AsyncIterable<Buffer> = process.stdout[Symbol.asyncIterator]();
  const ready = chunks.next().then(async ({ value }) => {
    if (!READY.equals(value ?? Buffer.alloc(0))) throw failure('did not start', await process.exited);
  });
  ready.catch(() => undefined);
  let ended = false;
  const onEnd = () => {
    ended = true;
  };
  process.exited.then(onEnd, onEnd);

  return {
    get ended() {
      return ended;
    },
    async convert({ bytes, type, name }) {
      await ready;
      process.stdin.write(`${type.filter}\n${name}\n`);
      process.stdin.end(bytes);
      const pdf: Buffer[] = [];
      let size = 0;
      for await (const chunk of chunks) {
        size += chunk.length;
        if (size > PDF_BYTES) throw new ServiceError('output_too_large');
        pdf.push(chunk);
      }
      const code = await process.exited;
      if (code === 0) return Buffer.concat(pdf);
      if (code !== NO_PDF) throw failure('ended', code);
      throw new ServiceError('corrupt_source', {
        detail: 'The document is damaged: LibreOffice cannot read it.',
        cause: failure('wrote no PDF', code),
      });
    },
    async end() {
      process.kill();
      await process.exited.catch(() => undefined);
    },
  };
}
