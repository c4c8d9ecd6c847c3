import { type Received, reply, soa, startDns } from './dns.ts';

/** What the tools that need a network find of it on this machine. */
export interface World {
  /** For the stack. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/** The zone of the examples; any other name does not exist. */
function answer(query: Received): Buffer {
  const { type } = query.question;
  // The resolver asks in upper and lower case letters.
  const name = query.question.name.toLowerCase();
  const authorities = [soa('example.com', 300, 300)];
  if (name !== 'example.com') return reply(query, [], { code: 'NXDOMAIN', authorities });
  if (type === 'MX') return reply(query, [{ type, name, ttl: 300, data: { exchange: '.', preference: 0 } }]);
  return reply(query, [], { authorities });
}

/** Starts the servers that the tools' examples reach, on loopback alone. */
export async function startWorld(): Promise<World> {
  const dns = await startDns(answer);
  return { env: { DNS_SERVERS: `${dns.address}:${dns.port}` }, close: () => dns.close() };
}
