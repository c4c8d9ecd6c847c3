import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../host.mjs';
import { run } from '../programs/run.ts';

const LIMITS = { idleMs: 180_000, totalMs: 600_000 };

const source = (client: string): string => fileURLToPath(new URL(`../../clients/${client}`, import.meta.url));

/** How the wheel is built. */
interface PythonBuild {
  python: string;
  /** Whether pip fetches the build backend. Without it, `python` needs the package hatchling. */
  isIsolated: boolean;
}

/**
 * Packs the clients into a folder: `utility-tools-client-<version>.tgz` for npm and
 * `utility_tools_client-<version>-py3-none-any.whl` for pip.
 *
 * @throws if npm or pip fails, with its last line of output
 */
export async function packClients(folder: string, { python, isIsolated }: PythonBuild): Promise<void> {
  await mkdir(folder, { recursive: true });
  const options = { env: clientEnv(), ...LIMITS };
  await run('npm', ['pack', '--pack-destination', folder], {
    ...options,
    cwd: source('typescript'),
  });
  const wheel = ['-m', 'pip', 'wheel', '--no-deps', '--wheel-dir', folder];
  await run(python, [...wheel, ...(isIsolated ? [] : ['--no-build-isolation']), source('python')], options);
}
