import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientEnv } from '../host.mjs';
import { type Log, StartError } from '../start-error.ts';
import { run } from './run.ts';
import { backportsConfig, type DebianProgram, findMissing, isDebian } from './unpack.mjs';

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

/** Returns the command with which an administrator of a Debian system installs the programs. */
export const aptCommand = (programs: readonly DebianProgram[]): string => {
  const packages = [...new Set(programs.map((item) => item.package))];
  return `apt-get install --no-install-recommends ${packages.join(' ')}`;
};

export const namesOf = (programs: readonly DebianProgram[]): string =>
  programs.map(({ program }) => program).join(', ');

async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'apt-'));
  // apt reads its sources as another user.
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/**
 * Installs those of the given programs that are missing, which requires Debian and root.
 *
 * @throws StartError that names the missing programs, when they cannot be installed
 */
export async function ensurePrograms(programs: readonly DebianProgram[], log: Log, signal?: AbortSignal) {
  const missing = await findMissing(programs);
  if (missing.length === 0) return;
  const command = aptCommand(missing);
  if (!(await isDebian()) || process.getuid?.() !== 0)
    throw new StartError(
      `The tests need programs that are missing: ${namesOf(missing)}. Install them (on Debian, as root: ${command}).`,
    );
  const packages = [...new Set(missing.map((item) => item.package))];
  log(`Installing the Debian packages ${packages.join(', ')}. This happens once …`);
  try {
    await using folder = await temporaryFolder();
    const config = join(folder.path, 'apt.conf');
    await writeFile(config, await backportsConfig(folder.path, missing));
    await apt(['-c', config, 'update', '-q'], signal);
    await apt(['-c', config, 'install', '-q', '-y', '--no-install-recommends', ...packages], signal);
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
      `${command} succeeded, but these programs are still missing: ${namesOf(stillMissing)}. Install them.`,
    );
}
