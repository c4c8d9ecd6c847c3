import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../../dev/host.mjs';
import { type RunOptions, run } from '../../dev/programs/run.ts';
import type { Log } from '../../dev/start-error.ts';
import { clientPython } from '../provision/items/clientPython.ts';

const LIMITS = { idleMs: 180_000, totalMs: 600_000 };
const project = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a program until it exits. @throws if the program fails, with the last line of its output */
const runToEnd = (file: string, args: string[], options: Partial<RunOptions> = {}): Promise<string> =>
  run(file, args, { env: clientEnv(), ...LIMITS, ...options });

/** Path of a Python with the packages that the tests of the Python client need. */
export const findTestPython = async (log: Log): Promise<string> =>
  join(await clientPython.get(log), 'bin/python');

async function onlyFile(folder: string, end: string): Promise<string> {
  const found = (await readdir(folder)).filter((name) => name.endsWith(end));
  const [name] = found;
  if (name === undefined || found.length > 1)
    throw new Error(`${folder}: ${found.length} files end with ${end}`);
  return join(folder, name);
}

/** Packs the TypeScript client and installs the packed file in an empty folder. @returns the folder */
export async function installTypescriptClient(folder: string): Promise<string> {
  const source = join(project, 'clients/typescript');
  const empty = join(folder, 'typescript');
  await mkdir(empty);
  await runToEnd('npm', ['pack', '--pack-destination', folder], { cwd: source });
  await runToEnd('npm', ['init', '--yes'], { cwd: empty });
  const options = ['--offline', '--no-audit', '--no-fund'];
  await runToEnd('npm', ['install', ...options, await onlyFile(folder, '.tgz')], { cwd: empty });
  return empty;
}

/**
 * Builds the wheel of the Python client and installs it in an empty virtual environment, without the network.
 *
 * @returns its Python
 */
export async function installPythonClient(folder: string, log: Log): Promise<string> {
  const wheels = join(await clientPython.get(log), 'wheels');
  const source = join(project, 'clients/python');
  const [dist, venv] = [join(folder, 'dist'), join(folder, 'venv')];
  await runToEnd(await findTestPython(log), ['-m', 'build', '--no-isolation', '--outdir', dist, source]);
  await runToEnd('python3', ['-m', 'venv', venv]);
  const python = join(venv, 'bin/python');
  await runToEnd(python, [
    '-m',
    'pip',
    'install',
    '--no-index',
    '--find-links',
    wheels,
    await onlyFile(dist, '.whl'),
  ]);
  return python;
}
