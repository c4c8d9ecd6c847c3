import { closeSync, mkdirSync, openSync, renameSync, statSync, write } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { isRecord } from '../schemas/isRecord.ts';
import type { Log } from './start-error.ts';

/** Size in bytes above which a log file is renamed to `.old` when its process starts. */
const MAX_LOG = 10_000_000;

/** Opens `<folder>/<name>.log` for appending and returns its file descriptor. */
export function openLog(folder: string, name: string): number {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.log`);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG) renameSync(file, `${file}.old`);
  return openSync(file, 'a', 0o600);
}

/**
 * Opens `<folder>/<name>.log` as a stream that never emits an error, so that a failure to log cannot end the process.
 * Lines that cannot be written, for example because the disk is full, are dropped. The first failure is shown on the
 * console. Once writing works again, the console and the log file state the number of dropped lines.
 */
export function logStream(folder: string, name: string, log: Log): Writable {
  const fd = openLog(folder, name);
  let dropped = 0;
  return new Writable({
    decodeStrings: true,
    write(line: Buffer, _encoding, done) {
      // The leading newline ends a line that was written only in part.
      const gap =
        dropped === 0 ? '' : `\n${JSON.stringify({ level: 40, msg: `${dropped} lines are missing` })}\n`;
      const bytes = Buffer.concat([Buffer.from(gap), line]);
      write(fd, bytes, (error, written) => {
        if (error === null && written === bytes.length) {
          if (dropped > 0) log(`${name}: can write its log again; ${dropped} lines are missing`);
          dropped = 0;
        } else if (dropped++ === 0)
          log(`${name}: cannot write its log (${error?.message ?? 'ENOSPC: no space for a whole line'})`);
        done();
      });
    },
    final(done) {
      closeSync(fd);
      done();
    },
  });
}
/** Pino's log levels that are shown on the console, and their names. */
const CONSOLE_LEVELS = new Map([
  [40, 'warning'],
  [50, 'error'],
  [60, 'fatal'],
]);

/**
 * Returns a log line as the console shows it: pino records from `warn` up, and lines that are not JSON. Returns null
 * for lines that the console does not show.
 */
function consoleText(line: string): string | null {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return line.trim() === '' ? null : line;
  }
  if (!isRecord(record) || !('level' in record)) return line;
  const level = CONSOLE_LEVELS.get(Number(record.level));
  if (level === undefined) return null;
  const text = 'msg' in record ? String(record.msg) : '';
  const error = 'err' in record && typeof record.err === 'object' ? record.err : null;
  const cause = error && 'message' in error && error.message !== text ? ` (${String(error.message)})` : '';
  return `${level}: ${text}${cause}`;
}

/** Copies the output of a child process line by line to its log file, and its warnings and errors to `show`. */
export function forwardOutput(output: Readable, file: Writable, show: (text: string) => void): void {
  createInterface({ input: output }).on('line', (line) => {
    if (file.writable) file.write(`${line}\n`);
    const text = consoleText(line);
    if (text !== null) show(text);
  });
}
