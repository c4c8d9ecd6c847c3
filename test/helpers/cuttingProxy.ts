import { connect, createServer, type Socket } from 'node:net';
import { listen } from './egress.ts';

/** Which way bytes pass: from the client to the service, or back. */
export type Direction = 'sent' | 'received';

/** A proxy on loopback that loses connections at any byte. */
export interface CuttingProxy {
  baseUrl: string;
  /** Cuts the connection over which the next byte passes after this many more, once. */
  cutAfter(direction: Direction, bytes: number): void;
  /** Whether no connection is to be cut. */
  isWhole(): boolean;
  /** Number of connections that were cut. */
  cuts(): number;
  /** Number of bytes that have passed. */
  passed(direction: Direction): number;
  close(): void;
}

export async function startCuttingProxy(upstream: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(upstream);
  const open = new Set<Socket>();
  const passed = { sent: 0, received: 0 };
  let next: { direction: Direction; at: number } | null = null;
  let cuts = 0;

  function forward(direction: Direction, from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      if (to.destroyed) return;
      const left = next?.direction === direction ? next.at - passed[direction] : Number.POSITIVE_INFINITY;
      const part = chunk.subarray(0, left);
      passed[direction] += part.length;
      if (chunk.length <= left) return void to.write(part);
      next = null;
      cuts += 1;
      from.pause();
      // What has passed arrives before the connection ends.
      to.write(part, () => {
        to.destroy();
        from.destroy();
      });
    });
    from.once('end', () => to.end());
    from.once('error', () => to.destroy());
    from.once('close', () => to.end());
  }

  const server = createServer((client) => {
    const service = connect(Number(port), hostname);
    for (const socket of [client, service]) {
      socket.setNoDelay();
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    }
    forward('sent', client, service);
    forward('received', service, client);
  });
  const own = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${own}`,
    cutAfter(direction, bytes) {
      next = { direction, at: passed[direction] + bytes };
    },
    isWhole: () => next === null,
    cuts: () => cuts,
    passed: (direction) => passed[direction],
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
