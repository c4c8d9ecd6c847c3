import { fileURLToPath } from 'node:url';
import { command } from './command.ts';
import { createTapReader, type FileResult } from './tap.ts';

const path = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

/** Milliseconds in which AVA must exit after the last file has ended. It waits for processes that tests have left behind. */
const EXIT_MS = 30_000;
const HANGS = 'AVA did not exit, because a test has left a process behind';

interface AvaRun {
  /** Test files that have to run, relative to the folder of the project. */
  files: readonly string[];
  /** Command-line arguments for AVA: options, files and patterns. */
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
  /** Receives each line of the output. */
  onLine(line: string): void;
}

/**
 * Runs test files with AVA. A file that did not end, for example because AVA was killed, has one more failure; a failure that
 * belongs to no file has the path ''.
 */
export async function runAva({ files, args, env, signal, onLine }: AvaRun): Promise<Map<string, FileResult>> {
  const reader = createTapReader();
  const started = performance.now();
  const overdue = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let left = files.length;
  const read = (line: string) => {
    const ended = reader.readLine(line);
    if (ended === null) return onLine(line);
    left -= 1;
    if (left === 0) timer = setTimeout(() => overdue.abort(), EXIT_MS);
    const seconds = Math.round((performance.now() - started) / 1000);
    onLine(`# ${seconds} s: ${ended} ended, ${left} of ${files.length} files left`);
  };
  const ava = ['--import', path('dev/testing/avaPatches.mjs'), path('node_modules/.bin/ava'), '--tap'];
  const options = { env, signal: AbortSignal.any([signal, overdue.signal]), onLine: read };
  const hasPassed = await command(process.execPath, [...ava, ...args], options);
  clearTimeout(timer);
  const results = new Map(reader.files);
  for (const file of files) {
    const { passed = 0, failed = 0, failures = [], ms = null } = results.get(file) ?? {};
    if (ms !== null) continue;
    const missing = [`not ok - ${file} did not run to its end`];
    results.set(file, { passed, failed: failed + 1, failures: [...failures, missing], ms });
  }
  const failures = [...reader.otherFailures];
  const hasFailure = [...results.values()].some(({ failed }) => failed > 0);
  if (!hasPassed && !hasFailure && failures.length === 0)
    failures.push([`not ok - ${overdue.signal.aborted ? HANGS : 'AVA failed; see above'}`]);
  if (failures.length > 0) results.set('', { passed: 0, failed: failures.length, failures, ms: null });
  return results;
}
