import { createServer, type IncomingHttpHeaders } from 'node:http';
import { listen } from './egress.ts';
import { recordAt, recordsAt } from './json.ts';

/** A span as the collector received it. */
export interface CollectedSpan {
  /** The resource attribute `service.name` of the process that sent the span. */
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** Id of the parent span; an empty string for a root span. */
  parentSpanId: string;
  attributes: Record<string, unknown>;
  events: unknown;
}

/** An OpenTelemetry collector on loopback: receives OTLP over HTTP as JSON. */
export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** The bodies of all received requests. */
  bodies: string[];
  /** The headers of the last received request. */
  headers: IncomingHttpHeaders;
  close(): void;
}

/** Decodes a list of OTLP attributes, in which each value is wrapped in an object whose key names its type. */
const attributesOf = (list: unknown): Record<string, unknown> =>
  Object.fromEntries(
    recordsAt(list).map(({ key, value }) => [String(key), Object.values(recordAt({ value }, 'value'))[0]]),
  );

/** Returns the spans of an ExportTraceServiceRequest (opentelemetry-proto, trace_service.proto). */
const spansOf = (request: unknown): CollectedSpan[] =>
  recordsAt(recordAt({ request }, 'request').resourceSpans).flatMap(({ resource, scopeSpans }) =>
    recordsAt(scopeSpans).flatMap(({ spans }) =>
      recordsAt(spans).map((span) => ({
        service: String(attributesOf(recordAt({ resource }, 'resource').attributes)['service.name']),
        name: String(span.name),
        traceId: String(span.traceId),
        spanId: String(span.spanId),
        parentSpanId: String(span.parentSpanId ?? ''),
        attributes: attributesOf(span.attributes),
        events: span.events,
      })),
    ),
  );

export async function startCollector(): Promise<Collector> {
  const collector: Omit<Collector, 'url' | 'close'> = { spans: [], bodies: [], headers: {} };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    collector.bodies.push(body);
    collector.headers = request.headers;
    if (request.url === '/v1/traces') collector.spans.push(...spansOf(JSON.parse(body)));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  const port = await listen(server);
  return Object.assign(collector, {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  });
}
