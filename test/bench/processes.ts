import { readdirSync, readFileSync } from 'node:fs';

/** Kernel ticks per second in /proc, which is 100 on all Linux systems. */
const TICKS = 100;

/** Returns the content of a file of /proc; empty when the process has ended. */
export function readProc(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Returns the processes with these pids and all of their descendants. @param owners names by pid */
export function ownedProcesses(
  owners: ReadonlyMap<number | undefined, string>,
): { pid: number; owner: string }[] {
  const pids = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  const parents = new Map(
    pids.map((pid) => [pid, Number(/^PPid:\s+(\d+)/m.exec(readProc(`/proc/${pid}/status`))?.[1])]),
  );
  const ownerOf = (pid: number): string | undefined => {
    for (let at: number | undefined = pid; at !== undefined && at > 0; at = parents.get(at)) {
      const owner = owners.get(at);
      if (owner !== undefined) return owner;
    }
    return undefined;
  };
  return pids.flatMap((pid) => {
    const owner = ownerOf(pid);
    return owner === undefined ? [] : [{ pid, owner }];
  });
}

/** Returns the proportional set size in kB, which counts shared memory once over all processes. */
export const shareOf = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);

/** Returns the CPU time of a process and of its children that have ended, in seconds. */
export function cpuOf(pid: number): number {
  // The name in parentheses may contain spaces. Fields 14 to 17 of proc(5): utime, stime, cutime, cstime.
  const fields = readProc(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
}
