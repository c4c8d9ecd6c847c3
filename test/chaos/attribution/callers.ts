import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Json, recordAt } from '../../helpers/json.ts';
import { callMessage, resultOf } from '../../helpers/mcp.ts';
import type { Kind, Plan } from './kinds.ts';

/** One request, and its response as the caller received it. */
export interface Observation {
  accountId: string;
  /** The public prefix of the API key. */
  keyPrefix: string;
  id: string;
  kind: Kind;
  key: string | null;
  through: Plan['through'];
  /** Name of the API process that got the request. */
  api: string;
  hungUp: boolean;
  /** Whether the connection ended before the operating system could take the whole response. Such a call is never charged. */
  isLost: boolean;
  endedAt: number;
  /** null if the connection ended before the response was complete. */
  response: Seen | null;
}

export interface Seen {
  status: number;
  /** Error code of the response; null for a result. */
  code: string | null;
  requestId: string;
  /** Value of the X-Credits-Charged header or of `_meta.charged`; null for a refusal through MCP. */
  charged: string | null;
  replayed: boolean;
  /** SHA-256 of the response body or, through MCP, of the structured content. */
  digest: string;
  /** Whether the output is correct for this call. */
  isRight: boolean;
}

/** Timeout in milliseconds of one request: longer than any call takes, even while an API process is stopped. */
const ANSWERED_WITHIN_MS = 150_000;
/** Milliseconds for which a caller repeats a call that has an Idempotency-Key. */
const RETRY_MS = 120_000;
const RETRY_PAUSE_MS = 250;
/** Number of characters in the public prefix of an API key. */
export const PREFIX = 9;

export interface Caller {
  /**
   * Makes a call: sends its concurrent requests and repeats them as planned. Returns the last response to each request.
   */
  make(plan: Plan): Promise<(Seen | null)[]>;
  /** Sends one request of a call. */
  send(plan: Plan, hangUpMs: number | null, api?: number): Promise<Seen | null>;
}

interface Settings {
  accountId: string;
  apiKey: string;
  baseUrls: readonly string[];
  /** Origin of the server that http-request connects to. */
  target: string;
  observe(observation: Observation): void;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function readHttp(
  { status, headers }: Response,
  body: string,
): { seen: Omit<Seen, 'isRight'>; output: Json } {
  const output = recordAt(JSON.parse(body));
  const seen = {
    status,
    code: status === 200 ? null : String(output.code),
    requestId: headers.get('X-Request-Id') ?? '',
    charged: headers.get('X-Credits-Charged'),
    replayed: headers.get('Idempotent-Replayed') === 'true',
    digest: sha256(body),
  };
  return { seen, output };
}

function readMcp(response: Response, body: string): { seen: Omit<Seen, 'isRight'>; output: Json } {
  const result = resultOf(body);
  const output = recordAt(result.structuredContent);
  const { charged = null, replayed = false } = recordAt(result._meta ?? {});
  const seen = {
    status: result.isError === true ? Number(output.status) : 200,
    code: result.isError === true ? String(output.code) : null,
    requestId: response.headers.get('X-Request-Id') ?? '',
    charged: charged === null ? null : String(charged),
    replayed: replayed === true,
    digest: sha256(JSON.stringify(output)),
  };
  return { seen, output };
}

/** Reads a complete response. */
export function read(
  response: Response,
  body: string,
  { kind, id, through }: Pick<Plan, 'kind' | 'id' | 'through'>,
): Seen {
  // A request that is refused before its message is read gets problem details instead of a JSON-RPC response.
  const isMcp = through !== 'http' && response.status === 200;
  const { seen, output } = isMcp ? readMcp(response, body) : readHttp(response, body);
  return { ...seen, isRight: seen.status === 200 && kind.isRight(output, id) };
}

/**
 * Returns a response and its body; null when the connection ended before they were complete. @throws when the timeout
 * passes
 */
async function receive(url: string, init: RequestInit, hangUpMs: number | null) {
  try {
    const response = await fetch(url, {
      ...init,
      signal: AbortSignal.timeout(hangUpMs ?? ANSWERED_WITHIN_MS),
    });
    return { response, body: await response.text() };
  } catch (error) {
    const isLate = hangUpMs === null && error instanceof DOMException && error.name === 'TimeoutError';
    if (isLate) throw new Error(`${url} did not answer`, { cause: error });
    return null;
  }
}

/** Whether a repeated request would get the same response. */
const isFinal = (seen: Seen | null): boolean =>
  seen !== null && (seen.replayed || (seen.status < 500 && seen.status !== 429));

export function createCaller({ accountId, apiKey, baseUrls, target, observe }: Settings): Caller {
  async function send(plan: Plan, hangUpMs: number | null, api = plan.api): Promise<Seen | null> {
    const { id, kind, key, through } = plan;
    const index = api % baseUrls.length;
    const input = kind.input(id, target);
    const { path, headers, body } =
      through === 'http'
        ? {
            path: `/api/v1/tools/${kind.tool}`,
            headers: { 'Content-Type': 'application/json', ...(key !== null && { 'Idempotency-Key': key }) },
            body: JSON.stringify(input),
          }
        : {
            path: '/mcp',
            ...callMessage(through, kind.tool, input, key === null ? {} : { idempotencyKey: key }),
          };
    const init = { method: 'POST', headers: { ...headers, Authorization: `Bearer ${apiKey}` }, body };
    const received = await receive(`${baseUrls[index]}${path}`, init, hangUpMs);
    const seen = received === null ? null : read(received.response, received.body, plan);
    observe({
      accountId,
      keyPrefix: apiKey.slice(0, PREFIX),
      id,
      kind,
      key,
      through,
      api: index === 0 ? 'api' : `api-${index + 1}`,
      hungUp: hangUpMs !== null,
      isLost: false,
      endedAt: Date.now(),
      response: seen,
    });
    return seen;
  }

  return {
    send,
    async make(plan) {
      const first = plan.requests.map((hangUpMs, i) => send(plan, hangUpMs, plan.api + i));
      let seen = await Promise.all(first);
      const end = Date.now() + RETRY_MS;
      for (let api = plan.api + 1; !plan.givesUp && !seen.some(isFinal) && Date.now() < end; api++) {
        await sleep(RETRY_PAUSE_MS);
        seen = [await send(plan, null, api)];
      }
      return seen;
    },
  };
}
