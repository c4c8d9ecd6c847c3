import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ExecutionContext } from 'ava';
import { startDatabase, startNamespace } from './stack.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = [
  'activities',
  'api',
  'clients',
  'deploy',
  'dev',
  'docker',
  'docs',
  'egress',
  'platform',
  'schemas',
  'store',
  'test',
  'workers',
  'workflows',
  '.dockerignore',
  '.env.example',
  'Dockerfile',
  'README.md',
  'ava.config.js',
  'docker-compose.yml',
  'package-lock.json',
  'package.json',
  'tsconfig.json',
];

type StackModule = typeof import('../../dev/stack.ts');
const isStackModule = (module: object): module is StackModule =>
  'startService' in module && 'defaultPools' in module;

/** Copies the source tree to a temporary folder and adds these files. No existing file is changed. */
export async function copyProject(
  t: ExecutionContext,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-copy-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const name of SOURCES)
    await cp(join(root, name), join(folder, name), { recursive: true, verbatimSymlinks: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text, { flag: 'wx' });
  }
  return folder;
}

/**
 * Runs a program of Node.js in the copy. Resolves with its output.
 *
 * @param args the script and its arguments
 * @throws Error with the output when it fails
 */
export async function runIn(folder: string, args: string[]): Promise<string> {
  const options = {
    cwd: folder,
    // A minimal environment, so that the test runner in the copy does not notice the test runner around it.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR },
    timeout: 300_000,
  };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error }));
    });
  });
}

/** Starts the service of the copy with a database and a Temporal namespace of its own. @param owned stops them */
export async function startCopy(
  t: ExecutionContext,
  owned: AsyncDisposableStack,
  folder: string,
  pools: string[],
) {
  const { mongodbUri } = owned.adopt(await startDatabase(), (it) => it.stop());
  const { temporalAddress, namespace } = owned.adopt(await startNamespace(), (it) => it.stop());
  const module: object = await import(pathToFileURL(join(folder, 'dev/stack.ts')).href);
  if (!isStackModule(module)) throw new Error('dev/stack.ts has changed');
  const dataDir = join(folder, '.data');
  const { baseUrl } = owned.adopt(
    await module.startService({
      env: {
        NODE_ENV: 'test',
        PORT: '0',
        INTERNAL_PORT: '0',
        RATE_LIMIT: 'off',
        LOG_LEVEL: 'info',
        EGRESS_ALLOW: '127.0.0.0/8',
        DATA_DIR: dataDir,
        MONGODB_URI: mongodbUri,
        TEMPORAL_ADDRESS: temporalAddress,
        TEMPORAL_NAMESPACE: namespace,
      },
      pools,
      logDir: join(dataDir, 'logs'),
      log: (line) => t.log(line),
    }),
    (it) => it.stop(),
  );
  return { baseUrl, mongodbUri, dataDir };
}
