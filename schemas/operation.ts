import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ErrorCode } from './errors.ts';
import type { ObjectSchema } from './tool.ts';

/**
 * An HTTP operation that is no tool call: its route, its reference and its checks all read this. The type parameters
 * are those of its schemas, so that a handler is typed by what it serves.
 */
export interface Operation<Query = unknown, Body = unknown, Answer = unknown> {
  /** operationId in OpenAPI. */
  id: string;
  method: 'get' | 'post' | 'patch' | 'delete';
  /** With parameters in braces: /api/v1/account/keys/{id} */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  /** `account`: the dashboard session or a key with that scope. `none`: anybody. */
  auth: 'none' | 'account';
  query?: ObjectSchema;
  body?: ObjectSchema;
  /** Status and body of the success; no schema means no body. */
  success: { status: 200 | 201 | 204; schema?: ObjectSchema /** Beside JSON. */; alsoAs?: readonly string[] };
  /** Beyond those that every operation of its kind can answer. */
  errors: readonly ErrorCode[];
  /** For the type checker alone; no operation has it. */
  types?: { query: Query; body: Body; answer: Answer };
}

interface Nothing extends ObjectSchema {
  readonly properties: Record<never, never>;
  readonly required: readonly [];
}

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : never;

/** Declares an operation; the types of its query, body and answer follow from the schemas. */
export function defineOperation<
  const Q extends ObjectSchema = Nothing,
  const B extends ObjectSchema = Nothing,
  const S extends ObjectSchema = never,
>(
  definition: Omit<Operation, 'query' | 'body' | 'success' | 'types'> & {
    query?: Q;
    body?: B;
    success: Operation['success'] & { schema?: S };
  },
): Operation<TypeOf<Q>, TypeOf<B>, [S] extends [never] ? undefined : TypeOf<S>> {
  return definition;
}
