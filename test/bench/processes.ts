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

/** Returns the CPU time of these processes and all of their descendants in ms, by owner. @param owners names by pid */
export function cpuByOwner(owners: ReadonlyMap<number | undefined, string>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { pid, owner } of ownedProcesses(owners)) sums[owner] = (sums[owner] ?? 0) + cpuOf(pid) * 1000;
  return sums;
}

/** Returns the CPU time in ms that all processes of the machine have used, or other virtual machines have taken. */
export function machineCpu(): number {
  // The first line of /proc/stat, see proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = readProc('/proc/stat')
    .split('\n', 1)
    .join()
    .split(/ +/)
    .slice(1)
    .map(Number);
  return ((user + nice + system + irq + softirq + steal) / TICKS) * 1000;
}
