import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
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
/** Number of ports that a process reserves at a time. */
const BLOCK = 40;

/** Ports that this process has reserved and not yet returned. */
interface Block {
  next: number;
  end: number;
}

/**
 * Reserves a block of ports for this process: binds the first UDP port of the block for as long as the process lives. UDP,
 * because nothing can connect to it. Without a reservation, two processes could choose the same port, because a chosen port
 * stays free until its server listens, and again while that server restarts.
 */
async function reserveBlock(): Promise<Block> {
  const count = Math.floor(PORTS.count / BLOCK);
  const start = randomInt(count);
  for (let tried = 0; tried < count; tried++) {
    const first = PORTS.first + ((start + tried) % count) * BLOCK;
    const socket = createSocket('udp4').unref();
    const isReserved = await new Promise<boolean>((resolve) => {
      socket.once('error', () => resolve(false));
      socket.bind({ port: first, address: '127.0.0.1', exclusive: true }, () => resolve(true));
    });
    if (!isReserved) socket.close();
    else return { next: first + 1, end: first + BLOCK };
  }
  throw new Error('no port is free');
}

let reserved: Promise<Block> | undefined;

/**
 * Returns the port `preferred` if it is free, else another free port below the ephemeral range, which no other process
 * gets from this function.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && 'port' in (await tryPort(preferred))) return preferred;
  for (;;) {
    reserved ??= reserveBlock();
    const current = reserved;
    const block = await current;
    if (block.next < block.end) {
      const result = await tryPort(block.next++);
      if ('port' in result) return result.port;
    } else if (reserved === current) reserved = undefined;
  }
}
