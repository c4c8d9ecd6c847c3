import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord } from '../../schemas/isRecord.ts';
import type { TestAccount } from '../helpers/account.ts';
import { recordAt } from '../helpers/json.ts';
import { callMessage, type Era, messageOf } from '../helpers/mcp.ts';

/** Milliseconds for which `callUntilResult` retries a call. */
const RETRY_MS = 90_000;
const PAUSE_MS = 250;
/**
 * Timeout in milliseconds of one call, longer than any call takes; a connection without a response until then counts as
 * broken.
 */
const CALL_MS = 110_000;

/**
 * Returns an account whose calls go through MCP instead of the HTTP API. A result or an error of a tool is returned as
 * the HTTP API would return it: the structured content as the body, with its status.
 */
export function throughMcp(
  { baseUrl, account }: { baseUrl: string; account: Pick<TestAccount, 'toolsKey'> },
  era: Era,
): Pick<TestAccount, 'call'> {
  return {
    async call(tool, input, { 'Idempotency-Key': idempotencyKey } = {}) {
      const { headers, body } = callMessage(
        era,
        tool,
        recordAt(input),
        idempotencyKey === undefined ? {} : { idempotencyKey },
      );
      const response = await fetch(`${baseUrl}/mcp`, {
        method: 'POST',
        headers: { ...headers, Authorization: `Bearer ${account.toolsKey}` },
        body,
      });
      // A request that is refused before its message is read gets problem details instead of a JSON-RPC response.
      if (response.status !== 200) return response;
      const text = await response.text();
      const { result } = messageOf(text);
      // A JSON-RPC error is an answer, so the call must not have been charged.
      if (!isRecord(result)) return new Response(text, { status: 500 });
      const output = recordAt(result.structuredContent);
      return Response.json(output, { status: result.isError === true ? Number(output.status) : 200 });
    },
  };
}

/** Makes one call of hash-text. Returns null when the connection broke. */
export async function callOnce(
  account: Pick<TestAccount, 'call'>,
  text: string,
  idempotencyKey: string | null,
): Promise<Response | null> {
  const headers = idempotencyKey === null ? {} : { 'Idempotency-Key': idempotencyKey };
  try {
    return await account.call('hash-text', { text }, headers);
  } catch {
    return null; // the API process has been killed and has not restarted yet
  }
}

/**
 * Retries a call with the same Idempotency-Key until it succeeds, as a robust client does.
 *
 * @returns the response body; null when the call did not succeed within 90 s
 * @throws on a 4xx response
 */
export async function callUntilResult(
  account: Pick<TestAccount, 'call'>,
  text: string,
  idempotencyKey: string,
): Promise<string | null> {
  for (const end = Date.now() + RETRY_MS; Date.now() < end; await sleep(PAUSE_MS)) {
    const response = await Promise.race([
      callOnce(account, text, idempotencyKey),
      sleep(CALL_MS, null, { ref: false }),
    ]);
    if (response?.status === 200) return response.text();
    if (response !== null && response.status < 500)
      throw new Error(`${idempotencyKey}: ${response.status} ${await response.text()}`);
  }
  return null;
}
