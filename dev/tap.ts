/** A line of TAP 13 for a test at the outermost level. */
const RESULT = /^(not )?ok \d+(?: - (.*))?$/;
/** AVA puts the parts of a file's path, without the folder that all files share, before the title of a test. */
const SEPARATOR = ' › ';

export interface TapCounter {
  /** Takes a line of output, and returns what to print before it: progress when a new file reports, else null. */
  take(line: string): string | null;
  readonly passed: number;
  readonly failed: number;
}

/** The folder that all files share, with a slash at its end. */
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
 * Counts the results of a run. A skipped test is neither passed nor failed.
 *
 * @param files the test files of the run; its progress is told by them
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
    take(line) {
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
