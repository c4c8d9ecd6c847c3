import { readdirSync, readlinkSync } from 'node:fs';
import { killAll, readOrEmpty } from '../browser/processes.ts';

/** Returns the id of this process's PID namespace. A PID is unique only within its namespace, such as one container. */
const pidNamespace = (): string => readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');

/** Number of searches: the second finds processes that were started during the first. */
const ROUNDS = 2;

const markPrefix = (kind: string): string => `utility-tools-${kind}-${pidNamespace()}-`;

/** Returns a mark for the command line of a program that must not outlive this process, by which orphans are found. */
export const ownerMark = (kind: string): string => markPrefix(kind) + process.pid;

const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readOrEmpty(`/proc/${pid}/status`))?.[1] ?? 0);

function isDescendant(pid: number, ancestor: number): boolean {
  for (let at = parentOf(pid); at > 0; at = parentOf(at)) if (at === ancestor) return true;
  return false;
}

/**
 * Kills marked processes whose owner was killed before they had set their parent-death signal. A process is orphaned when
 * it does not descend from the process whose PID is in its mark; this holds even if that PID has been reused.
 *
 * @param kind the argument that the owner passed to `ownerMark`
 */
export async function killOrphans(kind: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await killAll(findOrphans(kind));
}

function findOrphans(kind: string): number[] {
  const mark = markPrefix(kind);
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    const [, afterMark = ''] = Number.isNaN(pid) ? [] : readOrEmpty(`/proc/${pid}/cmdline`).split(mark);
    const owner = /^\d+/.exec(afterMark)?.[0];
    return owner === undefined || isDescendant(pid, Number(owner)) ? [] : [pid];
  });
}
