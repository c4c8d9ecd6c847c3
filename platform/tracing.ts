import { ProxyTracerProvider, SpanKind, trace } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { Env } from '../schemas/env.ts';
import type { WorkflowSpan } from '../workflows/tracing.ts';
import { contextOf, failSpan, SCOPE } from './trace.ts';

export interface Tracing {
  /** Records the span of a workflow run that has just ended. */
  workflowEnded(workflowType: string, span: WorkflowSpan): void;
  /** Exports the remaining spans and ends the export. */
  stop(): Promise<void>;
}

/** Timeout of one request to the trace collector, which also bounds how long a stopping process waits for the collector. */
const EXPORT_TIMEOUT_MS = 5000;

type TracingEnv = Pick<
  Env,
  'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS' | 'OTEL_TRACES_SAMPLER_ARG'
>;

/**
 * Starts the export of traces by OTLP over HTTP. Without a configured collector, the OpenTelemetry SDK is not loaded and no
 * span is recorded.
 *
 * Only the trace id decides whether a trace is exported, so that all processes make the same decision, and callers can
 * neither force nor prevent the export.
 *
 * @param process name of the process, exported as `service.name` with a prefix
 */
export async function startTracing(env: TracingEnv, process: string, log: Logger): Promise<Tracing> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = env;
  if (endpoint === null) return { workflowEnded: () => undefined, stop: async () => undefined };
  const [
    sdk,
    { OTLPTraceExporter },
    { resourceFromAttributes },
    core,
    { AsyncLocalStorageContextManager },
    api,
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/core'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/api'),
  ]);
  const warn = (message: string) => log.warn({ detail: message }, 'traces could not be exported');
  const ignore = () => undefined;
  api.diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    api.DiagLogLevel.WARN,
  );
  const random = new sdk.RandomIdGenerator();
  let nextSpanId: string | null = null;
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers: Object.fromEntries(env.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': `${SCOPE}-${process}` }),
    sampler: new sdk.TraceIdRatioBasedSampler(env.OTEL_TRACES_SAMPLER_ARG),
    idGenerator: {
      generateTraceId: () => random.generateTraceId(),
      generateSpanId: () => nextSpanId ?? random.generateSpanId(),
    },
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  });
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  // Spans that libraries create could contain input of callers, so only spans of this project's tracer are recorded.
  const none = new ProxyTracerProvider();
  trace.setGlobalTracerProvider({
    getTracer: (name) => (name === SCOPE ? provider : none).getTracer(name),
  });
  return {
    workflowEnded(workflowType, { parent, spanId, startedAt, failure }) {
      nextSpanId = spanId;
      const span = provider
        .getTracer(SCOPE)
        .startSpan(
          `workflow ${workflowType}`,
          { kind: SpanKind.CONSUMER, startTime: startedAt },
          contextOf(parent),
        );
      nextSpanId = null;
      if (failure !== null) failSpan(span, failure);
      span.end();
    },
    stop: () => provider.shutdown(),
  };
}
