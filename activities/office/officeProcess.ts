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

/** One LibreOffice in its sandbox, for one document. */
export interface Desk {
  readonly ended: boolean;
  /** Waits until it is warm. PDF of a document. @throws ServiceError corrupt_source, output_too_large; Error when it dies */
  convert(document: Document): Promise<Buffer>;
  /** Ends it with all its processes and files; resolves when they are gone. */
  end(): Promise<void>;
}

const READY = Buffer.from('ready\n');
const NO_PDF = 3;
/** The contract's limit for output. */
const PDF_BYTES = 50_000_000;
const STDERR_CHARACTERS = 2000;

/** @param process one that runs convert.sh */
export function createDesk(process: SandboxedProcess): Desk {
  let stderr = '';
  process.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-STDERR_CHARACTERS);
  });
  const failure = (what: string, code: number | null) =>
    new Error(`LibreOffice ${what} (exit code ${code}): ${stderr.trim()}`);

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
        cause: failure('made no PDF', code),
      });
    },
    async end() {
      process.kill();
      await process.exited.catch(() => undefined);
    },
  };
}
