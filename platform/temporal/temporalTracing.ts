import { SpanKind } from '@opentelemetry/api';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import { TRACE_HEADER } from '../../workflows/contract.ts';
import type { TraceSinks } from '../../workflows/tracing.ts';
import { activeTraceparent, contextOf, inSpan } from '../trace.ts';
import type { Tracing } from '../tracing.ts';

/**
 * Adds the active span to the headers of workflows that a client starts. Signals are not traced, because they go to the
 * workflows of webhook endpoints, which serve many calls and therefore belong to no single trace.
 */
export const traceWorkflowStarts: WorkflowClientInterceptor = {
  start(input, next) {
    const traceparent = activeTraceparent();
    if (traceparent === undefined) return next(input);
    const headers: Headers = {
      ...input.headers,
      [TRACE_HEADER]: defaultPayloadConverter.toPayload(traceparent),
    };
    return next({ ...input, headers });
  },
};

/** Runs each activity of a traced workflow in a span. */
export const traceActivities: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute(input, next) {
      const payload = input.headers[TRACE_HEADER];
      if (payload === undefined) return next(input);
      const parent = contextOf(String(defaultPayloadConverter.fromPayload(payload)));
      const attributes = { 'temporal.attempt': info.attempt };
      return inSpan(`activity ${info.activityType}`, { parent, kind: SpanKind.CONSUMER, attributes }, () =>
        next(input),
      );
    },
  },
});

/** Creates the sinks through which workflows report the spans of their runs. */
export const traceSinks = (tracing: Tracing): InjectedSinks<TraceSinks> => ({
  trace: {
    ended: { fn: ({ workflowType }, span) => tracing.workflowEnded(workflowType, span) },
  },
});
