import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { MongoClient } from 'mongodb';
import { ServiceError } from '../schemas/errors.ts';

/** Instrumentation scope of all spans of this project. */
export const SCOPE = 'utility-tools';

/** Without a configured collector this tracer creates spans that record nothing. */
const tracer = trace.getTracer(SCOPE);

interface SpanOptions {
  /** Default: the active span. */
  parent?: Context;
  kind?: SpanKind;
  /** Must contain neither secrets nor input of callers. */
  attributes?: Attributes;
}

/**
 * Returns a context whose active span is the one that `traceparent` names; the root context if `traceparent` is
 * missing or invalid.
 */
export const contextOf = (traceparent: string | undefined): Context =>
  traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });

/** Runs `work` with the active span of another context. */
export const inContext = <T>(other: Context, work: () => Promise<T>): Promise<T> => context.with(other, work);

/** Returns the `traceparent` of the active span; undefined if there is none. */
export function activeTraceparent(): string | undefined {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

/** Returns the type of a failure for a span. Messages are left out, because they can quote input of callers. */
function failureType(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error && 'type' in error && typeof error.type === 'string'
    ? error.type
    : 'internal';
}

/** Marks a span as failed. @param type error code */
export function failSpan(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Runs `work` in a span that is active until `work` ends. @throws as `work` */
export function inSpan<T>(
  name: string,
  { parent = context.active(), kind = SpanKind.INTERNAL, attributes = {} }: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, { kind, attributes }, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      failSpan(span, failureType(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Runs `work` in a span for a request to another machine if a span is active; otherwise runs it without a span. */
export const inClientSpan = <T>(name: string, work: () => Promise<T>): Promise<T> =>
  trace.getActiveSpan() === undefined ? work() : inSpan(name, { kind: SpanKind.CLIENT }, work);

/**
 * Creates a span for each MongoDB command that is sent while a span is active, with the names of the command and its
 * collection. The client must have been created with `monitorCommands`. Steps that share one update
 * (store/ledger/batchUpdates.ts) share the span of the first one.
 */
export function traceCommands(client: MongoClient): void {
  const running = new Map<number, Span>();
  const end = (requestId: number): void => {
    running.get(requestId)?.end();
    running.delete(requestId);
  };
  client.on('commandStarted', ({ requestId, commandName, command }) => {
    if (trace.getActiveSpan() === undefined) return;
    const collection: unknown = command[commandName];
    const attributes = {
      'db.system.name': 'mongodb',
      'db.operation.name': commandName,
      ...(typeof collection === 'string' && { 'db.collection.name': collection }),
    };
    const name = `mongodb ${commandName}`;
    running.set(requestId, tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }));
  });
  client.on('commandSucceeded', ({ requestId }) => end(requestId));
  client.on('commandFailed', ({ requestId }) => {
    const span = running.get(requestId);
    if (span !== undefined) failSpan(span, 'internal');
    end(requestId);
  });
}
