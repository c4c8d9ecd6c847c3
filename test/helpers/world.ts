import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import type { Pool } from '../../schemas/tool.ts';
import { makeCertificate } from './certificates.ts';
import { type Received, reply, soa, startDns } from './dns.ts';
import { listen } from './egress.ts';

/** What the tools that need a network find of it on this machine. */
export interface World {
  /** For the stack. */
  env: Record<string, string>;
  /** An example's input; of tools that connect to what it names, with a server of this machine in its place. */
  localise(pool: Pool, input: Record<string, unknown>): Record<string, unknown>;
  close(): Promise<void>;
}

const PAGE = '<!doctype html><title>Hi</title>';

/** The zone of the examples; any other name does not exist. */
function answer(query: Received): Buffer {
  const { type } = query.question;
  // The resolver asks in upper and lower case letters.
  const name = query.question.name.toLowerCase();
  const authorities = [soa('example.com', 300, 300)];
  if (name !== 'example.com') return reply(query, [], { code: 'NXDOMAIN', authorities });
  if (type === 'MX') return reply(query, [{ type, name, ttl: 300, data: { exchange: '.', preference: 0 } }]);
  if (type === 'A') return reply(query, [{ type, name, ttl: 300, data: '127.0.0.1' }]);
  return reply(query, [], { authorities });
}

/** Starts the servers that the tools' examples reach, on loopback alone. */
export async function startWorld(): Promise<World> {
  const dns = await startDns(answer);
  const web = createServer((_, response) => {
    response.sendDate = false;
    response.setHeader('Content-Type', 'text/html').end(PAGE);
  });
  const port = await listen(web);
  const secure = createTlsServer(await makeCertificate(['IP:127.0.0.1']), (socket) => {
    socket.on('error', () => undefined).end();
  });
  const securePort = await listen(secure);
  return {
    env: {
      DNS_SERVERS: `${dns.address}:${dns.port}`,
      EGRESS_ALLOW: ['example.com:443', ...[port, securePort].map((open) => `127.0.0.1:${open}`)].join(),
    },
    localise: (pool, input) =>
      Object.fromEntries(
        Object.entries(input).map(([field, value]) => [
          field,
          pool !== 'cpu' && typeof value === 'string'
            ? value
                .replace(/^https:\/\/example\.com\//, `http://127.0.0.1:${port}/`)
                .replace(/^example\.com:8443$/, `127.0.0.1:${securePort}`)
            : value,
        ]),
      ),
    async close() {
      web.close();
      secure.close();
      web.closeAllConnections();
      await dns.close();
    },
  };
}
