import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { isFile } from '../../activities/runtime/isFile.ts';
import { programVariables } from '../../activities/runtime/programs.ts';
import { clientEnv } from '../host.mjs';
import type { Log } from '../start-error.ts';
import { onPath } from './find.ts';
import { run } from './run.ts';
import { isDebian, unpackServerPrograms } from './unpack.mjs';

const ATTEMPT_MS = 20_000;
const TOTAL_MS = 10 * 60_000;

/** A command line, and the environment variables that it needs in addition to those of this process. */
interface Command {
  file: string;
  args: string[];
  variables: Record<string, string>;
}

/**
 * Returns the command that runs pip: a program, or a module of Python. Where pip is missing on Debian, fetches it without
 * installing it.
 */
async function findPip(log: Log, signal: AbortSignal | undefined): Promise<Command> {
  for (const name of ['pip3', 'pip']) {
    const path = await onPath(name);
    if (path !== null) return { file: path, args: [], variables: {} };
  }
  const installed = await onPath('python3');
  if (await isDebian()) {
    const root = await unpackServerPrograms({ log, signal });
    const { PATH: _path, ...programs } = programVariables(root || null);
    const variables = { ...programs, ...(await certificates(root)) };
    return { file: installed ?? join(root, 'usr/bin/python3'), args: ['-m', 'pip'], variables };
  }
  if (installed === null) throw new Error('pip is not installed');
  return { file: installed, args: ['-m', 'pip'], variables: {} };
}

/** The certificates of certificate authorities that Debian's pip expects, in case that its package is not installed. */
async function certificates(root: string): Promise<Record<string, string>> {
  if (process.env.PIP_CERT || (await isFile('/etc/ssl/certs/ca-certificates.crt'))) return {};
  const file = join(root, 'certificates.pem');
  await writeFile(file, rootCertificates.join('\n'));
  return { PIP_CERT: file };
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
  log: Log,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { file, args, variables } = await findPip(log, signal);
  // pip accepts digests only in a file. With digests, it installs only a file that matches one of them.
  const requirements = join(folder, 'requirements.txt');
  const digests = sha256.map((digest) => ` --hash=sha256:${digest}`).join('');
  await writeFile(requirements, `${name}==${version}${digests}\n`);
  // pip downloads files into its temporary folder. That folder is set to `folder`, in which `run` can measure the
  // progress.
  const settings = { TMPDIR: folder, PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  const env = { ...clientEnv(), ...variables, ...settings };
  const options = ['--no-deps', '--no-cache-dir', '--no-compile', '--only-binary', ':all:'];
  await run(file, [...args, 'install', ...options, '--target', folder, '--requirement', requirements], {
    env,
    idleMs: ATTEMPT_MS,
    busyMs: 3 * ATTEMPT_MS,
    totalMs: TOTAL_MS,
    folder,
    signal,
  });
}
