import type { Operation } from '../../schemas/operation.ts';
import { codesOfOperation } from './codes.ts';
import { forGenerators } from './generatorSchema.ts';
import { BINARY, COMMON_HEADERS, headerRefs, mediaOf } from './headers.ts';
import { ITEM_EXAMPLES, OPERATION_EXAMPLES } from './operationExamples.ts';
import { problemResponses, type SharedResponses } from './problems.ts';

type Json = Record<string, unknown>;

/** Meaning and example of a path parameter, by the segment before it. */
const ITEMS: Readonly<Record<string, { name: string; example: string }>> = {
  batches: { name: 'batch', example: ITEM_EXAMPLES.batches },
  calls: { name: 'call', example: ITEM_EXAMPLES.calls },
  files: { name: 'file', example: ITEM_EXAMPLES.files },
  jobs: { name: 'job', example: ITEM_EXAMPLES.jobs },
  keys: { name: 'API key', example: ITEM_EXAMPLES.keys },
  schedules: { name: 'schedule', example: ITEM_EXAMPLES.schedules },
  webhooks: { name: 'webhook endpoint', example: ITEM_EXAMPLES.webhooks },
};
const SUCCESS: Readonly<Record<number, string>> = { 200: 'Success.', 201: 'Created.', 202: 'Accepted.' };
/** A body of lines; the schema describes the whole of them as text. */
const LINES = { schema: { type: 'string' } };
const SECURITY = { none: [], account: [{ accountKey: [] }], tools: [{ toolKey: [] }] } as const;

const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/\/(\w+)\/\{(\w+)\}/g)].map(([, list = '', name]) => ({
    name,
    in: 'path',
    required: true,
    description: `Id of the ${ITEMS[list]?.name ?? 'item'}.`,
    schema: { type: 'string' },
    ...(ITEMS[list] === undefined ? {} : { example: ITEMS[list].example }),
  }));

const queryParameters = ({ query }: Operation): Json[] =>
  Object.entries(query?.properties ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: query?.required.includes(name) ?? false,
    description,
    schema,
  }));

/** The `examples` member of a media type; nothing without an example. */
const examples = (value: unknown): Json => (value === undefined ? {} : { examples: { example1: { value } } });

function success({ id, success: { status, schema, alsoAs = [], only } }: Operation): Json {
  const headers = headerRefs(COMMON_HEADERS);
  if (only !== undefined) {
    const content = Object.fromEntries(only.map((type) => [type, mediaOf(type)]));
    return { [status]: { description: SUCCESS[status], headers, content } };
  }
  if (schema === undefined) return { [status]: { description: 'Success, without content.', headers } };
  const others = alsoAs.map((type) => [type, mediaOf(type)]);
  const json = { schema: forGenerators(schema), ...examples(OPERATION_EXAMPLES[id]?.response) };
  const content = { 'application/json': json, ...Object.fromEntries(others) };
  return { [status]: { description: SUCCESS[status], headers, content } };
}

/**
 * The request body of an operation that takes a file. Only the description says that it can be a form: generators of TypeScript and Python
 * cannot compile a body of two types.
 */
const UPLOAD = { required: true, content: { 'application/octet-stream': BINARY } } as const;

/** The operation object of an operation that is not a tool call, under its method. */
export function operationPath(operation: Operation, shared: SharedResponses): Json {
  const { id, method, path, summary, description, tag, auth, body, bodyAlsoAs = [], upload } = operation;
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
              content: {
                'application/json': {
                  schema: forGenerators(body),
                  ...examples(OPERATION_EXAMPLES[id]?.request),
                },
                ...Object.fromEntries(bodyAlsoAs.map((type) => [type, LINES])),
              },
            },
          }),
      ...(upload === true && { requestBody: UPLOAD }),
      responses: {
        ...success(operation),
        ...problemResponses(codesOfOperation(operation), COMMON_HEADERS, shared),
      },
    },
  };
}
