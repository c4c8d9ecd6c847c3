import type { Operation } from '../../schemas/operation.ts';
import { codesOfOperation } from './codes.ts';
import { forGenerators } from './generatorSchema.ts';
import { BINARY, COMMON_HEADERS, headerRefs } from './headers.ts';
import { problemResponses, type SharedResponses } from './problems.ts';

type Json = Record<string, unknown>;

/** Meaning of a path parameter, by the segment before it. */
const ITEMS: Readonly<Record<string, string>> = {
  jobs: 'job',
  keys: 'API key',
  webhooks: 'webhook endpoint',
};
const SUCCESS: Readonly<Record<number, string>> = { 200: 'Success.', 201: 'Created.', 202: 'Accepted.' };
const SECURITY = { none: [], account: [{ accountKey: [] }], tools: [{ toolKey: [] }] } as const;

const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/\/(\w+)\/\{(\w+)\}/g)].map(([, list = '', name]) => ({
    name,
    in: 'path',
    required: true,
    description: `Id of the ${ITEMS[list] ?? 'item'}.`,
    schema: { type: 'string' },
  }));

const queryParameters = ({ query }: Operation): Json[] =>
  Object.entries(query?.properties ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: query?.required.includes(name) ?? false,
    description,
    schema,
  }));

function success({ success: { status, schema, alsoAs = [] } }: Operation): Json {
  const headers = headerRefs(COMMON_HEADERS);
  if (schema === undefined) return { [status]: { description: 'Success, without content.', headers } };
  const others = alsoAs.map((type) => [type, BINARY]);
  const content = { 'application/json': { schema: forGenerators(schema) }, ...Object.fromEntries(others) };
  return { [status]: { description: SUCCESS[status], headers, content } };
}

/** The operation object of an operation that is not a tool call, under its method. */
export function operationPath(operation: Operation, shared: SharedResponses): Json {
  const { id, method, path, summary, description, tag, auth, body } = operation;
  return {
    [method]: {
      operationId: id,
      tags: [tag],
      summary,
      description: description ?? `${summary}.`,
      security: SECURITY[auth],
      parameters: [...pathParameters(path), ...queryParameters(operation)],
      ...(body === undefined
        ? {}
        : {
            requestBody: {
              required: body.required.length > 0 || 'minProperties' in body,
              content: { 'application/json': { schema: forGenerators(body) } },
            },
          }),
      responses: {
        ...success(operation),
        ...problemResponses(codesOfOperation(operation), COMMON_HEADERS, shared),
      },
    },
  };
}
