/** A TAP 13 result line of a top-level test. */
const RESULT = /^(not )?ok \d+(?: - (.*))?$/;
/** AVA prefixes a test's title with the parts of the file's path below the folder that all files share. */
const SEPARATOR = ' › ';

export interface TapCounter {
  /** Counts a line of output. Returns a progress line to print before it when a new file reports, else null. */
  readLine(line: string): string | null;
  readonly passed: number;
  readonly failed: number;
}

/** Returns the deepest folder that contains all files, with a trailing slash. */
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
 * Counts the results of a test run. Skipped tests count neither as passed nor as failed.
 *
 * @param files the test files of the run, for the progress lines
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
  let failed = 0;
  return {
    readLine(line) {
      const match = RESULT.exec(line);
      if (match === null) return null;
      const [, not, title = ''] = match;
      if (!/# SKIP\b/i.test(title)) {
        if (not === undefined) passed += 1;
        else failed += 1;
      }
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
      return failed;
    },
  };
}
