import { closeSync, mkdirSync, openSync, renameSync, statSync, write } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { isRecord } from '../schemas/isRecord.ts';
import type { Log } from './start-error.ts';

/** Bytes above which a log file is renamed to `.old` when its process starts. */
const MAX_LOG = 10_000_000;

/** Opens `<folder>/<name>.log` for appending and returns its file descriptor. */
export function openLog(folder: string, name: string): number {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.log`);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG) renameSync(file, `${file}.old`);
  return openSync(file, 'a', 0o600);
}

/**
 * Opens the same file as a stream that never emits an error, so that a log failure cannot end its process. Lines that
 * cannot be written (the disk is full) are dropped. The console shows the first failure. Once writing works again, the
 * console and the log state the number of dropped lines.
 */
export function logStream(folder: string, name: string, log: Log): Writable {
  const fd = openLog(folder, name);
  let dropped = 0;
  return new Writable({
    decodeStrings: true,
    write(line: Buffer, _encoding, done) {
      // The leading newline also ends a line that was written in part.
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
/** The pino levels that the console shows. */
const CONSOLE_LEVELS = new Map([
  [40, 'warning'],
  [50, 'error'],
  [60, 'fatal'],
]);

/** Formats a log line for the console: pino records from `warn` up, and lines that are not JSON. Otherwise null. */
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

/** Copies a child's output line by line to its log file, and its warnings and errors to the console. */
export function forwardOutput(output: Readable, file: Writable, name: string, log: Log): void {
  createInterface({ input: output }).on('line', (line) => {
    if (file.writable) file.write(`${line}\n`);
    const text = consoleText(line);
    if (text !== null) log(`${name}: ${text}`);
  });
}
