/** Matches the result line of a top-level test in TAP 13. */
const RESULT = /^(not )?ok \d+(?: - (.*))?$/;
/** Last line of a diagnostic block, which follows the result line of a failed test. */
const DIAGNOSTIC_END = '  ...';
/** Separator between the path of the test file and the title, which avaPatches.mjs puts in front of it. */
const SEPARATOR = ' › ';
const TEST_FILE = /^test\/\S+\.test\.ts$/;
/** Matches the line with which avaPatches.mjs reports the end of a test file. */
const FILE_END = /^# file (\S+) ended after (\d+) ms$/;

export interface FileResult {
  /** Number of tests; skipped ones count neither as passed nor as failed. */
  passed: number;
  failed: number;
  /** Lines of each failed test: its result line and the diagnostic block that follows. */
  failures: string[][];
  /** Milliseconds from the start of the file's process to its end; null if the file did not end. */
  ms: number | null;
}

interface TapReader {
  /** Reads one line of the output of AVA. Returns the file that ended with this line, else null. */
  readLine(line: string): string | null;
  /** The results by test file, of which the path is relative to the folder of the project. */
  readonly files: ReadonlyMap<string, FileResult>;
  /** Lines of the failures that belong to no file, such as an error of AVA itself. */
  readonly otherFailures: readonly string[][];
}

/** Creates a reader of the TAP output of AVA with avaPatches.mjs. */
export function createTapReader(): TapReader {
  const files = new Map<string, FileResult>();
  const otherFailures: string[][] = [];
  let failing: string[] | null = null;

  function resultOf(path: string): FileResult {
    const known = files.get(path);
    if (known !== undefined) return known;
    const result = { passed: 0, failed: 0, failures: [], ms: null };
    files.set(path, result);
    return result;
  }

  function readResult(isOk: boolean, title: string): void {
    failing = null;
    if (/# SKIP\b/i.test(title)) return;
    const [path = ''] = title.split(SEPARATOR, 1);
    const file = TEST_FILE.test(path) ? resultOf(path) : null;
    if (isOk) {
      if (file !== null) file.passed += 1;
      return;
    }
    failing = [`not ok - ${title}`];
    if (file === null) otherFailures.push(failing);
    else {
      file.failed += 1;
      file.failures.push(failing);
    }
  }

  return {
    files,
    otherFailures,
    readLine(line) {
      const result = RESULT.exec(line);
      if (result !== null) {
        readResult(result[1] === undefined, result[2] ?? '');
        return null;
      }
      const [, path, ms] = FILE_END.exec(line) ?? [];
      if (path !== undefined) {
        resultOf(path).ms = Number(ms);
        return path;
      }
      failing?.push(line);
      if (line === DIAGNOSTIC_END) failing = null;
      return null;
    },
  };
}
