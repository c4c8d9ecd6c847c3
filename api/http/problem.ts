import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { cutText, ERRORS, ServiceError } from '../../schemas/errors.ts';
import { drainRequest } from './body.ts';
import type { CallRecord, Context, State } from './context.ts';
import { holderOf } from './heldBytes.ts';
import { limitSending } from './limitSending.ts';
import type { ApiMetrics } from './metrics.ts';
import type { PhaseTimes } from './phases.ts';

/** Maximum length of `detail` in UTF-16 code units, because it may quote the response of a target. */
const MAX_DETAIL_LENGTH = 2000;

/** Returns the problem details object (RFC 9457) for an error; title and status come from the error table. */
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

/** Sends an error response. For the replay of a refused call, `requestId` is the id of the first request. */
export function sendProblem(ctx: Context, error: ServiceError, requestId: string): void {
  ctx.status = ERRORS[error.code].status;
  ctx.state.code = error.code;
  ctx.body = JSON.stringify(problemBody(error, requestId));
  ctx.type = 'application/problem+json';
  if (error.retryAfter !== undefined) ctx.set('Retry-After', String(error.retryAfter));
  // The header is kept if a route has set a challenge with more parameters.
  if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate')) ctx.set('WWW-Authenticate', 'Bearer');
}

/** Converts an error to a `ServiceError`, and logs `internal` errors with the request id. */
export function toServiceError(error: unknown, log: Logger, requestId: string): ServiceError {
  const known = error instanceof ServiceError ? error : new ServiceError('internal', { cause: error });
  if (known.code === 'internal') log.error({ err: known.cause ?? known, requestId }, 'internal error');
  return known;
}

/** Returns all values of a header, which may be repeated. */
const sentValues = ({ rawHeaders }: IncomingMessage, name: string): string[] =>
  rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1);

/**
 * Describes why the headers of a request are invalid; null if they are valid. Repeated Authorization headers are
 * refused because Node.js uses the first one, while a proxy in front may have checked the last.
 */
function headerFault(request: IncomingMessage): string | null {
  if (sentValues(request, 'authorization').length > 1)
    return 'The request has more than one Authorization header.';
  return hostFault(request);
}

/** Describes why the Host header is invalid (RFC 9112, section 3.2); null if it is valid. */
function hostFault(request: IncomingMessage): string | null {
  const { httpVersion } = request;
  const hosts = sentValues(request, 'host');
  const [host] = hosts;
  if (host === undefined) return httpVersion === '1.1' ? 'The Host header is missing.' : null;
  if (hosts.length > 1) return 'The request has more than one Host header.';
  return host === '' || (/^[^\s/?#@\\]+$/.test(host) && URL.canParse(`http://${host}`))
    ? null
    : 'The Host header is invalid.';
}

/**
 * Returns the fields that a tool call adds to the log line of its request: the tool, the credits charged, and the
 * milliseconds of each phase.
 */
function callFields({ tool, charged }: CallRecord, times: PhaseTimes): object {
  const phases = Object.entries(times).map(([phase, ms]) => [phase, Math.round(ms)]);
  return { tool, credits: charged, phases: Object.fromEntries(phases) };
}

/**
 * Creates the outermost middleware: assigns the request id, converts errors to error responses, logs and counts
 * responses, and closes the connections of clients that do not read the response or do not stop sending.
 */
export function problems(log: Logger, metrics: Pick<ApiMetrics, 'request' | 'phases'>): Middleware<State> {
  return async (ctx, next) => {
    ctx.state.arrivedAt = performance.now();
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
      sendProblem(ctx, toServiceError(error, log, requestId), requestId);
    }
    drainRequest(ctx.req, ctx.res);
    const body = limitSending(ctx.res, ctx.body, holderOf(ctx));
    if (body !== ctx.body) {
      const length = ctx.res.getHeader('Content-Length');
      ctx.body = body;
      // Koa removes the length with the earlier body.
      if (length !== undefined) ctx.res.setHeader('Content-Length', length);
    }
    const ms = performance.now() - ctx.state.arrivedAt;
    metrics.request(ctx, ms / 1000);
    const { call } = ctx.state;
    const times = call?.phases.times();
    if (call && times) metrics.phases(call.tool, times);
    log.info(
      {
        requestId: ctx.state.requestId,
        method: ctx.method,
        path: ctx.path,
        status: ctx.status,
        code: ctx.state.code,
        account: ctx.state.caller?.account._id,
        ...(call && times && callFields(call, times)),
        ms: Math.round(ms),
      },
      'request',
    );
  };
}
