import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientEnv } from '../host.mjs';
import { type Log, StartError } from '../start-error.ts';
import { onPath } from './find.ts';
import { run } from './run.ts';

/** A program, and the Debian package that contains the program. */
export interface DebianProgram {
  /** Name of the program on PATH or, for a package without a program, the absolute path of a file in the package. */
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
      // apt-get waits up to 120 s for the dpkg lock, which another apt process may hold.
      await run('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], { ...LIMITS, env, signal });
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || signal?.aborted) throw error;
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}

async function findMissing(programs: readonly DebianProgram[]): Promise<DebianProgram[]> {
  const found = await Promise.all(
    programs.map(async ({ program }) =>
      program.startsWith('/') ? existsSync(program) : (await onPath(program)) !== null,
    ),
  );
  return programs.filter((_, index) => !found[index]);
}

/**
 * Installs those of the given programs that are missing, which requires Debian and root.
 *
 * @param dependents what needs the programs: a plural noun that begins the error message, such as 'The tests'
 * @throws StartError that names the missing programs, when they cannot be installed
 */
export async function ensurePrograms(
  programs: readonly DebianProgram[],
  log: Log,
  signal?: AbortSignal,
  dependents = 'The tests',
) {
  const missing = await findMissing(programs);
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((item) => item.package))];
  const names = missing.map(({ program }) => program).join(', ');
  const command = `apt-get install --no-install-recommends ${packages.join(' ')}`;
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0)
    throw new StartError(
      `${dependents} need programs that are missing: ${names}. Install them (on Debian, as root: ${command}).`,
    );
  log(`Installing the Debian packages ${packages.join(', ')}. This happens once …`);
  try {
    await apt(['update', '-q'], signal);
    await apt(['install', '-q', '-y', '--no-install-recommends', ...packages], signal);
  } catch (error) {
    signal?.throwIfAborted();
    const reason = error instanceof Error ? error.message : error;
    throw new StartError(`${command} failed: ${reason}. Run it yourself to see all of its output.`, {
      cause: error,
    });
  }
  const stillMissing = await findMissing(missing);
  if (stillMissing.length > 0)
    throw new StartError(
      `${command} succeeded, but these programs are still missing: ${stillMissing.map(({ program }) => program).join(', ')}. Install them.`,
    );
}
