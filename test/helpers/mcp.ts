import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { isRecord } from '../../schemas/isRecord.ts';
import { type Json, recordAt } from './json.ts';

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

const REVISIONS: Readonly<Record<Era, string>> = { legacy: '2025-11-25', modern: '2026-07-28' };

/** Creates the headers and the body of the request that calls a tool, for tests that send requests without the client. */
export function callMessage(
  era: Era,
  name: string,
  args: Json,
  meta: Json = {},
): { headers: Record<string, string>; body: string } {
  const revision = REVISIONS[era];
  const modern = era === 'modern';
  const _meta = {
    ...meta,
    ...(modern && {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientCapabilities': {},
    }),
  };
  const params = { name, arguments: args, _meta };
  return {
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
      ...(modern && { 'Mcp-Method': 'tools/call', 'Mcp-Name': name }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  };
}

/** Reads a JSON-RPC response, which is JSON or the only event of a stream. */
export function messageOf(text: string): Json {
  return recordAt(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text));
}

/** Reads the result of a JSON-RPC response. @throws Error if it has none */
export function resultOf(text: string): Json {
  const { result } = messageOf(text);
  if (!isRecord(result)) throw new Error(`no result: ${text}`);
  return result;
}
