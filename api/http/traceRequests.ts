import { SpanKind } from '@opentelemetry/api';
import type { Middleware } from 'koa';
import { contextOf, failSpan, inSpan } from '../../platform/trace.ts';
import type { State } from './context.ts';

/** Paths that are not traced: health checks arrive every few seconds. */
const UNTRACED = new Set(['/livez', '/readyz']);

/**
 * Creates middleware that runs each request in a span. The span continues the caller's trace if the request has a
 * valid `traceparent`. `tracestate` is ignored, because it can contain anything.
 */
export const traceRequests = (): Middleware<State> => (ctx, next) => {
  if (UNTRACED.has(ctx.path)) return next();
  const { traceparent } = ctx.req.headers;
  const parent = contextOf(typeof traceparent === 'string' ? traceparent : undefined);
  return inSpan(ctx.method, { parent, kind: SpanKind.SERVER }, async (span) => {
    await next();
    const { status } = ctx;
    // The span has the route pattern and not the path, because the path may contain ids.
    const route = typeof ctx.routerPath === 'string' ? ctx.routerPath : 'none';
    span.updateName(`${ctx.method} ${route}`);
    span.setAttributes({
      'http.request.method': ctx.method,
      'http.route': route,
      'http.response.status_code': status,
      'utility_tools.request_id': ctx.state.requestId,
    });
    if (status >= 500) failSpan(span, String(status));
  });
};
