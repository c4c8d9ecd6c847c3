import { ServiceError } from '../../schemas/errors.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { ResultReference, ReusedResult } from '../../store/calls/callDocs.ts';
import type { StoredLink } from '../../store/files/links.ts';
import type { Caller, Context } from '../http/context.ts';

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
/** Describes the format of an idempotency key, for error texts. */
export const IDEMPOTENCY_KEY_RULE = 'must be 1 to 255 visible ASCII characters';

export const isIdempotencyKey = (value: unknown): value is string =>
  typeof value === 'string' && IDEMPOTENCY_KEY.test(value);

/** Reads the Idempotency-Key of a request; null if it has none. @throws ServiceError invalid_header */
export function idempotencyKey(ctx: Context): string | null {
  const key = ctx.req.headers['idempotency-key'];
  if (key === undefined) return null;
  if (!isIdempotencyKey(key))
    throw new ServiceError('invalid_header', { detail: `Idempotency-Key ${IDEMPOTENCY_KEY_RULE}.` });
  return key;
}

/** Reads X-Max-Credits; infinity if the request has none. @throws ServiceError invalid_header */
export function maxCredits(ctx: Context): number {
  const text = ctx.req.headers['x-max-credits'];
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text))
    throw new ServiceError('invalid_header', { detail: 'X-Max-Credits must be a whole number of credits.' });
  return Number(text);
}

/** A request to run a tool, with its validated input. */
export interface ToolCall {
  caller: Caller;
  tool: ToolDefinition;
  input: Record<string, unknown>;
  /** SHA-256 of the file that was sent with the call; missing if none was. `fileUrl` is then the id under which it is stored. */
  fileDigest?: string | undefined;
  idempotencyKey: string | null;
  /** Highest price in credits that the caller accepts. */
  max: number;
  requestId: string;
  /** Id of the form that was sent, by which the dashboard finds the call while it runs. */
  formId?: string | undefined;
  /** When the request arrived, as `performance.now()`. */
  arrivedAt: number;
  /** Aborted when the response has ended or the caller disconnects. */
  hangup: AbortSignal;
  /** Called when the workflow has been started. */
  onStart?: () => void;
}

/** What two requests with the same Idempotency-Key must have in common: a file that is sent again is stored under another id. */
export const comparedInput = ({
  input,
  fileDigest,
}: Pick<ToolCall, 'input' | 'fileDigest'>): Record<string, unknown> =>
  fileDigest === undefined ? input : { ...input, fileUrl: `sha256:${fileDigest}` };

/**
 * How a call ended: with its output as JSON, for which it was charged, or with an error of the error table, for which
 * it was not.
 */
export interface CallOutcome {
  /** Credits available when the call ended; null if that is not known. */
  available: number | null;
  ending: { output: string | Buffer } | { error: ServiceError };
  /** Where the output is stored, if it is large. */
  stored?: ResultReference | undefined;
  /** The file that the output has the address of, if it has one. */
  linked?: StoredLink | undefined;
}

/** The outcome of a call as the answer to one request. */
export interface Answer extends Omit<CallOutcome, 'stored' | 'linked'> {
  callId: string;
  startedAt: Date;
  /** Id of the first request with this Idempotency-Key; the error response of a replay repeats it. */
  requestId: string;
  replayed: boolean;
  /** Credits charged for this response; 0 for a replay, the result of an earlier call, or an error. */
  charged: number;
  /** The earlier call whose result this is, because of `maxAge`; null if the tool ran for this call. */
  reused: ReusedResult | null;
  /** Names a file that this response has the address of, and that is kept if the response is not lost. */
  links(file: StoredLink): void;
  /**
   * Must be called once the response has ended. A result that did not reach the caller is refunded in the background.
   *
   * @param isComplete whether the operating system has taken the last byte of the response
   */
  ended(isComplete: boolean): void;
  /** Must be awaited before an error is sent instead of the output; refunds the call. */
  undelivered(fault: unknown): Promise<void>;
}
