import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordAt } from '../../helpers/json.ts';
import type { Kind, Plan } from './kinds.ts';

/** One request, and its response as the caller received it. */
export interface Observation {
  accountId: string;
  /** The public prefix of the API key. */
  keyPrefix: string;
  id: string;
  kind: Kind;
  key: string | null;
  /** Name of the API process that got the request. */
  api: string;
  hungUp: boolean;
  endedAt: number;
  /** null if the connection ended before the response was complete. */
  response: Seen | null;
}

export interface Seen {
  status: number;
  /** Error code of the response; null for a result. */
  code: string | null;
  requestId: string;
  /** Value of the X-Credits-Charged header. */
  charged: string | null;
  replayed: boolean;
  /** SHA-256 of the response body. */
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
const PREFIX = 9;

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

function read({ status, headers }: Response, body: string, { kind, id }: Plan): Seen {
  const output = recordAt(JSON.parse(body));
  return {
    status,
    code: status === 200 ? null : String(output.code),
    requestId: headers.get('X-Request-Id') ?? '',
    charged: headers.get('X-Credits-Charged'),
    replayed: headers.get('Idempotent-Replayed') === 'true',
    digest: createHash('sha256').update(body).digest('hex'),
    isRight: status === 200 && kind.isRight(output, id),
  };
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
    const { id, kind, key } = plan;
    const index = api % baseUrls.length;
    const init = {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${apiKey}`,
        'Content-Type': 'application/json',
        ...(key === null ? {} : { 'Idempotency-Key': key }),
      },
      body: JSON.stringify(kind.input(id, target)),
    };
    const received = await receive(`${baseUrls[index]}/api/v1/tools/${kind.tool}`, init, hangUpMs);
    const seen = received === null ? null : read(received.response, received.body, plan);
    observe({
      accountId,
      keyPrefix: apiKey.slice(0, PREFIX),
      id,
      kind,
      key,
      api: index === 0 ? 'api' : `api-${index + 1}`,
      hungUp: hangUpMs !== null,
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
