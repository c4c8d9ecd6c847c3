import { readdir, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ServiceError } from '../../schemas/errors.ts';
import { isFile } from '../runtime/isFile.ts';
import { programVariables } from '../runtime/programs.ts';
import type { Resource, ResourceOptions } from '../runtime/resource.ts';
import { openSandbox, type SandboxLimits } from '../runtime/sandbox.ts';
import { createForkServer, createForkServers, type ForkServers } from './forkServer.ts';
import type { Converted, Document, OfficeProcess } from './officeProcess.ts';

export interface Office extends AsyncDisposable {
  /**
   * Converts a document to PDF in a LibreOffice process that converts no other document.
   *
   * @throws ServiceError corrupt_source, output_too_large, deadline_exceeded; the signal's reason
   */
  convert(document: Document, limits: { signal: AbortSignal; deadline: number }): Promise<Converted>;
}

/** Number of forked processes that wait for the next documents. */
const SPARES = 2;
/** Number of documents after which a fork server is replaced, which renews its random memory layout and ends leaks. */
const DOCUMENTS = 200;
const LIMITS: SandboxLimits = {
  memoryBytes: 4 * 2 ** 30,
  // More CPU time than one core has within a call's time limit, so only runaway multi-threaded work reaches it.
  cpuSeconds: 120,
  fileBytes: 400_000_000,
  scratchBytes: 1_000_000_000,
  openFiles: 1024,
  processes: 200,
};
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/libreoffice/program', '/snap/bin'];
const PROGRAMS = ['soffice', 'libreoffice'];
const DICTIONARIES = '/org.openoffice.Office.Linguistic/ServiceManager/Dictionaries';
/** The file that fonts.conf includes. */
const SYSTEM_FONTS = '/etc/fonts/fonts.conf';

/** A library that only LibreOffice 24.2 and later have: earlier versions lose content that these show. */
const NEWER = 'libsw_writerfilterlo.so';

/**
 * Finds LibreOffice's program folder: the first one of a version since 24.2, else the first one. `soffice` is usually a symbolic link
 * to a script in that folder.
 */
async function findProgram(given: string | null, programs: string | null): Promise<string> {
  const folders = programs === null ? FOLDERS : [...FOLDERS, join(programs, 'usr/bin')];
  const paths = given === null ? folders.flatMap((it) => PROGRAMS.map((name) => join(it, name))) : [given];
  const found: string[] = [];
  for (const path of paths) {
    if (!(await isFile(path))) continue;
    const folder = dirname(await realpath(path));
    if (await isFile(join(folder, 'soffice.bin'))) found.push(folder);
  }
  const areNewer = await Promise.all(found.map((folder) => isFile(join(folder, NEWER))));
  const folder = found[Math.max(0, areNewer.indexOf(true))];
  if (folder !== undefined) {
    if (await isFile(join(folder, 'libpythonloaderlo.so'))) return folder;
    throw new ServiceError('tool_unavailable', {
      detail: 'LibreOffice is installed on this server without its Python support.',
      cause: new Error(`${folder} contains no Python loader; on Debian install python3-uno`),
    });
  }
  throw new ServiceError('tool_unavailable', {
    detail: 'LibreOffice is not installed on this server.',
    cause: new Error(`LibreOffice was not found at ${paths.join(', ')}; install it or set SOFFICE_PATH`),
  });
}

/**
 * Returns settings for the hyphenation patterns of unpacked packages, because LibreOffice looks for patterns in /usr/share/hyphen
 * only. The names of the files end with a locale, such as `de_DE`.
 */
async function hyphenation(programs: string | null): Promise<string> {
  if (programs === null) return '';
  const folder = join(programs, 'usr/share/hyphen');
  const files = await readdir(folder).catch(() => []);
  const items = files.flatMap((file) => {
    const locale = /^hyph_([a-z]{2,3}(?:_[A-Z]{2})?)\.dic$/.exec(file)?.[1];
    if (locale === undefined) return [];
    const values = {
      Locations: pathToFileURL(join(folder, file)).href,
      Format: 'DICT_HYPH',
      Locales: locale.replace('_', '-'),
    };
    const properties = Object.entries(values).map(
      ([name, value]) => `<prop oor:name="${name}" oor:op="fuse"><value>${value}</value></prop>`,
    );
    return `<item oor:path="${DICTIONARIES}"><node oor:name="HyphDic_${locale}" oor:op="replace">${properties.join('')}</node></item>\n`;
  });
  return items.join('');
}

async function open({ env }: ResourceOptions): Promise<Office> {
  const programs = env.PROGRAMS_DIR;
  const program = await findProgram(env.SOFFICE_PATH, programs);
  const sandbox = await openSandbox(programs);
  const read = (name: string, encoding: BufferEncoding) => readFile(new URL(name, import.meta.url), encoding);
  const script = await read('./start.sh', 'utf8');
  const patterns = await hyphenation(programs);
  const settings = (await read('./settings.xcu', 'utf8')).replace('</oor:items>', `${patterns}</oor:items>`);
  const { PATH: _path, ...variables } = programVariables(programs);
  const fonts = (await read('./fonts.conf', 'utf8')).replaceAll(
    SYSTEM_FONTS,
    variables.FONTCONFIG_FILE ?? SYSTEM_FONTS,
  );
  // The warm-up document: one page in common fonts, with a table.
  const warmUp = await read('./warm.docx', 'base64');
  const component = await read('./forkServer.py', 'utf8');
  const fontMaker = await read('./makeFonts.py', 'utf8');
  const fontList = JSON.stringify(JSON.parse(await read('./fonts.json', 'utf8')));
  const fontFolders = ['', ...(programs === null ? [] : [programs])].map((root) => `${root}/usr/share/fonts`);
  const args = [
    ...[program, settings, fonts, warmUp, component, `${LIMITS.scratchBytes}`],
    ...[fontMaker, fontList, fontFolders.join(':')],
  ];
  // Debian's package keeps its settings in /etc/libreoffice. Other packages keep all files in the parent of program/.
  const folders = [
    ...(program.startsWith('/usr/lib/') ? ['/etc/libreoffice'] : [dirname(program)]),
    ...(programs === null ? [] : [programs]),
  ];
  const options = { script, args, folders, variables, limits: LIMITS, channels: DOCUMENTS };
  return createOffice(createForkServers(() => createForkServer(sandbox.start(options))));
}

/** Creates the converter, which keeps `SPARES` forked processes ready for the next documents. */
function createOffice(servers: ForkServers): Office {
  const spares: OfficeProcess[] = [];
  let closed = false;

  /** Takes the oldest waiting process, which is warm or will be warm first. */
  function take(): OfficeProcess {
    const oldest = spares.shift() ?? servers.fork();
    return oldest.ended ? take() : oldest;
  }
  function refill(): void {
    while (!closed && spares.length < SPARES) spares.push(servers.fork());
  }

  return {
    async convert(document, { signal, deadline }) {
      const timeout = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
      const stop = AbortSignal.any([signal, timeout]);
      const officeProcess = take();
      refill();
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
        await officeProcess.end();
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await servers.end();
    },
  };
}

/** The warm LibreOffice processes of a worker. The first process is started for the first document. */
export const office: Resource<Office> = { name: 'LibreOffice', open };
