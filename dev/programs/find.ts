import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFile } from '../../activities/runtime/isFile.ts';
import { cacheFolder, machineEnv } from '../host.mjs';
import { takeLock } from '../lock.mjs';
import { type Log, StartError } from '../start-error.ts';
import { run } from './run.ts';

/** One way to get a program. */
export interface Way {
  /** As in "fetching mongod <title>". */
  title: string;
  /** Gets the program into `folder` and resolves with its path, or with that of the folder which it lies `within`. */
  fetch(folder: string, log: Log, signal: AbortSignal | undefined): Promise<string>;
}

export interface Program {
  name: string;
  /** Its name in the cache, where an older build must not be used. Default: `name`. */
  cachedAs?: string;
  /** Where it lies in what is fetched, if that is a folder. */
  within?: string;
  /** How it says its version, and what that has to be like. Default: `--version`, any. */
  version?: { args: string[]; pattern: RegExp };
  ways: readonly Way[];
  /** What to do where none of the ways works; completes "Install …". */
  help: string;
}

const CHECK_MS = 20_000;

/** The first program of that name on PATH, or null. */
export async function onPath(name: string): Promise<string | null> {
  for (const folder of (machineEnv().PATH ?? '').split(delimiter))
    if (folder !== '' && (await isFile(join(folder, name)))) return join(folder, name);
  return null;
}

/** It runs on this machine: a file for another system, or one that lacks a library, does not. */
async function check({ version }: Program, path: string, signal: AbortSignal | undefined): Promise<void> {
  const { args, pattern } = version ?? { args: ['--version'], pattern: /^/ };
  const output = await run(path, args, { env: machineEnv(), idleMs: CHECK_MS, totalMs: CHECK_MS, signal });
  if (!pattern.test(output)) throw new Error(`it is ${output.trim()}`);
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
  const failures: string[] = [];
  for (const way of program.ways) {
    signal?.throwIfAborted();
    // Beside the target, so that the rename stays on one file system.
    const folder = await mkdtemp(`${target}-`);
    try {
      log(`Fetching ${program.name} ${way.title} …`);
      const path = await way.fetch(folder, log, signal);
      const file = join(path, program.within ?? '');
      await chmod(file, 0o755);
      await check(program, file, signal);
      await rm(target, { recursive: true, force: true });
      await rename(path, target);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      const reason = (error instanceof Error ? error.message : String(error)).trim();
      failures.push(`${way.title}: ${reason}`);
      log(`  not ${way.title}: ${reason}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new StartError(`There is no ${program.name} and no way to fetch it. Install ${program.help}`);
}

/**
 * Path of a program: the one on PATH, the one in this user's cache, else fetched into that cache, in whichever way
 * works first. Two starts at the same time fetch it once.
 */
export async function findOrFetch(program: Program, log: Log, signal?: AbortSignal): Promise<string> {
  const installed = await onPath(program.name);
  if (installed !== null && (await works(program, installed, signal))) return installed;
  const folder = cacheFolder();
  const target = join(folder, program.cachedAs ?? program.name);
  const file = join(target, program.within ?? '');
  if (await works(program, file, signal)) return file;
  await mkdir(folder, { recursive: true });
  let lock = await takeLock(`${target}.lock`);
  if (lock === null) log(`Another start is fetching ${program.name}; waiting for it …`);
  while (lock === null) {
    await sleep(500, undefined, { signal });
    lock = await takeLock(`${target}.lock`);
  }
  try {
    if (!(await works(program, file, signal))) await fetch(program, target, log, signal);
    return file;
  } finally {
    await lock.release();
  }
}
