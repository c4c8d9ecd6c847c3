import type { Stack, startOwnServers } from '../helpers/stack.ts';
import type { Link } from '../helpers/toxiproxy.ts';

export type Servers = Awaited<ReturnType<typeof startOwnServers>>;

/** The name of a process of the service, or `mongod` or `temporal`. */
export type ProcessName = string;

/** A fault that lasts from `begin` to `end`. */
export interface Fault {
  name: string;
  begin(): Promise<void>;
  end(): Promise<void>;
}

const isServer = (processName: ProcessName): processName is 'mongod' | 'temporal' =>
  processName === 'mongod' || processName === 'temporal';

/** Sends a signal to a process. After SIGKILL it resolves when the process has ended. */
export async function sendSignal(
  processName: ProcessName,
  signal: NodeJS.Signals,
  stack: Stack,
  servers: Servers,
): Promise<void> {
  if (isServer(processName)) await servers[processName].kill(signal);
  else await stack.kill(processName, signal);
}

/** Starts a killed process again. */
export async function restart(processName: ProcessName, stack: Stack, servers: Servers): Promise<void> {
  if (isServer(processName)) await servers[processName].start();
  else await stack.restart(processName);
}

/** Returns a fault that suspends a process with SIGSTOP and resumes it with SIGCONT. */
export const stopFault = (processName: ProcessName, stack: Stack, servers: Servers): Fault => ({
  name: `${processName} is stopped (SIGSTOP)`,
  begin: () => sendSignal(processName, 'SIGSTOP', stack, servers),
  end: () => sendSignal(processName, 'SIGCONT', stack, servers),
});

/**
 * Returns the faults of a network link. @param latency returns the delay of a slow connection in milliseconds; called
 * for each fault
 */
export const linkFaults = (name: string, link: Link, latency: () => number): Fault[] => [
  {
    name: `${name} is slow`,
    begin: () => link.poison({ type: 'latency', attributes: { latency: latency(), jitter: 100 } }),
    end: link.heal,
  },
  { name: `the connection to ${name} is cut`, begin: link.cut, end: link.heal },
  {
    name: `the connection to ${name} is half open`,
    begin: () => link.poison({ type: 'timeout', attributes: { timeout: 0 } }),
    end: link.heal,
  },
];
