import { readFile } from 'node:fs/promises';
import type { Env } from '../../schemas/env.ts';
import { type Log, StartError } from '../start-error.ts';
import { type DebianProgram, ensurePrograms } from './debian.ts';

interface ToolProgram extends DebianProgram {
  /**
   * Environment variable with which the operator provides another program. If it is set, this program is not installed.
   */
  unless?: keyof Env;
}

const font = (path: string, name: string): ToolProgram => ({
  program: `/usr/share/fonts/${path}`,
  package: name,
});

/** Programs that the tools run, and fonts that they use. */
export const TOOL_PROGRAMS: readonly ToolProgram[] = [
  { program: 'bwrap', package: 'bubblewrap' },
  { program: 'soffice', package: 'libreoffice-writer-nogui', unless: 'SOFFICE_PATH' },
  // Python support in LibreOffice, which has no program on PATH.
  {
    program: '/usr/lib/libreoffice/program/libpythonloaderlo.so',
    package: 'python3-uno',
    unless: 'SOFFICE_PATH',
  },
  { program: 'chromium-headless-shell', package: 'chromium-headless-shell', unless: 'CHROMIUM_PATH' },
  // `ip` brings up the loopback interface in Chromium's network namespace.
  { program: 'ip', package: 'iproute2' },
  {
    program: '/usr/share/chromium/extensions/ublock-origin/assets/thirdparties/easylist/easylist.txt',
    package: 'webext-ublock-origin-chromium',
    unless: 'FILTER_LISTS',
  },
  { program: 'fc-cache', package: 'fontconfig' },
  font('truetype/crosextra/Carlito-Regular.ttf', 'fonts-crosextra-carlito'),
  font('truetype/crosextra/Caladea-Regular.ttf', 'fonts-crosextra-caladea'),
  font('truetype/liberation/LiberationSans-Regular.ttf', 'fonts-liberation'),
  font('truetype/dejavu/DejaVuSans.ttf', 'fonts-dejavu-core'),
  font('truetype/noto/NotoSans-Regular.ttf', 'fonts-noto-core'),
  font('opentype/noto/NotoSansCJK-Regular.ttc', 'fonts-noto-cjk'),
  font('truetype/noto/NotoColorEmoji.ttf', 'fonts-noto-color-emoji'),
  font('truetype/ancient-scripts/Symbola_hint.ttf', 'fonts-symbola'),
];

/**
 * Installs the programs that the tools need and that are missing. Where that is impossible, logs a warning; the tools
 * that need the missing programs are then unavailable.
 */
export async function installToolPrograms(env: Env, log: Log, signal?: AbortSignal): Promise<void> {
  const wanted = TOOL_PROGRAMS.filter(({ unless }) => unless === undefined || env[unless] === null);
  try {
    await ensurePrograms(wanted, log, signal, 'Some tools');
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof StartError)) throw error;
    log(`Warning: ${error.message} Until then these tools are unavailable.`);
  }
}

/**
 * Installs the programs that tests and benchmarks need and that are missing.
 *
 * @throws StartError when that is impossible
 */
export async function installTestPrograms(log: Log, signal?: AbortSignal): Promise<void> {
  const list: unknown = JSON.parse(await readFile('test/programs.json', 'utf8'));
  if (!Array.isArray(list)) throw new StartError('test/programs.json is not a list');
  await ensurePrograms([...TOOL_PROGRAMS, ...list], log, signal);
}
