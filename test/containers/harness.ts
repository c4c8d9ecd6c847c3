import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder, clientEnv } from '../../dev/host.mjs';
import { findTemporal } from '../../dev/programs/temporal.ts';
import { stopSignal } from '../../dev/stop-signal.ts';
import { pathWithGo } from '../provision/goProgram.ts';
import { shell } from './shell.ts';

// Functions that the container tests share: running commands and steps, and the Docker engine.

export const COMMAND_MS = 120_000;
export const BUILD_MS = 45 * 60_000;
export const root = fileURLToPath(new URL('../..', import.meta.url));
export const here = join(root, 'test/containers');
/** Folder of programs and data that later runs of the tests reuse. */
export const cache = join(cacheFolder(), 'containers');
/** Environment variables of all commands. */
export const env: NodeJS.ProcessEnv = clientEnv();
export const signal = stopSignal(() => console.log('# Stopping …'));
const count = { passed: 0, failed: 0 };

export const run = (
  file: string,
  args: readonly string[],
  cwd: string,
  timeoutMs = COMMAND_MS,
): Promise<string> => shell(file, args, { cwd, env, timeoutMs, signal });
/** Runs a cleanup command, which continues after the test was interrupted. */
export const runCleanup = (file: string, args: readonly string[], cwd: string): Promise<string> =>
  shell(file, args, { cwd, env, timeoutMs: 5 * 60_000 });

/** Runs a step of the test and prints its result in one line. After a failure the test continues. */
export async function step(name: string, work: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  try {
    await work();
    count.passed += 1;
    console.log(`ok - ${name} # ${((performance.now() - start) / 1000).toFixed(1)} s`);
  } catch (error) {
    if (signal.aborted) throw error;
    count.failed += 1;
    console.log(
      `not ok - ${name}\n  ${String(error instanceof Error ? error.stack : error).replaceAll('\n', '\n  ')}`,
    );
  }
}

export const hasFailed = (): boolean => count.failed > 0;

/** Uses the machine's Docker engine, or starts one. @returns a function that stops an engine that was started */
export async function ensureEngine(): Promise<() => Promise<unknown>> {
  try {
    await run('docker', ['info', '--format', '{{.ServerVersion}}'], root);
    return async () => undefined;
  } catch {
    signal.throwIfAborted();
  }
  const folder = join(cache, 'engine');
  const host = await run(join(here, 'engine.sh'), ['up', folder], root, 10 * 60_000);
  env.DOCKER_HOST = host.trim();
  return () => runCleanup(join(here, 'engine.sh'), ['down', folder], root);
}

/** Makes Go available to the scripts that build programs: from PATH, from this user's cache, or downloaded. */
export async function ensureGo(): Promise<void> {
  env.PATH = await pathWithGo(env.PATH, console.log, signal);
}

/** Builds substitutes for images that cannot be pulled; see stand-ins.sh. */
export async function buildStandIns(): Promise<void> {
  // The classic builder, because BuildKit would download its frontend from an image registry.
  env.DOCKER_BUILDKIT = '0';
  await ensureGo();
  env.TEMPORAL = await findTemporal(console.log, signal);
  await run(join(here, 'stand-ins.sh'), [cache], root, BUILD_MS);
}

/** Runs a test, prints how many steps succeeded and failed, and exits. */
export async function runTest(main: () => Promise<void>): Promise<never> {
  try {
    await main();
  } catch (error) {
    count.failed += 1;
    if (!signal.aborted) console.error(error instanceof Error ? error.message : error);
  }
  // A pipe that another process has made non-blocking can be full; exiting then would lose the rest of the output.
  await new Promise((resolve) =>
    process.stdout.write(`${count.passed} passed, ${count.failed} failed\n`, resolve),
  );
  process.exit(signal.aborted ? 130 : count.failed > 0 || count.passed === 0 ? 1 : 0);
}
