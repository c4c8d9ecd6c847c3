import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordAt } from '../../helpers/json.ts';
import type { Kind, Plan } from './kinds.ts';

/** One request and its response as the caller observed them. */
export interface Observation {
  accountId: string;
  /** First characters of the API key. */
  keyPrefix: string;
  id: string;
  kind: Kind;
  key: string | null;
  /** Name of the API process. */
  api: string;
  hungUp: boolean;
  endedAt: number;
  /** Null: the connection ended before the response was complete. */
  response: Seen | null;
}

export interface Seen {
  status: number;
  /** Error code; null for a result. */
  code: string | null;
  requestId: string;
  /** X-Credits-Charged. */
  charged: string | null;
  replayed: boolean;
  /** SHA-256 of the body. */
  digest: string;
  /** The result is the correct one. */
  isRight: boolean;
}

/** Longer than any call takes, a stopped API process included. */
const ANSWERED_WITHIN_MS = 150_000;
/** Milliseconds for which a caller repeats a call with a key. */
const RETRY_MS = 120_000;
const RETRY_PAUSE_MS = 250;
/** Length of the public prefix of an API key. */
const PREFIX = 9;

export interface Caller {
  /** Makes the call with all its duplicates and repetitions. Returns the last responses. */
  make(plan: Plan): Promise<(Seen | null)[]>;
  /** Sends one request of the call. */
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

/** Returns the response and its body; null when the connection ended before they were complete. @throws when it is late */
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

/** A repetition would not change the response. */
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
