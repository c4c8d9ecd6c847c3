import { isRecord } from '../../schemas/isRecord.ts';
import { makeAccount } from '../helpers/account.ts';
import { callMessage, ERAS, type Era, resultOf } from '../helpers/mcp.ts';
import type { Stack } from '../helpers/stack.ts';
import type { Sizes } from './sizes.ts';

interface McpRow {
  era: Era;
  /** p50 in milliseconds. */
  http: number;
  /** p50 in milliseconds. */
  mcp: number;
  /** Milliseconds that a call through MCP takes longer: the difference of the p50. */
  overhead: number;
}

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
export async function benchMcp(stack: Stack, { rounds, calls }: Sizes['mcp']): Promise<McpRow[]> {
  const account = await makeAccount(stack, 1_000_000);
  const callHttp = async (text: string) => {
    const response = await account.call('hash-text', { text });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.json();
  };
  const callMcp = async (era: Era, text: string) => {
    const { headers, body } = callMessage(era, 'hash-text', { text });
    const response = await fetch(`${stack.baseUrl}/mcp`, {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${account.toolsKey}` },
      body,
    });
    const received = await response.text();
    const result = resultOf(received);
    if (!isRecord(result.structuredContent) || result.isError === true)
      throw new Error(`${response.status} ${received}`);
  };

  const rows: McpRow[] = [];
  for (const era of ERAS) {
    const times: { http: number; mcp: number }[] = [];
    for (let index = -calls; index < rounds * calls; index++) {
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
