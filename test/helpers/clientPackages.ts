import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { packClients } from '../../dev/clients/pack.ts';
import { clientEnv } from '../../dev/host.mjs';
import { type RunOptions, run } from '../../dev/programs/run.ts';
import type { Log } from '../../dev/start-error.ts';
import { clientPython } from '../provision/items/clientPython.ts';
import type { SharedStack } from './stack.ts';

const LIMITS = { idleMs: 180_000, totalMs: 600_000 };

/** Runs a program until it exits. @throws if the program fails, with the last line of its output */
const runToEnd = (file: string, args: string[], options: Partial<RunOptions> = {}): Promise<string> =>
  run(file, args, { env: clientEnv(), ...LIMITS, ...options });

/** Path of a Python with the packages that the tests of the Python client need. */
export const findTestPython = async (log: Log): Promise<string> =>
  join(await clientPython.get(log), 'bin/python');

/** The addresses of packed clients. */
export interface PackedClients {
  tgz: string;
  whl: string;
  go: string;
  action: string;
  n8n: string;
}

/** Packs the clients into the folder from which the stack serves them. */
export async function servePackedClients(
  { baseUrl, dataDir }: Pick<SharedStack, 'baseUrl' | 'dataDir'>,
  log: Log,
): Promise<PackedClients> {
  const folder = join(dataDir, 'clients');
  await packClients(folder, { python: await findTestPython(log), isIsolated: false });
  const names = await readdir(folder);
  const urlOf = (form: RegExp): string => {
    const [name, ...more] = names.filter((it) => form.test(it));
    if (name === undefined || more.length > 0) throw new Error(`${folder}: ${names.join(', ')}`);
    return `${baseUrl}/clients/${name}`;
  };
  return {
    tgz: urlOf(/^utility-tools-client-\d.*\.tgz$/),
    whl: urlOf(/\.whl$/),
    go: urlOf(/-go-.*\.tgz$/),
    action: urlOf(/-site-check-.*\.tgz$/),
    n8n: urlOf(/^n8n-.*\.tgz$/),
  };
}

/** Installs the packed TypeScript client in an empty folder. The registry cannot be reached. @returns the folder */
export async function installTypescriptClient(folder: string, { tgz }: PackedClients): Promise<string> {
  const empty = join(folder, 'typescript');
  await mkdir(empty);
  await runToEnd('npm', ['init', '--yes'], { cwd: empty });
  await runToEnd('npm', ['install', '--no-audit', '--no-fund', tgz], { cwd: empty });
  return empty;
}

/**
 * Installs the wheel of the Python client in an empty virtual environment, with its dependencies from a folder instead of the
 * index.
 *
 * @returns its Python
 */
export async function installPythonClient(folder: string, { whl }: PackedClients, log: Log): Promise<string> {
  const wheels = join(await clientPython.get(log), 'wheels');
  const venv = join(folder, 'venv');
  await runToEnd('python3', ['-m', 'venv', venv]);
  const python = join(venv, 'bin/python');
  await runToEnd(python, ['-m', 'pip', 'install', '--no-index', '--find-links', wheels, whl]);
  return python;
}
