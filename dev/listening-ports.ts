import { readdirSync, readlinkSync } from 'node:fs';
import { processTree, readOrEmpty } from '../activities/browser/processes.ts';

/** State of a listening socket: TCP_LISTEN of the kernel's include/net/tcp_states.h, in hexadecimal. */
const TCP_LISTEN = '0A';

/** Returns the port of every listening TCP socket, by the inode of the socket (proc_pid_net(5)). */
function listeningSockets(): Map<string, number> {
  const rows = ['tcp', 'tcp6'].flatMap((table) => readOrEmpty(`/proc/net/${table}`).split('\n').slice(1));
  return new Map(
    rows.flatMap((row): [string, number][] => {
      const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
      return state === TCP_LISTEN ? [[inode, Number.parseInt(local.split(':')[1] ?? '', 16)]] : [];
    }),
  );
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((fd) => readlinkSync(`${folder}/${fd}`));
  } catch {
    return []; // The process has exited, or it has closed one of these files since `readdirSync`.
  }
}

/** Returns the TCP ports on which a process and its descendants listen; empty on systems without /proc. */
export function listeningPorts(pid: number): number[] {
  const sockets = listeningSockets();
  const ports = processTree(pid)
    .flatMap(openFiles)
    .flatMap((file) => sockets.get(/^socket:\[(\d+)\]$/.exec(file)?.[1] ?? '') ?? []);
  return [...new Set(ports)];
}
