import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientEnv } from '../host.mjs';
import { type Log, StartError } from '../start-error.ts';
import { onPath } from './find.ts';
import { run } from './run.ts';

/** A program, and the Debian package that brings it. */
export interface DebianProgram {
  /** Its name on PATH; or, of a package without one, the path of a file in it. */
  program: string;
  package: string;
}

const LIMITS = { idleMs: 60_000, busyMs: 5 * 60_000, totalMs: 15 * 60_000 };
const ATTEMPTS = 3;
const RETRY_MS = 5_000;

async function apt(args: string[], signal: AbortSignal | undefined): Promise<void> {
  const env = { ...clientEnv(), DEBIAN_FRONTEND: 'noninteractive' };
  for (let attempt = 1; ; attempt++) {
    try {
      // Another apt may hold the lock for a while.
      await run('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], { ...LIMITS, env, signal });
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || signal?.aborted) throw error;
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}

async function missingOf(programs: readonly DebianProgram[]): Promise<DebianProgram[]> {
  const found = await Promise.all(
    programs.map(async ({ program }) =>
      program.startsWith('/') ? existsSync(program) : (await onPath(program)) !== null,
    ),
  );
  return programs.filter((_, index) => !found[index]);
}

/**
 * Installs, as root on Debian, the programs that are missing.
 *
 * @throws StartError that names them where that cannot be done
 */
export async function ensurePrograms(
  programs: readonly DebianProgram[],
  log: Log,
  signal?: AbortSignal,
  whoNeeds = 'The tests need',
) {
  const missing = await missingOf(programs);
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((item) => item.package))];
  const names = missing.map(({ program }) => program).join(', ');
  const command = `apt-get install --no-install-recommends ${packages.join(' ')}`;
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0)
    throw new StartError(`${whoNeeds} ${names}. Install them (Debian, as root: ${command})`);
  log(`Installing ${packages.join(', ')}, once …`);
  try {
    await apt(['update', '-q'], signal);
    await apt(['install', '-q', '-y', '--no-install-recommends', ...packages], signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw new StartError(`${command} failed: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
  const still = await missingOf(missing);
  if (still.length > 0)
    throw new StartError(
      `After ${command} there is still no ${still.map(({ program }) => program).join(', ')}`,
    );
}
