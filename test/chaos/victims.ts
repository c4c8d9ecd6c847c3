import type { Stack, startOwnServers } from '../helpers/stack.ts';

export type Servers = Awaited<ReturnType<typeof startOwnServers>>;

/** What may be killed or stopped: a process of the service by its name, or a server. */
export type Victim = string;

const isServer = (victim: Victim): victim is 'mongod' | 'temporal' =>
  victim === 'mongod' || victim === 'temporal';

/** @param signal one that kills has killed it when this resolves */
export async function strike(
  victim: Victim,
  signal: NodeJS.Signals,
  stack: Stack,
  servers: Servers,
): Promise<void> {
  if (isServer(victim)) await servers[victim].kill(signal);
  else await stack.kill(victim, signal);
}

export async function revive(victim: Victim, stack: Stack, servers: Servers): Promise<void> {
  if (isServer(victim)) await servers[victim].start();
  else await stack.restart(victim);
}
