/** Matches the result line of a top-level test in TAP 13. */
const RESULT = /^(not )?ok \d+(?: - (.*))?$/;
/** Last line of a diagnostic block, which follows the result line of a failed test. */
const DIAGNOSTIC_END = '  ...';
/**
 * Separator in the titles of tests. AVA prefixes each title with those parts of the file's path that are below the
 * common folder of all test files.
 */
const SEPARATOR = ' › ';

export interface TapCounter {
  /**
   * Reads one line of AVA's output and counts its result. Returns a progress line to print before it when a test file
   * reports its first result, else null.
   */
  readLine(line: string): string | null;
  readonly passed: number;
  readonly failed: number;
  /** Output of each failed test: its result line and the diagnostic block that follows. */
  readonly failures: readonly string[];
}

/** Returns the path of the deepest folder that contains all files, with a trailing slash. */
function commonFolder(files: readonly string[]): string {
  const folders = files.map((file) => file.split('/').slice(0, -1));
  const [first = []] = folders;
  const end = first.findIndex((name, index) => folders.some((parts) => parts[index] !== name));
  return first
    .slice(0, end === -1 ? first.length : end)
    .map((name) => `${name}/`)
    .join('');
}

/**
 * Creates a counter for the results of a test run. Skipped tests count neither as passed nor as failed.
 *
 * @param files the test files of the run, used for the progress lines
 */
export function createTapCounter(files: readonly string[]): TapCounter {
  const base = commonFolder(files).length;
  const pending = new Map(
    files.map((file) => [
      file
        .slice(base)
        .replace(/\.test\.ts$/, '')
        .replaceAll('/', SEPARATOR) + SEPARATOR,
      file,
    ]),
  );
  const started = performance.now();
  let passed = 0;
  const failures: string[][] = [];
  let inFailure = false;

  function readDiagnostic(line: string): void {
    if (!inFailure) return;
    failures.at(-1)?.push(line);
    if (line === DIAGNOSTIC_END) inFailure = false;
  }

  return {
    readLine(line) {
      const match = RESULT.exec(line);
      if (match === null) {
        readDiagnostic(line);
        return null;
      }
      const [, not, title = ''] = match;
      const isSkipped = /# SKIP\b/i.test(title);
      inFailure = not !== undefined && !isSkipped;
      if (inFailure) failures.push([line]);
      if (not === undefined && !isSkipped) passed += 1;
      const label = [...pending.keys()].find((it) => title.startsWith(it));
      if (label === undefined) return null;
      const file = pending.get(label);
      pending.delete(label);
      const seconds = Math.round((performance.now() - started) / 1000);
      return `# ${seconds} s: ${file}, ${pending.size} of ${files.length} files left`;
    },
    get passed() {
      return passed;
    },
    get failed() {
      return failures.length;
    },
    get failures() {
      return failures.map((lines) => lines.join('\n'));
    },
  };
}
