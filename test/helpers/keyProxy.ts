import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { freePort } from '../../dev/ports.ts';

/**
 * Starts a proxy on loopback that adds an API key to each request, for clients that cannot send one. It changes no
 * other header, so that the service sees the Host and Origin of the client.
 */
export async function startKeyProxy(baseUrl: string, key: string): Promise<{ url: string; close(): void }> {
  const server = createServer((received, response) => {
    const sent = request(
      new URL(received.url ?? '/', baseUrl),
      { method: received.method, headers: { ...received.headers, authorization: `Bearer ${key}` } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    sent.once('error', () => response.destroy());
    response.once('close', () => sent.destroy());
    received.pipe(sent);
  });
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
