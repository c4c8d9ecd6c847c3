import {
  ApplicationFailure,
  defaultPayloadConverter,
  proxySinks,
  type Sinks,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { TRACE_HEADER } from './contract.ts';

/** A workflow run that has ended. */
export interface WorkflowSpan {
  /** `traceparent` of the span that started the workflow. */
  parent: string;
  spanId: string;
  /** Start of the run in epoch milliseconds. */
  startedAt: number;
  /** Type of the failure; null if the run succeeded. */
  failure: string | null;
}

/** Sinks that the worker implements (platform/temporal/temporalTracing.ts). */
export interface TraceSinks extends Sinks {
  trace: { ended(span: WorkflowSpan): void };
}

const { trace } = proxySinks<TraceSinks>();

/**
 * Derives the span id of a run: 16 hexadecimal digits of the run id, which is a random UUID, so that a replay
 * computes the same span id.
 */
const spanIdOf = (runId: string): string => runId.replaceAll('-', '').slice(-16);

/**
 * Interceptors that pass the trace from a workflow to its activities and child workflows, and report the span of the
 * run. They change only headers, so a replay gives the same commands with and without a trace.
 */
export function interceptors(): WorkflowInterceptors {
  let headers = {};
  const withTrace = <T extends { headers: object }>(input: T) => ({
    ...input,
    headers: { ...input.headers, ...headers },
  });
  return {
    inbound: [
      {
        execute(input, next) {
          const payload = input.headers[TRACE_HEADER];
          if (payload === undefined) return next(input);
          const parent = String(defaultPayloadConverter.fromPayload(payload));
          const { runId, runStartTime } = workflowInfo();
          const spanId = spanIdOf(runId);
          const own = parent.replace(/^(\w+-\w+)-\w+/, `$1-${spanId}`);
          headers = { [TRACE_HEADER]: defaultPayloadConverter.toPayload(own) };
          const end = (failure: string | null) =>
            trace.ended({ parent, spanId, startedAt: runStartTime.getTime(), failure });
          return next(input).then(
            (result) => {
              end(null);
              return result;
            },
            (error: unknown) => {
              end((error instanceof ApplicationFailure && error.type) || 'internal');
              throw error;
            },
          );
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(withTrace(input)),
        scheduleLocalActivity: (input, next) => next(withTrace(input)),
        startChildWorkflowExecution: (input, next) => next(withTrace(input)),
      },
    ],
  };
}
