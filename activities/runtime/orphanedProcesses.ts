import { readdirSync, readlinkSync } from 'node:fs';
import { killAll, readOrEmpty } from '../browser/processes.ts';

/** Of one numbering of processes: those of a container, say, have a number there and another one here. */
const namespace = (): string => readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');

/** One may start another while we look. */
const ROUNDS = 2;

const markOf = (what: string): string => `utility-tools-${what}-${namespace()}-`;

/** What is to stand in the command line of a program that must not outlive this process. */
export const ownerMark = (what: string): string => markOf(what) + process.pid;

const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readOrEmpty(`/proc/${pid}/status`))?.[1] ?? 0);

function descends(pid: number, from: number): boolean {
  for (let at = parentOf(pid); at > 0; at = parentOf(at)) if (at === from) return true;
  return false;
}

/**
 * Ends processes whose owner was killed before the kernel knew that they were to go with it. Their mark names a process
 * that they do not descend from, even where its number is in use again.
 *
 * @param what as their owner gave it to `ownerMark`
 */
export async function endAbandoned(what: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await killAll(abandoned(what));
}

function abandoned(what: string): number[] {
  const mark = markOf(what);
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    const [, afterMark = ''] = Number.isNaN(pid) ? [] : readOrEmpty(`/proc/${pid}/cmdline`).split(mark);
    const owner = /^\d+/.exec(afterMark)?.[0];
    return owner === undefined || descends(pid, Number(owner)) ? [] : [pid];
  });
}
