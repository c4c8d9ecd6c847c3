import { readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../schemas/errors.ts';
import { isFile } from '../runtime/isFile.ts';
import type { Resource, ResourceOptions } from '../runtime/resource.ts';
import { openSandbox, type SandboxLimits } from '../runtime/sandbox.ts';
import { createOfficeProcess, type Document, type OfficeProcess } from './officeProcess.ts';

export interface Office extends AsyncDisposable {
  /**
   * Converts a document to PDF in a LibreOffice process that converts no other document.
   *
   * @throws ServiceError corrupt_source, output_too_large, deadline_exceeded; the signal's reason
   */
  convert(document: Document, limits: { signal: AbortSignal; deadline: number }): Promise<Buffer>;
}

/** Processes kept warm in addition to the busy one: one that is ready and one that is starting. */
const SPARES = 2;
const LIMITS: SandboxLimits = {
  memoryBytes: 4 * 2 ** 30,
  // More than one core can spend within the time limit of a call.
  cpuSeconds: 120,
  fileBytes: 400_000_000,
  scratchBytes: 1_000_000_000,
  openFiles: 1024,
  processes: 200,
};
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/libreoffice/program', '/snap/bin'];
const PROGRAMS = ['soffice', 'libreoffice'];

/** Finds the program folder of LibreOffice; `soffice` is a link to a script in it. */
async function findProgram(given: string | null): Promise<string> {
  const paths = given === null ? FOLDERS.flatMap((it) => PROGRAMS.map((name) => join(it, name))) : [given];
  for (const path of paths) {
    if (!(await isFile(path))) continue;
    const folder = dirname(await realpath(path));
    if ((await isFile(join(folder, 'soffice.bin'))) && (await isFile(join(folder, 'oosplash'))))
      return folder;
  }
  throw new ServiceError('tool_unavailable', {
    detail: 'LibreOffice is not installed here.',
    cause: new Error(`LibreOffice was not found at ${paths.join(', ')}; install it or set SOFFICE_PATH`),
  });
}

async function open({ env }: ResourceOptions): Promise<Office> {
  const program = await findProgram(env.SOFFICE_PATH);
  const sandbox = await openSandbox();
  const read = (name: string, encoding: BufferEncoding) => readFile(new URL(name, import.meta.url), encoding);
  const script = await read('./convert.sh', 'utf8');
  const [settings, fonts] = [await read('./settings.xcu', 'utf8'), await read('./fonts.conf', 'utf8')];
  // The warm-up document: one page in common fonts, with a table.
  const args = [program, settings, fonts, await read('./warm.docx', 'base64')];
  // Debian's package keeps its settings in /etc/libreoffice. Others keep everything in the parent of program/.
  const folders = program.startsWith('/usr/lib/') ? ['/etc/libreoffice'] : [dirname(program)];
  return createOffice(() => createOfficeProcess(sandbox.start({ script, args, folders, limits: LIMITS })));
}

/** @param startProcess starts a LibreOffice process, which then warms up */
export function createOffice(startProcess: () => OfficeProcess): Office {
  const spares: OfficeProcess[] = [];
  const running = new Set<OfficeProcess>();
  let closed = false;

  function start(): OfficeProcess {
    const started = startProcess();
    running.add(started);
    return started;
  }
  async function end(officeProcess: OfficeProcess): Promise<void> {
    await officeProcess.end();
    running.delete(officeProcess);
  }
  /** Takes the oldest spare, which is warm or will be warm first. */
  function take(): OfficeProcess {
    const oldest = spares.shift() ?? start();
    if (!oldest.ended) return oldest;
    running.delete(oldest);
    return take();
  }
  function refill(): void {
    while (!closed && spares.length < SPARES) spares.push(start());
  }

  return {
    async convert(document, { signal, deadline }) {
      const timeout = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
      const stop = AbortSignal.any([signal, timeout]);
      const officeProcess = take();
      const onAbort = () => void officeProcess.end();
      stop.addEventListener('abort', onAbort);
      try {
        stop.throwIfAborted();
        return await officeProcess.convert(document);
      } catch (error) {
        signal.throwIfAborted();
        if (timeout.aborted) throw new ServiceError('deadline_exceeded', { cause: error });
        throw error;
      } finally {
        stop.removeEventListener('abort', onAbort);
        await end(officeProcess);
        refill();
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.all([...running].map(end));
    },
  };
}

/** The warm LibreOffice processes of a worker. The first one starts with the first document. */
export const office: Resource<Office> = { name: 'LibreOffice', open };
