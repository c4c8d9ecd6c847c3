import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ErrorCode, Fault } from './errors.ts';

/** Pools of workers. Each has its own task queue and worker processes and scales independently. */
export const POOLS = ['browser', 'cpu', 'network', 'heavy'] as const;
export type Pool = (typeof POOLS)[number];

/** The keywords of a property's schema that this project reads; ajv reads all of them. */
export interface PropertySchema {
  readonly description?: string;
  readonly writeOnly?: boolean;
  readonly [keyword: string]: unknown;
}

/** A JSON Schema of an object without additional properties; the input and the output of every tool. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, PropertySchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
  readonly [keyword: string]: unknown;
}

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : never;

/** The definition of a tool, from which price list, routes, OpenAPI, queues and forms derive. */
export interface ToolDefinition<
  I extends ObjectSchema = ObjectSchema,
  O extends ObjectSchema = ObjectSchema,
> {
  /** Path segment after `/api/v1/tools/`, and the name of the activity file. */
  name: string;
  title: string;
  /** A paragraph for the reference: purpose, refusals, and results that need an explanation. */
  description: string;
  /** Credits, charged if and only if the call returns a result. */
  price: number;
  pool: Pool;
  /**
   * Whether the run function runs on a thread, which keeps the worker responsive but has no network access. Default: true
   * in the cpu pool.
   */
  thread?: boolean;
  limits: {
    /**
     * Milliseconds for all attempts together. The wait for a free worker (`POOL_WAIT`) is added; the sum never exceeds
     * 100 s, the shortest timeout of common proxies.
     */
    workMs: number;
    /** Milliseconds for one attempt. Default: `workMs`. */
    attemptMs?: number;
    /**
     * Maximum attempts if a worker crashes or fails. Default: 3. Always 1 for calls with side effects (`actsOnWorld`).
     */
    attempts?: number;
    /** Maximum bytes of the request body. Default: 1 MB. */
    bodyBytes?: number;
  };
  /** JSON Schema 2020-12 with a description of each property; `writeOnly: true` marks a secret field. */
  input: I;
  /** JSON Schema 2020-12. Every property is required and null if it has no value. */
  output: O;
  /** Examples in the reference. The dashboard offers the first input as an example. */
  examples: readonly { input: Record<string, unknown>; output: Record<string, unknown> }[];
  /** Error codes of this tool besides those of every call. */
  errors: readonly ErrorCode[];
  /** Returns faults that JSON Schema cannot express. Runs in the API after the schema, with defaults applied. */
  check?(input: TypeOf<I>): Fault[];
  /** True if the call has side effects on the target. Such a call is attempted once and not cancelled half way. */
  actsOnWorld?(input: TypeOf<I>): boolean;
  /** Output fields that form the raw response if the caller's `Accept` ranks the file's type above JSON. */
  raw?: { data: string; mimeType: string; fileName?: string };
}

/** Declares a tool and preserves the literal types of its schemas. */
export function defineTool<const I extends ObjectSchema, const O extends ObjectSchema>(
  definition: ToolDefinition<I, O>,
): ToolDefinition<I, O> {
  return definition;
}

/** The validated input of a tool, with defaults applied. */
export type ToolInput<D> = D extends { input: infer I extends ObjectSchema } ? TypeOf<I> : never;
/** The output of a tool. */
export type ToolOutput<D> = D extends { output: infer O extends ObjectSchema } ? TypeOf<O> : never;

/** Names of the secret input fields, which are never stored, logged, fingerprinted or replayed. */
export function secretFields(definition: { input: ObjectSchema }): string[] {
  return Object.entries(definition.input.properties)
    .filter(([, schema]) => schema.writeOnly === true)
    .map(([name]) => name);
}
