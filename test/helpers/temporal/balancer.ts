import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../egress.ts';

const CONNECT_MS = 2_000;

/** Connects to the first of the hosts that accepts; null if none does. */
async function connectToOne(hosts: readonly string[], port: number): Promise<Socket | null> {
  for (const host of hosts) {
    const socket = connect({ host, port, noDelay: true });
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
      return socket;
    } catch {
      socket.destroy();
    }
  }
  return null;
}

/** Whether a server accepts connections. */
export async function isListening(host: string, port: number): Promise<boolean> {
  const socket = await connectToOne([host], port);
  socket?.destroy();
  return socket !== null;
}

/**
 * Starts a load balancer for TCP connections, such as a service of Kubernetes. Each connection goes to the next host that
 * accepts it. It ends with `open`. @returns host:port
 */
export async function startBalancer(
  open: AsyncDisposableStack,
  hosts: readonly string[],
  port: number,
): Promise<string> {
  let next = 0;
  const sockets = new Set<Socket>();
  const server = createServer(async (client) => {
    sockets.add(client);
    client.on('error', () => client.destroy());
    const first = next++ % hosts.length;
    const upstream = await connectToOne([...hosts.slice(first), ...hosts.slice(0, first)], port);
    if (upstream === null || client.destroyed) {
      upstream?.destroy();
      client.destroy();
      return;
    }
    upstream.on('error', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
    client.once('close', () => {
      sockets.delete(client);
      upstream.destroy();
    });
    client.pipe(upstream).pipe(client);
  });
  open.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${await listen(server)}`;
}
