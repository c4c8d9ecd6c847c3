import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ErrorCode, Fault } from './errors.ts';

/** Where a tool's work runs: one kind of worker process each, scaled on its own. */
export const POOLS = ['browser', 'cpu', 'network', 'heavy'] as const;
export type Pool = (typeof POOLS)[number];

/** The parts of a property's schema that our own code reads; ajv reads all of it. */
export interface PropertySchema {
  readonly description?: string;
  readonly writeOnly?: boolean;
  readonly [keyword: string]: unknown;
}

/** A closed JSON Schema object: what every tool takes and answers. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, PropertySchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
  readonly [keyword: string]: unknown;
}

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : never;

/** Everything there is to know about a tool; price list, routes, OpenAPI, queues and forms all derive from it. */
export interface ToolDefinition<
  I extends ObjectSchema = ObjectSchema,
  O extends ObjectSchema = ObjectSchema,
> {
  /** Path segment after `/api/v1/tools/`, and the name of the activity file. */
  name: string;
  title: string;
  /** A paragraph for the reference: what it does, what it refuses, what a surprising answer means. */
  description: string;
  /** Credits, charged exactly when a result is settled. */
  price: number;
  pool: Pool;
  /**
   * Whether the whole of it runs on a thread, which keeps the worker free but reaches nothing outside. Default: the
   * tools of the cpu pool do.
   */
  thread?: boolean;
  limits: {
    /**
     * Milliseconds the work may take in all, every attempt of it included; the wait for a free worker comes on
     * top (`POOL_WAIT`), and both together never pass 100 s, below what common proxies cut.
     */
    workMs: number;
    /** Milliseconds for one attempt. Default: workMs. */
    attemptMs?: number;
    /**
     * Attempts when a worker dies or breaks half way. Default 3. Tools that act on the world get one whatever
     * stands here.
     */
    attempts?: number;
    /** Largest request body, bytes. Default 1 MB. */
    bodyBytes?: number;
  };
  /** JSON Schema 2020-12, closed, each property described; `writeOnly: true` marks a secret. */
  input: I;
  /** JSON Schema 2020-12, closed, every property required (null where there is no value). */
  output: O;
  /** Pairs of input and output shown in the reference. The first input prefills the forms. */
  examples: readonly { input: Record<string, unknown>; output: Record<string, unknown> }[];
  /** Codes that the tool itself can answer, beyond those that every call can. */
  errors: readonly ErrorCode[];
  /** Faults that JSON Schema cannot express. Runs in the API after the schema, on the input with its defaults. */
  check?(input: TypeOf<I>): Fault[];
  /** True when this call changes something out there, so that it is sent at most once and never cut short. */
  actsOnWorld?(input: TypeOf<I>): boolean;
  /** Output fields that become the response itself when the caller's `Accept` ranks their type above JSON. */
  raw?: { data: string; mimeType: string; fileName?: string };
}

/** Declares a tool; the call exists so that the schemas keep their literal types. */
export function defineTool<const I extends ObjectSchema, const O extends ObjectSchema>(
  definition: ToolDefinition<I, O>,
): ToolDefinition<I, O> {
  return definition;
}

/** The validated input of a tool, defaults applied. */
export type ToolInput<D> = D extends { input: infer I extends ObjectSchema } ? TypeOf<I> : never;
/** The output of a tool. */
export type ToolOutput<D> = D extends { output: infer O extends ObjectSchema } ? TypeOf<O> : never;

/** Names of the input fields that are secrets: never stored, logged, fingerprinted or replayed. */
export function secretFields(definition: { input: ObjectSchema }): string[] {
  return Object.entries(definition.input.properties)
    .filter(([, schema]) => schema.writeOnly === true)
    .map(([name]) => name);
}
