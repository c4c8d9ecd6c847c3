import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** Protocol revisions that the endpoint serves: clients of 2025, and the revision of 2026-07-28. */
export const ERAS = ['legacy', 'modern'] as const;
export type Era = (typeof ERAS)[number];

const MODES = { legacy: 'legacy', modern: { pin: '2026-07-28' } } as const;

/** Connects the official client with an API key. Dispose it to close the connection. */
export async function connectMcp(
  baseUrl: string,
  key: string,
  era: Era = 'modern',
): Promise<{ client: Client } & AsyncDisposable> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: MODES[era] } });
  const headers = { Authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', baseUrl), { requestInit: { headers } }),
  );
  return { client, [Symbol.asyncDispose]: () => client.close() };
}
