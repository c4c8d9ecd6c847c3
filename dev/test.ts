import { spawn } from 'node:child_process';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startSharedStack } from '../test/helpers/stack.ts';
import { clientEnv } from './host.mjs';
import { installTestPrograms } from './programs/tools.ts';
import { startServers } from './stack.ts';
import { StartError } from './start-error.ts';
import { stopSignal } from './stop-signal.ts';
import { type Suite, suites } from './suites.ts';
import { createTapCounter } from './tap.ts';
import { tethered } from './tether.ts';

/**
 * Whether to run the slow test suites instead of the fast ones (`--slow`). Types and lint are checked only with the
 * fast ones.
 */
const SLOW = process.argv.includes('--slow');
const AVA_ARGS = process.argv.slice(2).filter((arg) => arg !== '--slow');

const count = { passed: 0, failed: 0 };
/** Output of the failed tests, which is printed again at the end of the run. */
const failures: string[] = [];

/** A file system in memory that most Linux systems have. */
const MEMORY_FOLDER = '/dev/shm';
/** Free bytes from which on the data of the tests fits into memory. Containers often have 64 MB there. */
const MEMORY_BYTES = 6 * 1024 ** 3;

/**
 * Returns the folder for the data of the servers: in memory if it fits there, because the tests create hundreds of
 * databases, whose files MongoDB would flush to the disk one by one.
 */
async function parentFolder(): Promise<string> {
  const free = await statfs(MEMORY_FOLDER).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return free >= MEMORY_BYTES ? MEMORY_FOLDER : tmpdir();
}

interface CommandOptions {
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
  onLine?(line: string): void;
}

/** Runs a command and waits until it exits. Resolves with whether it succeeded. */
function command(file: string, args: string[], { env, signal, onLine }: CommandOptions): Promise<boolean> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const wrapped = tethered(file, args);
    const channel = wrapped.ipc ? (['ipc'] as const) : [];
    const stdio = ['ignore', onLine ? 'pipe' : 'inherit', 'inherit', ...channel] as const;
    const child = spawn(wrapped.file, wrapped.args, { env, stdio: [...stdio], detached: true });
    const onAbort = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
    signal.addEventListener('abort', onAbort, { once: true });
    if (child.stdout && onLine) createInterface({ input: child.stdout }).on('line', onLine);
    child.once('error', reject);
    child.once('close', (code) => {
      signal.removeEventListener('abort', onAbort);
      resolve(code === 0);
    });
  });
}

async function check(name: string, args: string[], options: CommandOptions): Promise<void> {
  const passed = await command(process.execPath, args, options);
  console.log(`${passed ? 'ok' : 'not ok'} - ${name}`);
  count[passed ? 'passed' : 'failed'] += 1;
}

interface Run {
  /** Command-line arguments for AVA. */
  args: string[];
  /** Test files that AVA runs. */
  files: string[];
  /** Environment variables for the tests, in addition to those of all runs. */
  env: Readonly<Record<string, string>>;
}

/** Returns the runs of AVA: one with the arguments of the command line if there are any, else one for each suite. */
function runs(): Run[] {
  if (AVA_ARGS.length > 0)
    return [{ args: AVA_ARGS, files: AVA_ARGS.filter((arg) => !arg.startsWith('-')), env: {} }];
  const run = ({ files, concurrency, env }: Suite): Run => ({
    args: [`--concurrency=${concurrency}`, ...files],
    files,
    env,
  });
  return suites(SLOW).map(run);
}

async function main(signal: AbortSignal): Promise<void> {
  const log = (line: string) => console.log(`# ${line}`);
  const env = clientEnv();
  if (!SLOW) {
    await check('types (tsc)', ['node_modules/.bin/tsc'], { env, signal });
    const colors = process.stdout.isTTY ? [] : ['--colors=off'];
    await check('lint and format (biome)', ['node_modules/.bin/biome', 'ci', ...colors], { env, signal });
  }

  await installTestPrograms(log, signal);
  await using owned = new AsyncDisposableStack();
  const folder = owned.adopt(await mkdtemp(join(await parentFolder(), 'utility-tools-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  const servers = owned.adopt(await startServers({ dataDir: folder, log, signal }), (it) => it.stop());
  // Files that are named on the command line start the stacks that they need.
  const stack =
    SLOW || AVA_ARGS.length > 0 ? null : owned.adopt(await startSharedStack(servers), (it) => it.stop());
  const testEnv = {
    ...env,
    // Files that tests leave behind are removed together with this folder.
    TMPDIR: folder,
    TEST_MONGODB_URI: servers.mongodbUri,
    TEST_TEMPORAL_ADDRESS: servers.temporalAddress,
    ...(stack !== null && { TEST_STACK: JSON.stringify(stack) }),
  };
  for (const { args, files, env: sizes } of runs()) {
    const counter = createTapCounter(files);
    const onLine = (line: string) => {
      const progress = counter.readLine(line);
      if (progress !== null) console.log(progress);
      console.log(line);
    };
    const ava = ['--import', './dev/tapErrors.mjs', 'node_modules/.bin/ava', '--tap', ...args];
    const passed = await command(process.execPath, ava, { env: { ...testEnv, ...sizes }, signal, onLine });
    count.passed += counter.passed;
    failures.push(...counter.failures);
    // AVA can fail although no test fails, for example when a test file does not load.
    count.failed += passed ? counter.failed : Math.max(1, counter.failed);
  }
}

const signal = stopSignal(() => console.log('# Stopping …'));
try {
  await main(signal);
} catch (error) {
  count.failed += 1;
  if (!signal.aborted) console.error(error instanceof StartError ? error.message : error);
}
if (failures.length > 0) console.log(['# The failed tests again:', ...failures].join('\n'));
// A pipe that another process has made non-blocking can be full; exiting then would lose the rest of the output.
await new Promise((resolve) =>
  process.stdout.write(`${count.passed} passed, ${count.failed} failed\n`, resolve),
);
process.exit(signal.aborted ? 130 : count.failed > 0 || count.passed === 0 ? 1 : 0);
