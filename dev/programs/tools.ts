import type { Env } from '../../schemas/env.ts';
import { type Log, StartError } from '../start-error.ts';
import { type DebianProgram, ensurePrograms } from './debian.ts';

interface ToolProgram extends DebianProgram {
  /** Where it is set, the operator has brought the program. */
  unless?: keyof Env;
}

const font = (path: string, name: string): ToolProgram => ({
  program: `/usr/share/fonts/${path}`,
  package: name,
});

/** What tools run, and the fonts that they draw with. */
export const TOOL_PROGRAMS: readonly ToolProgram[] = [
  { program: 'bwrap', package: 'bubblewrap' },
  { program: 'soffice', package: 'libreoffice-writer-nogui', unless: 'SOFFICE_PATH' },
  { program: 'chromium-headless-shell', package: 'chromium-headless-shell', unless: 'CHROMIUM_PATH' },
  // Brings up the loopback of Chromium's own network.
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

/** Installs what is missing where that can be done; elsewhere says so, and the tools that need it are unavailable. */
export async function installToolPrograms(env: Env, log: Log, signal?: AbortSignal): Promise<void> {
  const wanted = TOOL_PROGRAMS.filter(({ unless }) => unless === undefined || env[unless] === null);
  try {
    await ensurePrograms(wanted, log, signal, 'Some tools need');
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof StartError)) throw error;
    log(`!! ${error.message} !!`);
  }
}
