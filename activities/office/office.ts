import { readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../schemas/errors.ts';
import { isFile } from '../runtime/isFile.ts';
import type { Resource, ResourceOptions } from '../runtime/resource.ts';
import { openSandbox, type SandboxLimits } from '../runtime/sandbox.ts';
import { createDesk, type Desk, type Document } from './officeProcess.ts';

export interface Office extends AsyncDisposable {
  /**
   * PDF of a document, by a LibreOffice that has seen no other and sees none after it.
   *
   * @throws ServiceError corrupt_source, output_too_large, deadline_exceeded; the signal's reason
   */
  convert(document: Document, limits: { signal: AbortSignal; deadline: number }): Promise<Buffer>;
}

/** Kept warm beside the one at work: while one is used the next is ready, and the one after it starts. */
const SPARES = 2;
const LIMITS: SandboxLimits = {
  memoryBytes: 4 * 2 ** 30,
  // More than it can use up on one core before its time is over.
  cpuSeconds: 120,
  fileBytes: 400_000_000,
  scratchBytes: 1_000_000_000,
  openFiles: 1024,
  processes: 200,
};
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/libreoffice/program', '/snap/bin'];
const PROGRAMS = ['soffice', 'libreoffice'];

/** The folder of the programs behind `soffice`, which is a link to a script there. */
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
    cause: new Error(`no LibreOffice behind ${paths.join(', ')}; install it or set SOFFICE_PATH`),
  });
}

async function open({ env }: ResourceOptions): Promise<Office> {
  const program = await findProgram(env.SOFFICE_PATH);
  const sandbox = await openSandbox();
  const read = (name: string, encoding: BufferEncoding) => readFile(new URL(name, import.meta.url), encoding);
  const script = await read('./convert.sh', 'utf8');
  const [settings, fonts] = [await read('./settings.xcu', 'utf8'), await read('./fonts.conf', 'utf8')];
  // The document: one page in the fonts that most have, with a table.
  const args = [program, settings, fonts, await read('./warm.docx', 'base64')];
  // Where LibreOffice is not Debian's own: share/ and the like stand beside program/.
  const folders = program.startsWith('/usr/lib/') ? ['/etc/libreoffice'] : [dirname(program)];
  return createOffice(() => createDesk(sandbox.start({ script, args, folders, limits: LIMITS })));
}

/** @param start a LibreOffice that warms up */
export function createOffice(start: () => Desk): Office {
  const spares: Desk[] = [];
  const running = new Set<Desk>();
  let closed = false;

  function begin(): Desk {
    const desk = start();
    running.add(desk);
    return desk;
  }
  async function end(desk: Desk): Promise<void> {
    await desk.end();
    running.delete(desk);
  }
  /** The oldest, which is warm or will be first. */
  function take(): Desk {
    const desk = spares.shift() ?? begin();
    if (!desk.ended) return desk;
    running.delete(desk);
    return take();
  }
  function refill(): void {
    while (!closed && spares.length < SPARES) spares.push(begin());
  }

  return {
    async convert(document, { signal, deadline }) {
      const timeout = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
      const stop = AbortSignal.any([signal, timeout]);
      const desk = take();
      const onAbort = () => void desk.end();
      stop.addEventListener('abort', onAbort);
      try {
        stop.throwIfAborted();
        return await desk.convert(document);
      } catch (error) {
        signal.throwIfAborted();
        if (timeout.aborted) throw new ServiceError('deadline_exceeded', { cause: error });
        throw error;
      } finally {
        stop.removeEventListener('abort', onAbort);
        await end(desk);
        refill();
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.all([...running].map(end));
    },
  };
}

/** The warm LibreOffices of a worker. The first starts with the first document. */
export const office: Resource<Office> = { name: 'LibreOffice', open };
