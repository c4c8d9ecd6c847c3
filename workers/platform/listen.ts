import { createServer, type Server } from 'node:http';
import { hostname } from 'node:os';

/** Addresses that mean all of a machine's; others reach it by its name. */
const EVERYWHERE = new Set(['0.0.0.0', '::']);

/** Listens. @returns the URL under which others reach it @throws when the port is taken */
export function listen(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('no address'));
      const name = EVERYWHERE.has(address.address) ? hostname() : address.address;
      resolve(`http://${name.includes(':') ? `[${name}]` : name}:${address.port}`);
    });
  });
}

/** Stops listening and waits for the answers under way. */
export const drain = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    // Those that are busy now are not kept for a next request once they have their answer.
    server.keepAliveTimeout = 1;
  });

/** A port of loopback that was free a moment ago, for whoever cannot say which one it got. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const { port } = new URL(await listen(server, '127.0.0.1', 0));
  await drain(server);
  return Number(port);
}
