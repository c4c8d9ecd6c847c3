import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ErrorCode } from './errors.ts';
import type { ObjectSchema } from './tool.ts';

/** JSON Schema of an object with any properties: the output of one of several tools. */
interface OpenSchema extends Omit<ObjectSchema, 'additionalProperties'> {
  readonly type: 'object';
  readonly properties: ObjectSchema['properties'];
  readonly required: readonly string[];
  readonly additionalProperties: true;
}

/**
 * An HTTP operation other than a tool call. Its route, validation and entry in the API reference derive from this
 * definition. The type parameters derive from its schemas, so that its handler is fully typed.
 */
export interface Operation<Query = unknown, Body = unknown, Result = unknown> {
  /** The operationId in the OpenAPI document. */
  id: string;
  method: 'get' | 'post' | 'patch' | 'delete';
  /** URL path; parameters are in braces, as in `/api/v1/account/keys/{id}`. */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  /**
   * Required authentication. `account`: a dashboard session or a key with the scope `account`. `tools`: a key with the scope
   * `tools`. `none`: no authentication.
   */
  auth: 'none' | 'account' | 'tools';
  query?: ObjectSchema;
  body?: ObjectSchema;
  /** Media types of the body that are accepted in addition to JSON; their bodies are lines, and the operation parses them itself. */
  bodyAlsoAs?: readonly string[];
  /** Whether the body is a file: its bytes with any media type, or the part `file` of `multipart/form-data`. */
  upload?: boolean;
  /** Status and body schema of the successful response. Without a schema the response has no body. */
  success: {
    status: 200 | 201 | 202 | 204;
    schema?: ObjectSchema | OpenSchema;
    /** Media types of the response that are offered in addition to JSON. */
    alsoAs?: readonly string[];
    /** Media types of a response that is not JSON. */
    only?: readonly string[];
  };
  /** Error codes that the operation can return in addition to those of every operation with this authentication. */
  errors: readonly ErrorCode[];
  /** Never set; only makes the type parameters part of the type. */
  types?: { query: Query; body: Body; result: Result };
}

interface EmptyObject extends ObjectSchema {
  readonly properties: Record<never, never>;
  readonly required: readonly [];
}

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : never;

/** Declares an operation. The types of its query, body and result derive from its schemas. */
export function defineOperation<
  const Q extends ObjectSchema = EmptyObject,
  const B extends ObjectSchema = EmptyObject,
  const S extends ObjectSchema | OpenSchema = never,
>(
  definition: Omit<Operation, 'query' | 'body' | 'success' | 'types'> & {
    query?: Q;
    body?: B;
    success: Operation['success'] & { schema?: S };
  },
): Operation<TypeOf<Q>, TypeOf<B>, [S] extends [never] ? undefined : TypeOf<S>> {
  return definition;
}
