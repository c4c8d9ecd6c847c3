import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { listen } from './egress.ts';

/** A loopback port, TCP and UDP, on which a server records every client. Tests assert that nothing connects to it. */
export interface Canary {
  port: number;
  readonly hits: number;
}

/** Starts servers on loopback that record their clients. */
export async function startCanaries(count: number): Promise<{ canaries: Canary[]; close(): void }> {
  const servers: (Server | Socket)[] = [];
  const canaries: Canary[] = [];
  for (let made = 0; made < count; made++) {
    let hits = 0;
    const tcp = createServer((socket) => {
      hits += 1;
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAccess-Control-Allow-Origin: *\r\n\r\n');
    });
    const port = await listen(tcp);
    const udp = createSocket('udp4', () => {
      hits += 1;
    });
    servers.push(tcp, udp);
    await once(udp.bind(port, '127.0.0.1'), 'listening');
    canaries.push({
      port,
      get hits() {
        return hits;
      },
    });
  }
  return {
    canaries,
    close() {
      for (const server of servers) server.close();
    },
  };
}
