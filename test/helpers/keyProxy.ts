import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { freePort } from '../../dev/ports.ts';

/** A request with its JSON body as text. */
interface Message {
  headers: IncomingHttpHeaders;
  body: string;
}

/**
 * Starts a proxy on loopback that adds an API key to each request, for clients that cannot send one. It changes no
 * other header, so that the service sees the Host and Origin of the client.
 *
 * @param rewrite changes requests; by default they are sent as they are
 */
export async function startKeyProxy(
  baseUrl: string,
  key: string,
  rewrite: (message: Message) => Message = (message) => message,
): Promise<{ url: string; close(): void }> {
  const server = createServer(async (received, response) => {
    const { headers, body } = rewrite({ headers: received.headers, body: await text(received) });
    const length =
      received.headers['content-length'] === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = request(
      new URL(received.url ?? '/', baseUrl),
      { method: received.method, headers: { ...headers, ...length, authorization: `Bearer ${key}` } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    sent.once('error', () => response.destroy());
    response.once('close', () => sent.destroy());
    sent.end(body);
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
