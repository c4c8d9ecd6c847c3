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

/** `preferred` where it is free, else a port that the system picks. */
export async function freePort(preferred?: number): Promise<number> {
  for (const port of preferred === undefined ? [0] : [preferred, 0]) {
    const result = await tryPort(port);
    if ('port' in result) return result.port;
    if (port === 0) throw result.error;
  }
  throw new Error('unreachable');
}
