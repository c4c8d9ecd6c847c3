import { isRecord } from '../../schemas/isRecord.ts';
import { makeAccount } from '../helpers/account.ts';
import { ERAS, type Era } from '../helpers/mcp.ts';
import type { Stack } from '../helpers/stack.ts';

const CALLS_PER_ROUND = 100;

export interface McpRow {
  era: Era;
  /** p50 in milliseconds. */
  http: number;
  /** p50 in milliseconds. */
  mcp: number;
  /** Milliseconds that a call through MCP takes longer: the difference of the p50. */
  overhead: number;
}

const REVISIONS: Readonly<Record<Era, string>> = { legacy: '2025-11-25', modern: '2026-07-28' };

/** Creates the headers and the body of a call of hash-text through MCP. */
function message(era: Era, text: string): { headers: Record<string, string>; body: string } {
  const revision = REVISIONS[era];
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const modern = era === 'modern';
  const params = { name: 'hash-text', arguments: { text }, ...(modern && { _meta: meta }) };
  return {
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
      ...(modern && { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'hash-text' }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  };
}

/** Reads the result of a JSON-RPC response, which is JSON or the only event of a stream. */
const resultOf = (text: string): unknown => {
  const response: unknown = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  return isRecord(response) ? response.result : undefined;
};

const timeOf = async (work: Promise<void>): Promise<number> => {
  const start = performance.now();
  await work;
  return performance.now() - start;
};

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/**
 * Compares calls of hash-text through MCP with calls through the HTTP API. The calls alternate, so that other load on
 * the machine affects both alike.
 */
export async function benchMcp(stack: Stack, rounds: number): Promise<McpRow[]> {
  const account = await makeAccount(stack, 1_000_000);
  const callHttp = async (text: string) => {
    const response = await account.call('hash-text', { text });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.json();
  };
  const callMcp = async (era: Era, text: string) => {
    const { headers, body } = message(era, text);
    const response = await fetch(`${stack.baseUrl}/mcp`, {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${account.toolsKey}` },
      body,
    });
    const received = await response.text();
    const result = resultOf(received);
    if (!isRecord(result) || !isRecord(result.structuredContent) || result.isError === true)
      throw new Error(`${response.status} ${received}`);
  };

  const rows: McpRow[] = [];
  for (const era of ERAS) {
    const times: { http: number; mcp: number }[] = [];
    for (let index = -CALLS_PER_ROUND; index < rounds * CALLS_PER_ROUND; index++) {
      const text = `bench ${index}`;
      const pair = { http: await timeOf(callHttp(text)), mcp: await timeOf(callMcp(era, text)) };
      // The first calls warm up both sides and are not counted.
      if (index >= 0) times.push(pair);
    }
    const http = median(times.map((pair) => pair.http));
    const mcp = median(times.map((pair) => pair.mcp));
    rows.push({ era, http, mcp, overhead: mcp - http });
  }
  return rows;
}
