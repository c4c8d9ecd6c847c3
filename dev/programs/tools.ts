import { readFile } from 'node:fs/promises';
import { type Log, StartError } from '../start-error.ts';
import { aptCommand, ensurePrograms, namesOf } from './debian.ts';
import { findMissing, TOOL_PROGRAMS, unpackTools } from './unpack.mjs';

/**
 * Returns the folder of unpacked Debian packages with the programs that the tools need and the system lacks; null when the
 * system lacks nothing. Where the packages cannot be fetched, logs a warning and returns null; the tools that need the
 * missing programs are then unavailable. Returns null when the signal aborts.
 */
export async function findToolPrograms(log: Log, signal?: AbortSignal): Promise<string | null> {
  try {
    return (await unpackTools({ log, signal })) || null;
  } catch (error) {
    if (signal?.aborted) return null;
    const missing = await findMissing(TOOL_PROGRAMS);
    const reason = error instanceof Error ? error.message.trim().split('\n').at(-1) : error;
    log(
      `Warning: Some tools need programs that are missing: ${namesOf(missing)} (${reason}). Install them (on Debian, as root: ${aptCommand(missing)}). Until then these tools are unavailable.`,
    );
    return null;
  }
}

/**
 * Installs the programs that tests and benchmarks need and that are missing.
 *
 * @throws StartError when that is impossible
 */
export async function installTestPrograms(log: Log, signal?: AbortSignal): Promise<void> {
  const list: unknown = JSON.parse(await readFile('test/programs.json', 'utf8'));
  if (!Array.isArray(list)) throw new StartError('test/programs.json is not a list');
  await ensurePrograms([...TOOL_PROGRAMS, ...list], log, signal);
}
