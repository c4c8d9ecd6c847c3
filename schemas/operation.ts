import type { ErrorCode } from './errors.ts';
import type { ObjectSchema } from './tool.ts';

/** An HTTP operation that is no tool call: its route, its reference and its checks all read this. */
export interface Operation {
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
  success: { status: 200 | 201 | 204; schema?: ObjectSchema; /** Beside JSON. */ alsoAs?: readonly string[] };
  /** Beyond those that every operation of its kind can answer. */
  errors: readonly ErrorCode[];
}
