import { createServer } from 'node:net';

/**
 * Tries to listen on `host:port`, and closes the listening socket again. Returns the port that it was bound to, or the
 * error.
 */
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
 * Range of ports for servers, below Linux's ephemeral range, which starts at 32768 (ip_local_port_range). An outgoing
 * connection could otherwise occupy the port of a server while that server restarts.
 */
const PORTS = { first: 10_000, count: 22_768 };
/**
 * Distance between the ports at which processes begin their search. If two processes began at the same port, both could
 * choose the same one, because a chosen port stays free until its server listens.
 */
const PORTS_PER_PROCESS = 41;
let nextPort = process.pid * PORTS_PER_PROCESS;

/** Returns the port `preferred` if it is free, else another free port below the ephemeral range. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && 'port' in (await tryPort(preferred))) return preferred;
  for (let tried = 0; tried < PORTS.count; tried++) {
    const result = await tryPort(PORTS.first + (nextPort++ % PORTS.count));
    if ('port' in result) return result.port;
  }
  throw new Error('no port is free');
}
