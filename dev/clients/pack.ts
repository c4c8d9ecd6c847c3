import { cp, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../host.mjs';
import { type RunOptions, run } from '../programs/run.ts';

const LIMITS = { idleMs: 180_000, totalMs: 600_000 };

const project = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const source = (client: string): string => project(`clients/${client}`);

/** How the clients are packed. */
interface Packing {
  python: string;
  /** Whether pip fetches the build backend. Without it, `python` needs the package hatchling. */
  isIsolated: boolean;
  /** Ends the programs when it is aborted. */
  signal?: AbortSignal | undefined;
}

/** Version of the clients that have no manifest. */
const VERSION = '0.1.0';

/** Clients whose folders are copied into a project as they are, by the names of their archives. */
const COPIED = { 'utility-tools-client-go': 'go', 'utility-tools-site-check': 'github-action' } as const;

/** Clients for npm: options of the compiler, and folders that accompany the compiled code. */
const NPM = {
  typescript: { options: [], folders: [] },
  n8n: { options: ['--noCheck'], folders: ['icons'] },
} as const satisfies Record<string, { options: readonly string[]; folders: readonly string[] }>;

const PACKED = /\.(?:tgz|whl)$/;

/** Files that are made from those of a client. */
const isMade = (path: string): boolean => /(?:^|\/)(?:dist|node_modules|__pycache__)(?:\/|$)/.test(path);

/**
 * Packs the clients into a folder: `utility-tools-client-<version>.tgz` and `n8n-nodes-utility-tools-<version>.tgz` for npm,
 * `utility_tools_client-<version>-py3-none-any.whl` for pip, and the folders of `COPIED` as archives. They are made in a
 * folder of their own, so that several stacks of one clone can do so at once, and appear when they are complete.
 *
 * @throws if a program fails, with its last line of output. The wheel, which can need the network, comes last
 */
export async function packClients(folder: string, { python, isIsolated, signal }: Packing): Promise<void> {
  await mkdir(folder, { recursive: true });
  const made = await mkdtemp(join(folder, '.packing-'));
  // Without hurry: the service that has just started comes first.
  const runSlowly = (program: string, args: string[], options: Partial<RunOptions> = {}) =>
    run('nice', ['-n', '19', program, ...args], { env: clientEnv(), ...LIMITS, signal, ...options });
  const publish = async () => {
    for (const name of await readdir(made))
      if (PACKED.test(name)) await rename(join(made, name), join(folder, name));
  };
  try {
    for (const [client, { options, folders }] of Object.entries(NPM)) {
      const copy = join(made, client);
      await cp(source(client), copy, {
        recursive: true,
        filter: (path) => !isMade(path.slice(source(client).length)),
      });
      const tsc = [project('node_modules/typescript/bin/tsc'), '--project', source(client)];
      await runSlowly(process.execPath, [...tsc, '--outDir', join(copy, 'dist'), ...options]);
      for (const it of folders) await cp(join(copy, it), join(copy, 'dist', it), { recursive: true });
      // The compiler has run already.
      await runSlowly('npm', ['pack', '--ignore-scripts', '--pack-destination', made], { cwd: copy });
    }
    for (const [name, client] of Object.entries(COPIED)) {
      const archive = join(made, `${name}-${VERSION}.tgz`);
      await runSlowly('tar', ['--create', '--gzip', '--file', archive, '--directory', source(client), '.']);
    }
    await publish();
    const wheel = ['-m', 'pip', 'wheel', '--no-deps', '--wheel-dir', made];
    await runSlowly(python, [...wheel, ...(isIsolated ? [] : ['--no-build-isolation']), source('python')]);
    await publish();
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** The time of the last change of the clients' files. */
async function changedAt(): Promise<number> {
  const entries = await readdir(project('clients'), { recursive: true, withFileTypes: true });
  const files = entries.filter((it) => it.isFile() && !isMade(it.parentPath));
  const times = files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).mtimeMs);
  return Math.max(...(await Promise.all(times)));
}

/** Whether a folder has all clients, packed after the last change of their files. */
export async function arePacked(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  const packed = names.filter((name) => PACKED.test(name));
  const times = await Promise.all(packed.map(async (name) => (await stat(join(folder, name))).mtimeMs));
  const changed = await changedAt();
  const clients = Object.keys(NPM).length + Object.keys(COPIED).length + 1;
  return times.filter((time) => time > changed).length >= clients;
}
