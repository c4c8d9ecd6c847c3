import { randomInt } from 'node:crypto';
import { globSync } from 'node:fs';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProfile } from '../test/helpers/profiles.ts';
import { OFFLINE_ENV } from '../test/provision/offline.ts';
import { provisionFor } from '../test/provision/provision.ts';
import { clientEnv } from './host.mjs';
import { installTestPrograms } from './programs/tools.ts';
import { startServers } from './stack.ts';
import { StartError } from './start-error.ts';
import { stopSignal } from './stop-signal.ts';
import { runAva } from './testing/avaRun.ts';
import { command } from './testing/command.ts';
import { type Flaky, failureLines, flakyLines, MOST_FLAKY, slowestLines } from './testing/report.ts';
import { changedSince, currentCommit, isClean, select, touchedBy } from './testing/selection.ts';
import { serveStacks } from './testing/stacks.ts';
import type { FileResult } from './testing/tap.ts';
import { filesOf, type Suite, sampledFiles, suitesOf } from './testing/tiers.ts';
import { passedCommit, readTimings, recordPassedRun, recordTimings } from './testing/timings.ts';
import { addRun, readWholeRun, recordWholeRun, type WholeRun } from './testing/wholeRun.ts';

/*
 * Runs the tests:
 *   (no argument)  types, lint and the quick tier
 *   --slow         the slow tier, whole
 *   --slow --resume  of the slow tier, what failed in its last whole run and what the changes since then touch
 *   --changed      the files of the slow tier that the changes since its last whole run touch
 *   other          the given files, patterns and options of AVA
 * Exits with 0 when all tests passed. The last line is "N passed, N failed".
 */

type Mode = 'quick' | 'slow' | 'changed' | 'given';

const FLAGS = ['--slow', '--changed', '--resume'];
const given = process.argv.slice(2).filter((arg) => !FLAGS.includes(arg));
/** The run that this one completes; null: it is whole itself. */
const RESUMED = process.argv.includes('--resume') ? readWholeRun() : null;
const MODE: Mode = process.argv.includes('--slow')
  ? 'slow'
  : process.argv.includes('--changed')
    ? 'changed'
    : given.length > 0
      ? 'given'
      : 'quick';

/** Test files that never run once more: where money, secrets or forbidden targets are at stake, one failure is a fault. */
const NEVER_REPEATED = /^test\/(?:store\/(?:ledger|keySpend)|egress\/|secrets)/;

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

const log = (line: string) => console.log(`# ${line}`);

/** Results by test file; those of the checks of the source have a name instead. */
const results = new Map<string, FileResult>();
const flaky: Flaky[] = [];

/** Adds the result of a file that runs in several suites. */
function addResult(file: string, { passed, failed, failures, ms }: FileResult): void {
  const before = results.get(file);
  results.set(file, {
    passed: passed + (before?.passed ?? 0),
    failed: failed + (before?.failed ?? 0),
    failures: [...(before?.failures ?? []), ...failures],
    ms: ms ?? before?.ms ?? null,
  });
}

async function check(name: string, args: string[], signal: AbortSignal): Promise<void> {
  const passed = await command(process.execPath, args, { env: clientEnv(), signal });
  const line = `${passed ? 'ok' : 'not ok'} - ${name}`;
  console.log(line);
  addResult(name, {
    ...{ passed: passed ? 1 : 0, failed: passed ? 0 : 1 },
    ...{ failures: passed ? [] : [[line]], ms: null },
  });
}

async function checkSource(signal: AbortSignal): Promise<void> {
  await check('types (tsc)', ['node_modules/.bin/tsc'], signal);
  const colors = process.stdout.isTTY ? [] : ['--colors=off'];
  await check('lint and format (biome)', ['node_modules/.bin/biome', 'ci', ...colors], signal);
}

interface Plan {
  suites: Suite[];
  /** Arguments for AVA instead of the files of the suite. */
  args?: string[];
}

/** Chooses the files for a change, and prints what is left out. */
function planForChange(): Plan {
  const slow = filesOf(true);
  const base = passedCommit();
  const changed = base === null ? null : changedSince(base);
  const { files, leftOut, byHash, hasSharedGround, needsContainers } = select(
    slow,
    changed,
    currentCommit(),
    readTimings(),
  );
  log(
    `Changed since the last run of the whole slow tier (${base ?? 'none is recorded'}): ${changed?.length ?? 'unknown'} files`,
  );
  if (hasSharedGround)
    log('The change touches shared ground: money, workflows, egress, schemas or dependencies.');
  log(`Chosen by the hash of the commit: ${byHash ?? 'none'}`);
  log(`Slow test files: ${slow.length}, of which run: ${files.length}`);
  for (const file of leftOut) log(`  touched, but left out for lack of time: ${file}`);
  log(`Not touched: ${slow.length - files.length - leftOut.length} files. \`npm run test:slow\` runs all.`);
  // .ci/run reads this line.
  if (needsContainers) log('The change needs the container tests: `npm run test:containers`.');
  else log('The change does not need the container tests.');
  return { suites: suitesOf(files) };
}

/** Chooses the files that an earlier run of the whole slow tier leaves to do. */
function planToResume({ commit, passed }: WholeRun): Plan {
  const slow = filesOf(true);
  const { touched, mandatory } = touchedBy([...slow, ...sampledFiles()], changedSince(commit));
  const isLeft = (file: string): boolean =>
    !Object.hasOwn(passed, file) || touched.includes(file) || mandatory.includes(file);
  log(`Completing the run of ${commit}`);
  return { suites: suitesOf(slow.filter(isLeft), sampledFiles().filter(isLeft)) };
}

function plan(): Plan {
  switch (MODE) {
    case 'quick':
      return { suites: suitesOf(filesOf(false)) };
    case 'slow':
      return RESUMED === null ? { suites: suitesOf(filesOf(true), sampledFiles()) } : planToResume(RESUMED);
    case 'changed':
      return planForChange();
    case 'given': {
      const files = given.flatMap((arg) => globSync(arg.endsWith('.test.ts') ? arg : `${arg}/**/*.test.ts`));
      return { suites: [{ files, concurrency: 2, env: {} }], args: given };
    }
  }
}

/**
 * Returns the seed of the random tests: TEST_SEED, else one that the commit determines, so that all runs of the gate for a
 * commit are equal; for the slow tier, a new one.
 */
function chooseSeed(): string {
  const commit = currentCommit();
  if (process.env.TEST_SEED) return process.env.TEST_SEED;
  if (MODE === 'slow' || commit === null) return String(randomInt(1, 2 ** 31));
  return String((Number.parseInt(commit.slice(0, 8), 16) % (2 ** 31 - 1)) + 1);
}

interface Context {
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

/** Runs a suite, prints its output, and adds its results. Returns the files that failed. */
async function runSuite(suite: Suite, args: string[], { env, signal }: Context): Promise<string[]> {
  const ran = await runAva({
    files: suite.files,
    args: [`--concurrency=${suite.concurrency}`, ...args],
    env: { ...env, ...suite.env },
    signal,
    onLine: (line) => console.log(line),
  });
  for (const [file, result] of ran) addResult(file, result);
  return [...ran].flatMap(([file, { failed }]) => (failed > 0 && file !== '' ? [file] : []));
}

/** Runs a file that failed once more, by itself and with the same seed. If it passes then, it counts as flaky. */
async function repeat(file: string, suite: Suite, { env, signal }: Context): Promise<void> {
  const first = results.get(file)?.failures.flat() ?? [];
  log(`Running once more, alone: ${file}`);
  const second: string[] = [];
  const ran = await runAva({
    files: [file],
    args: [file],
    env: { ...env, ...suite.env },
    signal,
    onLine: (line) => second.push(line),
  });
  const result = ran.get(file);
  const failed = [...ran.values()].reduce((sum, it) => sum + it.failed, 0);
  log(failed > 0 ? `  failed again: ${file}` : `  passed: ${file}`);
  if (failed > 0) console.log(second.join('\n'));
  if (failed > 0 || result === undefined) return;
  results.set(file, result);
  flaky.push({ file, first, second });
}

async function runTests(signal: AbortSignal): Promise<void> {
  const { suites, args } = plan();
  await installTestPrograms(log, signal);
  await provisionFor(
    suites.flatMap(({ files }) => files),
    log,
    signal,
  );
  await using owned = new AsyncDisposableStack();
  const folder = owned.adopt(await mkdtemp(join(await parentFolder(), 'utility-tools-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  // Sandboxed programs run as other users, who must be able to reach their own folders in it.
  await chmod(folder, 0o711);
  const servers = owned.adopt(await startServers({ dataDir: folder, log, signal }), (it) => it.stop());
  const stacks = owned.adopt(await serveStacks((profile) => startProfile(profile, servers)), (it) =>
    it.stop(),
  );
  const seed = chooseSeed();
  log(`Seed of the random tests: TEST_SEED=${seed}`);
  const context = {
    signal,
    env: {
      ...clientEnv(),
      ...OFFLINE_ENV,
      // Files that tests leave behind are removed together with this folder.
      TMPDIR: folder,
      TEST_MONGODB_URI: servers.mongodbUri,
      TEST_TEMPORAL_ADDRESS: servers.temporalAddress,
      TEST_STACKS: stacks.url,
      TEST_SEED: seed,
    },
  };
  const failed: { file: string; suite: Suite }[] = [];
  for (const suite of suites)
    for (const file of await runSuite(suite, args ?? suite.files, context)) failed.push({ file, suite });
  if (MODE === 'given') return;
  for (const { file, suite } of failed) if (!NEVER_REPEATED.test(file)) await repeat(file, suite, context);
}

const total = (of: 'passed' | 'failed'): number =>
  [...results.values()].reduce((sum, result) => sum + result[of], 0);

/** Records a run of the slow tier, or one that completes it. When all files have passed, `test/passed.json` names the commit. */
function recordSlowRun(minutes: number): void {
  const commit = currentCommit();
  if (commit === null || !isClean()) {
    log('The run is not recorded, because the checkout has changes that are not committed.');
    return;
  }
  const files = [...results].filter(([file]) => file.endsWith('.test.ts'));
  const passed = files.flatMap(([file, result]) =>
    result.failed > 0 ? [] : [[file, result.passed] as const],
  );
  const ended = {
    ...{ commit, minutes, passed: Object.fromEntries(passed) },
    flaky: flaky.map(({ file }) => file),
  };
  const ran = files.map(([file]) => file);
  const whole = RESUMED === null ? ended : addRun(RESUMED, ended, ran);
  recordWholeRun(whole);
  const isPassed = [...filesOf(true), ...sampledFiles()].every((file) => Object.hasOwn(whole.passed, file));
  if (!isPassed || total('failed') > 0) return;
  recordPassedRun({
    ...{ commit, date: new Date().toISOString(), minutes: Math.round(whole.minutes * 10) / 10 },
    ...{ passed: Object.values(whole.passed).reduce((sum, count) => sum + count, 0), flaky: whole.flaky },
  });
}

const started = performance.now();
const signal = stopSignal(() => console.log('# Stopping …'));
try {
  if (MODE === 'quick') await checkSource(signal);
  await runTests(signal);
} catch (error) {
  addResult('the run', { passed: 0, failed: 1, failures: [], ms: null });
  if (!signal.aborted) console.error(error instanceof StartError ? error.message : error);
}
if (flaky.length > MOST_FLAKY) {
  const line = `not ok - ${flaky.length} files are flaky, more than ${MOST_FLAKY}`;
  addResult('flaky files', { passed: 0, failed: 1, failures: [[line]], ms: null });
}
const minutes = Math.round((performance.now() - started) / 6000) / 10;
if (MODE !== 'given') {
  const timed = [...results].flatMap(([file, { ms }]) => (ms === null ? [] : [[file, ms / 1000] as const]));
  recordTimings(Object.fromEntries(timed));
  if (MODE === 'slow' && !signal.aborted) recordSlowRun(minutes);
  for (const line of [...slowestLines(results), ...flakyLines(flaky)]) console.log(line);
  log(`Minutes: ${minutes}`);
}
for (const line of failureLines(results)) console.log(line);
// A pipe that another process has made non-blocking can be full; exiting then would lose the rest of the output.
await new Promise((resolve) =>
  process.stdout.write(`${total('passed')} passed, ${total('failed')} failed\n`, resolve),
);
process.exit(signal.aborted ? 130 : total('failed') > 0 || total('passed') === 0 ? 1 : 0);
