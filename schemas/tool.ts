import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ErrorCode, Fault } from './errors.ts';
import { POOL_TABLE, type Pool } from './pools.ts';

/** The keywords of a property's JSON Schema that this project reads itself; ajv interprets all keywords. */
export interface PropertySchema {
  readonly description?: string;
  readonly writeOnly?: boolean;
  readonly [keyword: string]: unknown;
}

/**
 * JSON Schema of an object without additional properties. The input and the output of every tool have such a schema.
 */
export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, PropertySchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
  readonly [keyword: string]: unknown;
}

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : never;

/** The definition of a tool. Price list, routes, OpenAPI document, queues and dashboard forms derive from it. */
export interface ToolDefinition<
  I extends ObjectSchema = ObjectSchema,
  O extends ObjectSchema = ObjectSchema,
> {
  /** Name of the tool: its path segment after `/api/v1/tools/`, and the name of its activity file. */
  name: string;
  title: string;
  /**
   * A paragraph for the API reference: what the tool does, when it refuses a call, and results that need an
   * explanation.
   */
  description: string;
  /** Price of a call in credits, charged if and only if the call returns a result. */
  price: number;
  pool: Pool;
  /**
   * Whether the tool's `run` function runs on a thread, which keeps the worker responsive but has no network access.
   * Default: that of the pool.
   */
  thread?: boolean;
  /**
   * Whether every call takes only milliseconds of CPU time. Such calls have worker slots of their own and never wait for
   * slower ones. Default: false.
   */
  fast?: boolean;
  limits: {
    /**
     * Time limit in milliseconds for all attempts together. How long a call may wait for a free worker (`POOL_WAIT`)
     * is added; the sum never exceeds 100 s, the shortest timeout of common proxies.
     */
    workMs: number;
    /** Time limit of one attempt in milliseconds. Default: `workMs`. */
    attemptMs?: number;
    /**
     * Maximum number of attempts, including the first, if a worker crashes or fails. Default: 3. Always 1 for calls
     * with side effects outside the service (`actsOnWorld`).
     */
    attempts?: number;
    /** Maximum size of the request body in bytes. Default: 1 MB. */
    bodyBytes?: number;
  };
  /**
   * JSON Schema 2020-12 of the input, with a description of each property. `writeOnly: true` marks a secret field.
   */
  input: I;
  /** JSON Schema 2020-12 of the output. Every property is required, and null if it has no value. */
  output: O;
  /** Examples in the API reference. The dashboard offers the input of the first one as an example. */
  examples: readonly { input: Record<string, unknown>; output: Record<string, unknown> }[];
  /** Error codes that calls of this tool can return in addition to those of every call. */
  errors: readonly ErrorCode[];
  /**
   * Returns faults that JSON Schema cannot express. Runs in the API after schema validation, with defaults applied.
   */
  check?(input: TypeOf<I>): Fault[];
  /**
   * Whether a call with this input can have side effects outside the service, such as a POST request. Such a call is
   * attempted at most once and is not cancelled once it has started.
   */
  actsOnWorld?(input: TypeOf<I>): boolean;
  /**
   * Output fields with the data, type and name of a file. If the caller's `Accept` header ranks the file's type above
   * JSON, the response body is the file itself, and its headers have the other fields but those of `jsonOnly`, which can be large.
   */
  raw?: { data: string; mimeType: string; fileName?: string; jsonOnly?: readonly string[] };
  /**
   * For tools whose results only sometimes contain a file: the output field with its base64 data, and a function that returns
   * the media type of the file; null if this output has none.
   */
  optionalFile?: { data: string; mimeTypeOf(output: TypeOf<O>): string | null };
}

/** Declares a tool and preserves the literal types of its schemas. */
export function defineTool<const I extends ObjectSchema, const O extends ObjectSchema>(
  definition: ToolDefinition<I, O>,
): ToolDefinition<I, O> {
  return definition;
}

/** Type of the validated input of a tool, with defaults applied. */
export type ToolInput<D> = D extends { input: infer I extends ObjectSchema } ? TypeOf<I> : never;
/** Type of the output of a tool. */
export type ToolOutput<D> = D extends { output: infer O extends ObjectSchema } ? TypeOf<O> : never;

export const runsOnThread = ({
  pool,
  thread = POOL_TABLE[pool].thread,
}: Pick<ToolDefinition, 'pool' | 'thread'>) => thread === true;

/** Returns the names of the secret input fields. Their values are never stored, logged, fingerprinted or replayed. */
export function secretFields(definition: { input: ObjectSchema }): string[] {
  return Object.entries(definition.input.properties)
    .filter(([, schema]) => schema.writeOnly === true)
    .map(([name]) => name);
}
