import type { Stack, startOwnServers } from '../helpers/stack.ts';

export type Servers = Awaited<ReturnType<typeof startOwnServers>>;

/** Name of a process of the service, `mongod` or `temporal`. */
export type ProcessName = string;

const isServer = (processName: ProcessName): processName is 'mongod' | 'temporal' =>
  processName === 'mongod' || processName === 'temporal';

/** Sends a signal; after SIGKILL, resolves when the process has ended. */
export async function sendSignal(
  processName: ProcessName,
  signal: NodeJS.Signals,
  stack: Stack,
  servers: Servers,
): Promise<void> {
  if (isServer(processName)) await servers[processName].kill(signal);
  else await stack.kill(processName, signal);
}

/** Starts a process again that was killed. */
export async function restart(processName: ProcessName, stack: Stack, servers: Servers): Promise<void> {
  if (isServer(processName)) await servers[processName].start();
  else await stack.restart(processName);
}
