import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { cutText, ERRORS, ServiceError } from '../../schemas/errors.ts';
import { endLeftover } from './body.ts';
import type { Context, State } from './context.ts';
import type { ApiMetrics } from './metrics.ts';
import { limitSending } from './sending.ts';

/** UTF-16 code units: a detail may quote what a target said. */
const MAX_DETAIL_LENGTH = 2000;

/** The body of RFC 9457 for an error of the table. */
export function problemBody(error: ServiceError, requestId: string): Record<string, unknown> {
  const { status, title } = ERRORS[error.code];
  return {
    type: `/docs/errors#${error.code}`,
    title,
    status,
    detail: cutText(error.detail, MAX_DETAIL_LENGTH),
    code: error.code,
    requestId,
    ...error.members,
  };
}

/** Answers with an error. `requestId` is the first call's when a refusal is replayed. */
export function sendProblem(ctx: Context, error: ServiceError, requestId: string): void {
  ctx.status = ERRORS[error.code].status;
  ctx.body = JSON.stringify(problemBody(error, requestId));
  ctx.type = 'application/problem+json';
  if (error.retryAfter !== undefined) ctx.set('Retry-After', String(error.retryAfter));
  if (ctx.status === 401) ctx.set('WWW-Authenticate', 'Bearer');
}

/** An error as one of the table; what is our fault is logged, under the request's id. */
export function asKnown(error: unknown, log: Logger, requestId: string): ServiceError {
  const known = error instanceof ServiceError ? error : new ServiceError('internal', { cause: error });
  if (known.code === 'internal') log.error({ err: known.cause ?? known, requestId }, 'internal');
  return known;
}

/** The values of a header, one for each time it was sent. */
const sentValues = ({ rawHeaders }: IncomingMessage, name: string): string[] =>
  rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1);

/**
 * Why the headers of a request are invalid; null when they are not. Without a check Node takes the first Authorization
 * of several, while a proxy in front may have looked at the last.
 */
function headerFault(request: IncomingMessage): string | null {
  if (sentValues(request, 'authorization').length > 1) return 'Authorization: more than one.';
  return hostFault(request);
}

/** Why the Host is invalid (RFC 9112 section 3.2), or null. */
function hostFault(request: IncomingMessage): string | null {
  const { httpVersion } = request;
  const hosts = sentValues(request, 'host');
  const [host] = hosts;
  if (host === undefined) return httpVersion === '1.1' ? 'Host: missing.' : null;
  if (hosts.length > 1) return 'Host: more than one.';
  return host === '' || (/^[^\s/?#@\\]+$/.test(host) && URL.canParse(`http://${host}`))
    ? null
    : 'Host: invalid.';
}

/**
 * The outermost layer: gives the request its id, logs and counts how it ended, turns every error into a problem, and ends
 * connections that do not read the answer or do not stop sending.
 */
export function problems(log: Logger, metrics: Pick<ApiMetrics, 'request'>): Middleware<State> {
  return async (ctx, next) => {
    const started = performance.now();
    ctx.state.requestId = `req_${randomUUID()}`;
    ctx.set('X-Request-Id', ctx.state.requestId);
    ctx.set('X-Content-Type-Options', 'nosniff');
    try {
      const detail = headerFault(ctx.req);
      if (detail !== null) throw new ServiceError('invalid_header', { detail });
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw new ServiceError('not_found');
    } catch (error) {
      const { requestId } = ctx.state;
      sendProblem(ctx, asKnown(error, log, requestId), requestId);
    }
    endLeftover(ctx.req, ctx.res);
    limitSending(ctx.res, ctx.body);
    const ms = performance.now() - started;
    metrics.request(ctx, ms / 1000);
    log.info(
      {
        requestId: ctx.state.requestId,
        method: ctx.method,
        path: ctx.path,
        status: ctx.status,
        ms: Math.round(ms),
      },
      'request',
    );
  };
}
