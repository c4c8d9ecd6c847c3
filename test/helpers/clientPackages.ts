import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../../dev/host.mjs';
import { findOrFetch } from '../../dev/programs/find.ts';
import { type RunOptions, run } from '../../dev/programs/run.ts';

type Log = (line: string) => void;

/** Time for a package client to fetch packages. */
export const FETCH = { idleMs: 180_000, totalMs: 600_000 };
const project = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a program until it exits, with the environment variables that npm and pip need.
 *
 * @throws if the program fails, with the last line of its output
 */
export const fetching = (file: string, args: string[], options: Partial<RunOptions> = {}): Promise<string> =>
  run(file, args, { env: clientEnv(), ...FETCH, ...options });

/** Packages of the Python tests: the client's dependency, the build front end, the type checker. */
const PYTHON_PACKAGES = ['httpx==0.28.1', 'build==1.3.0', 'mypy==1.18.2'];

/** Path of a Python with the packages of the tests, in a virtual environment in this user's cache. */
export const findTestPython = (log: Log): Promise<string> =>
  findOrFetch(
    {
      name: 'python-of-client-tests',
      within: 'bin/python',
      sources: [
        {
          title: 'from PyPI',
          async fetch(folder, _log, signal) {
            const target = join(folder, 'venv');
            await fetching('python3', ['-m', 'venv', target], { signal });
            const python = join(target, 'bin/python');
            await fetching(python, ['-m', 'pip', 'install', ...PYTHON_PACKAGES], { signal });
            return target;
          },
        },
      ],
      help: 'Python 3 with venv (Debian: apt-get install python3-venv).',
    },
    log,
  );

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
  await fetching('npm', ['pack', '--pack-destination', folder], { cwd: source });
  await fetching('npm', ['init', '--yes'], { cwd: empty });
  await fetching('npm', ['install', '--no-audit', '--no-fund', await onlyFile(folder, '.tgz')], {
    cwd: empty,
  });
  return empty;
}

/** Builds the wheel of the Python client and installs it in an empty virtual environment. @returns its Python */
export async function installPythonClient(folder: string, testPython: string): Promise<string> {
  const source = join(project, 'clients/python');
  const [dist, venv] = [join(folder, 'dist'), join(folder, 'venv')];
  await fetching(testPython, ['-m', 'build', '--outdir', dist, source]);
  await fetching('python3', ['-m', 'venv', venv]);
  const python = join(venv, 'bin/python');
  await fetching(python, ['-m', 'pip', 'install', await onlyFile(dist, '.whl')]);
  return python;
}
