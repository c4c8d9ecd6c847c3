import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/**
 * The two kinds of protocol revisions that the MCP endpoint serves: `legacy` for clients of 2025, `modern` for revision
 * 2026-07-28.
 */
export const ERAS = ['legacy', 'modern'] as const;
export type Era = (typeof ERAS)[number];

const MODES = { legacy: 'legacy', modern: { pin: '2026-07-28' } } as const;

/** Connects the official MCP client with an API key. Disposing it closes the connection. */
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
