import { closeSync, mkdirSync, openSync, renameSync, statSync, write } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import type { Log } from './start-error.ts';

/** Bytes after which a log file is put aside (`.old`) when its process starts. */
const MAX_LOG = 10_000_000;

/** Opens `<folder>/<name>.log` for appending and returns its file descriptor. */
export function openLog(folder: string, name: string): number {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.log`);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG) renameSync(file, `${file}.old`);
  return openSync(file, 'a', 0o600);
}

/**
 * The same file as a stream that never fails: a log must not end the process that keeps it. Lines that cannot be written
 * (the disk is full) are dropped; the console shows the first failure, and the log their number once it can be written
 * again.
 */
export function logStream(folder: string, name: string, log: Log): Writable {
  const fd = openLog(folder, name);
  let dropped = 0;
  return new Writable({
    decodeStrings: true,
    write(line: Buffer, _encoding, done) {
      // A line that was cut off ends here, too.
      const gap =
        dropped === 0 ? '' : `\n${JSON.stringify({ level: 40, msg: `${dropped} lines are missing` })}\n`;
      const bytes = Buffer.concat([Buffer.from(gap), line]);
      write(fd, bytes, (error, written) => {
        if (error === null && written === bytes.length) {
          if (dropped > 0) log(`${name}: its log is written again; ${dropped} lines are missing`);
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
/** pino's numbers of the levels worth showing. */
const LEVELS = new Map([
  [40, 'warning'],
  [50, 'error'],
  [60, 'fatal'],
]);

/** What a log line tells on the console: a pino record from warning up, or text that is no record; else null. */
export function summary(line: string): string | null {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return line.trim() === '' ? null : line;
  }
  if (typeof record !== 'object' || record === null || !('level' in record)) return line;
  const level = LEVELS.get(Number(record.level));
  if (level === undefined) return null;
  const text = 'msg' in record ? String(record.msg) : '';
  const error = 'err' in record && typeof record.err === 'object' ? record.err : null;
  const cause = error && 'message' in error && error.message !== text ? ` (${String(error.message)})` : '';
  return `${level}: ${text}${cause}`;
}

/** Copies a child's output, line by line, to its log file, and the lines that matter to the console. */
export function followOutput(output: Readable, file: Writable, name: string, log: Log): void {
  createInterface({ input: output }).on('line', (line) => {
    if (file.writable) file.write(`${line}\n`);
    const text = summary(line);
    if (text !== null) log(`${name}: ${text}`);
  });
}
