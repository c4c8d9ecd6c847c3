import { ApiError, ConnectionError, type Problem } from './errors.ts';

/** A response whose body has arrived completely. */
export interface Reply {
  status: number;
  headers: Headers;
  body: string;
}

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' &&
  value !== null &&
  'code' in value &&
  typeof value.code === 'string' &&
  'detail' in value &&
  typeof value.detail === 'string' &&
  (!('errors' in value) || Array.isArray(value.errors));

/** Parses JSON; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True if the response has the expected type and has arrived completely. */
export function isComplete({ status, headers, body }: Reply, type: string): boolean {
  if (status === 204) return true;
  if (!headers.get('Content-Type')?.startsWith(type)) return false;
  return type !== 'application/json' || parseJson(body) !== undefined;
}

/** Milliseconds of `Retry-After` (RFC 9110, 10.2.3), or null. */
export function retryAfterOf(headers: Headers): number | null {
  const text = headers.get('Retry-After');
  if (text === null) return null;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : Math.max(0, time - Date.now());
}

/** Creates the error for an unsuccessful response. */
export function errorOf(
  { status, headers, body }: Reply,
  { isTool, idempotencyKey }: { isTool: boolean; idempotencyKey: string | null },
): ApiError | ConnectionError {
  const problem = parseJson(body);
  const isJson = headers.get('Content-Type')?.startsWith('application/problem+json') ?? false;
  if (isJson && isProblem(problem))
    return new ApiError(problem, { isTool, idempotencyKey, retryAfterMs: retryAfterOf(headers) });
  return new ConnectionError(
    `The response has status ${status} and does not come from the Utility Tools API, but from a proxy or another ` +
      'server. Check the base URL; if it is right, retry later.',
    { idempotencyKey, status, retryAfterMs: retryAfterOf(headers) },
  );
}
