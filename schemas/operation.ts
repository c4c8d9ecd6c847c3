import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ErrorCode } from './errors.ts';
import type { ObjectSchema } from './tool.ts';

/**
 * An HTTP operation other than a tool call. Route, reference and validation derive from it. The type parameters follow
 * from its schemas, so that its handler is fully typed.
 */
export interface Operation<Query = unknown, Body = unknown, Result = unknown> {
  /** operationId in OpenAPI. */
  id: string;
  method: 'get' | 'post' | 'patch' | 'delete';
  /** Parameters are in braces: /api/v1/account/keys/{id} */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  /** `account`: the dashboard session or a key of that scope. `none`: no authentication. */
  auth: 'none' | 'account';
  query?: ObjectSchema;
  body?: ObjectSchema;
  /** Status and body schema of the success. Without a schema there is no body. */
  success: {
    status: 200 | 201 | 204;
    schema?: ObjectSchema;
    /** Media types offered besides JSON. */
    alsoAs?: readonly string[];
  };
  /** Error codes besides those that every such operation can return. */
  errors: readonly ErrorCode[];
  /** Carries the type parameters; never set. */
  types?: { query: Query; body: Body; result: Result };
}

interface EmptyObject extends ObjectSchema {
  readonly properties: Record<never, never>;
  readonly required: readonly [];
}

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : never;

/** Declares an operation. The types of its query, body and result follow from the schemas. */
export function defineOperation<
  const Q extends ObjectSchema = EmptyObject,
  const B extends ObjectSchema = EmptyObject,
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
