import { readdirSync, readlinkSync } from 'node:fs';
import { processTree, readOrEmpty } from '../activities/browser/processes.ts';

/** TCP_LISTEN of the kernel's include/net/tcp_states.h. */
const LISTENS = '0A';

/** `inode -> port` of every socket that listens, as proc_pid_net(5) shows them. */
function listeningSockets(): Map<string, number> {
  const rows = ['tcp', 'tcp6'].flatMap((table) => readOrEmpty(`/proc/net/${table}`).split('\n').slice(1));
  return new Map(
    rows.flatMap((row): [string, number][] => {
      const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
      return state === LISTENS ? [[inode, Number.parseInt(local.split(':')[1] ?? '', 16)]] : [];
    }),
  );
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((fd) => readlinkSync(`${folder}/${fd}`));
  } catch {
    return []; // It has ended, or closed one of them, meanwhile.
  }
}

/** TCP ports that a process and those under it listen on now; none where there is no /proc to ask. */
export function listeningPorts(pid: number): number[] {
  const sockets = listeningSockets();
  const ports = processTree(pid)
    .flatMap(openFiles)
    .flatMap((file) => sockets.get(/^socket:\[(\d+)\]$/.exec(file)?.[1] ?? '') ?? []);
  return [...new Set(ports)];
}
