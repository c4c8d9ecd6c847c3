import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
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

/** Version of the clients that have no manifest. */
const VERSION = '0.1.0';

/** Clients whose folders are copied into a project as they are, by the names of their archives. */
const COPIED = { 'utility-tools-client-go': 'go', 'utility-tools-site-check': 'github-action' } as const;

/**
 * Packs the clients into a folder: `utility-tools-client-<version>.tgz` and `n8n-nodes-utility-tools-<version>.tgz` for npm,
 * `utility_tools_client-<version>-py3-none-any.whl` for pip, and the folders of `COPIED` as archives.
 *
 * @throws if a program fails, with its last line of output
 */
export async function packClients(folder: string, { python, isIsolated }: PythonBuild): Promise<void> {
  await mkdir(folder, { recursive: true });
  const options = { env: clientEnv(), ...LIMITS };
  for (const client of ['typescript', 'n8n'])
    await run('npm', ['pack', '--pack-destination', folder], { ...options, cwd: source(client) });
  for (const [name, client] of Object.entries(COPIED)) {
    const archive = join(folder, `${name}-${VERSION}.tgz`);
    await run('tar', ['--create', '--gzip', '--file', archive, '--directory', source(client), '.'], options);
  }
  const wheel = ['-m', 'pip', 'wheel', '--no-deps', '--wheel-dir', folder];
  await run(python, [...wheel, ...(isIsolated ? [] : ['--no-build-isolation']), source('python')], options);
}
