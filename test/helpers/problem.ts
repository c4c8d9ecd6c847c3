import type { ExecutionContext } from 'ava';
import { ERRORS } from '../../schemas/errors.ts';
import { type Json, recordAt } from './json.ts';

/** Checks that a response has the status, headers and body of this error code. Returns the body. */
export async function isProblem(
  t: ExecutionContext,
  response: Response,
  code: keyof typeof ERRORS,
): Promise<Json> {
  const body = recordAt(await response.json());
  const { status, title } = ERRORS[code];
  t.is(body.code, code);
  t.is(response.status, status);
  t.is(response.headers.get('Content-Type'), 'application/problem+json');
  t.like(body, { type: `/docs/errors#${code}`, title, status });
  t.true(typeof body.detail === 'string' && body.detail.length > 10);
  t.regex(String(body.requestId), /^req_[0-9a-f-]{36}$/);
  t.is(response.headers.get('X-Request-Id'), String(body.requestId));
  const { headers } = response;
  t.is(headers.get('WWW-Authenticate'), status === 401 ? 'Bearer' : null);
  t.is(headers.has('Retry-After'), 'retryAfter' in ERRORS[code]);
  t.regex(headers.get('X-Credits-Charged') ?? '0', /^0$/);
  return body;
}
