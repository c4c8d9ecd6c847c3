import { type ErrorCode, isErrorCode } from '../../../schemas/errors.ts';
import { isRecord } from '../../../schemas/isRecord.ts';

type Json = Readonly<Record<string, unknown>>;

/** A parameter of the path or of the query. */
export interface Parameter {
  name: string;
  in: 'path' | 'query';
  isRequired: boolean;
  /** JSON Schema with the description. */
  schema: Json;
  /** Example value; null if there is none. */
  example: string | null;
}

/** An operation of the OpenAPI document, without references. */
export interface Operation {
  /** The operationId. */
  id: string;
  tag: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  summary: string;
  description: string;
  /** Scope of the key; null: no key is needed. */
  scope: 'tools' | 'account' | null;
  parameters: Parameter[];
  /** JSON Schema and example of the body; null without a body. */
  request: { schema: Json; example: unknown } | null;
  /** The successful response; its schema is null if it has no body. */
  /** Whether the body is a file. */
  isUpload: boolean;
  response: { status: string; schema: Json | null; example: unknown; types: string[] };
  errors: ErrorCode[];
}

/** A tag of the OpenAPI document with its operations. */
export interface OperationGroup {
  tag: string;
  description: string;
  operations: Operation[];
}

const METHODS = { get: 'GET', post: 'POST', patch: 'PATCH', delete: 'DELETE' } as const;
type MethodName = keyof typeof METHODS;
const isMethod = (name: string): name is MethodName => Object.hasOwn(METHODS, name);

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';

const record = (value: unknown): Json => (isRecord(value) ? value : {});
const records = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Replaces `$ref` at every depth. A schema that contains itself ends at its second occurrence. */
function resolve(document: Json, value: unknown, within: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => resolve(document, item, within));
  if (!isRecord(value)) return value;
  const { $ref: reference, ...others } = value;
  if (typeof reference !== 'string')
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, resolve(document, item, within)]),
    );
  if (within.includes(reference)) return {};
  const target = reference
    .split('/')
    .slice(1)
    .reduce<unknown>((at, name) => record(at)[name], document);
  return { ...record(resolve(document, target, [...within, reference])), ...others };
}

const exampleOf = (media: Json): unknown => Object.values(record(media.examples)).map(record)[0]?.value;

function parametersOf(operation: Json): Parameter[] {
  return records(operation.parameters).flatMap(
    ({ name, in: place, required, schema, description, example }) =>
      place === 'path' || place === 'query'
        ? [
            {
              name: text(name),
              in: place,
              isRequired: required === true,
              schema: { ...record(schema), description },
              example: typeof example === 'string' ? example : null,
            },
          ]
        : [],
  );
}

function scopeOf(operation: Json): Operation['scope'] {
  const [first] = records(operation.security);
  if (first === undefined) return null;
  return Object.hasOwn(first, 'toolKey') ? 'tools' : 'account';
}

function responseOf(responses: Json): Operation['response'] {
  const [status = '', success] = Object.entries(responses).find(([name]) => name.startsWith('2')) ?? [];
  const content = record(record(success).content);
  const media = record(content[JSON_TYPE]);
  return {
    status,
    schema: isRecord(media.schema) ? media.schema : null,
    example: exampleOf(media),
    types: Object.keys(content),
  };
}

const errorsOf = (responses: Json): ErrorCode[] =>
  Object.values(responses).flatMap((response) =>
    Object.keys(record(record(record(record(response).content)[PROBLEM_TYPE]).examples)).filter(isErrorCode),
  );

function operationOf(path: string, method: MethodName, operation: Json): Operation {
  const bodies = record(record(operation.requestBody).content);
  const body = record(bodies[JSON_TYPE]);
  const responses = record(operation.responses);
  return {
    id: text(operation.operationId),
    tag: text([operation.tags].flat()[0]),
    method: METHODS[method],
    path,
    summary: text(operation.summary),
    description: text(operation.description),
    scope: scopeOf(operation),
    parameters: parametersOf(operation),
    request: isRecord(body.schema) ? { schema: body.schema, example: exampleOf(body) } : null,
    isUpload: Object.hasOwn(bodies, 'application/octet-stream'),
    response: responseOf(responses),
    errors: errorsOf(responses),
  };
}

/** Reads the operations of an OpenAPI document, by tag and in the order of the document. */
export function operationGroups(document: Json): OperationGroup[] {
  const paths = record(resolve(document, document.paths));
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(record(item)).flatMap(([method, operation]) =>
      isMethod(method) && isRecord(operation) ? [operationOf(path, method, operation)] : [],
    ),
  );
  return records(document.tags)
    .map(({ name, description }) => ({
      tag: text(name),
      description: text(description),
      operations: operations.filter(({ tag }) => tag === name),
    }))
    .filter((group) => group.operations.length > 0);
}

/** A request that endpoints receive. */
export interface WebhookEvent {
  kind: string;
  summary: string;
  schema: Json;
  example: unknown;
}

/** Reads the webhooks of an OpenAPI document. */
export const webhookEvents = (document: Json): WebhookEvent[] =>
  Object.entries(record(resolve(document, document.webhooks))).map(([kind, item]) => {
    const post = record(record(item).post);
    const media = record(record(record(post.requestBody).content)[JSON_TYPE]);
    return { kind, summary: text(post.summary), schema: record(media.schema), example: exampleOf(media) };
  });
