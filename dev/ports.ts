import { createServer } from 'node:net';

/** Whether `host:port` can be listened on now; a reason when not. */
export function tryPort(port: number, host = '127.0.0.1'): Promise<{ port: number } | { error: Error }> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve({ error }));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      server.close(() => resolve({ port: bound }));
    });
  });
}

/**
 * Linux gives ports from 32768 on to whoever connects somewhere (ip_local_port_range): while a server of ours is down,
 * one of those could be the port that it is to come back to.
 */
const PORTS = { first: 10_000, count: 22_768 };
/** Processes that pick at the same time do so in different places: one may not listen yet when the other looks. */
const PORTS_A_PROCESS = 41;
let picked = process.pid * PORTS_A_PROCESS;

/** `preferred` where it is free, else another that is, below those of outgoing connections. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && 'port' in (await tryPort(preferred))) return preferred;
  for (let tried = 0; tried < PORTS.count; tried++) {
    const result = await tryPort(PORTS.first + (picked++ % PORTS.count));
    if ('port' in result) return result.port;
  }
  throw new Error('no port is free');
}
