import { creditsOf } from '../../schemas/callErrors.ts';
import type { Operation } from '../../schemas/operation.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ObjectSchema, ToolDefinition } from '../../schemas/tool.ts';

type Json = Record<string, unknown>;

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

interface Sources {
  registry: Registry;
  /** All operations except tool calls. */
  operations: readonly Operation[];
  /** URL of the API. */
  baseUrl: string;
}

const bearer = (variable: string): Json => ({
  type: 'bearer',
  bearer: [{ key: 'token', value: `{{${variable}}}`, type: 'string' }],
});

/** The authentication of a request, by the scope that it needs. */
const AUTH: Readonly<Record<Operation['auth'], Json>> = {
  none: { type: 'noauth' },
  tools: bearer('apiKey'),
  account: bearer('accountKey'),
};

/** Parameters of the query. They are switched off, because all of them are optional. */
const queryOf = (query: ObjectSchema | undefined): Json[] =>
  Object.entries(query?.properties ?? {}).map(([key, { description = '', default: value = '' }]) => ({
    key,
    value: String(value),
    description,
    disabled: true,
  }));

function urlOf(path: string, query?: ObjectSchema): Json {
  const segments = path.split('/').slice(1);
  const ids = segments.flatMap((segment) => /^\{(\w+)\}$/.exec(segment)?.[1] ?? []);
  const named = segments.map((segment) => segment.replace(/^\{(\w+)\}$/, ':$1'));
  return {
    raw: `{{baseUrl}}/${named.join('/')}`,
    host: ['{{baseUrl}}'],
    path: named,
    ...(query !== undefined && { query: queryOf(query) }),
    ...(ids.length > 0 && { variable: ids.map((key) => ({ key, value: '' })) }),
  };
}

const bodyOf = (value: unknown): Json => ({
  header: [{ key: 'Content-Type', value: 'application/json' }],
  body: { mode: 'raw', raw: JSON.stringify(value, null, 2), options: { raw: { language: 'json' } } },
});

/** A body with a placeholder for each required field. */
const placeholders = ({ properties, required }: ObjectSchema): Json =>
  Object.fromEntries(required.map((name) => [name, properties[name]?.type === 'array' ? [] : '']));

const toolItem = ({ name, title, price, description, examples }: ToolDefinition): Json => ({
  name: `${title} (${creditsOf(price)})`,
  request: {
    method: 'POST',
    url: urlOf(`/api/v1/tools/${name}`),
    auth: AUTH.tools,
    description,
    ...bodyOf(examples[0]?.input ?? {}),
  },
});

const operationItem = ({ summary, description, method, path, query, body, auth }: Operation): Json => ({
  name: summary,
  request: {
    method: method.toUpperCase(),
    url: urlOf(path, query),
    auth: AUTH[auth],
    ...(description !== undefined && { description }),
    ...(body !== undefined && bodyOf(placeholders(body))),
  },
});

/**
 * Creates a collection for Postman and programs that read its format (Collection v2.1.0): a request for each tool, with the
 * input of its example, and for each operation. The keys are variables, which the user sets.
 */
export function postmanCollection({ registry, operations, baseUrl }: Sources): Json {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return {
    info: {
      name: 'Utility Tools API',
      description: 'Set the variables apiKey (scope "tools") and accountKey (scope "account").',
      schema: SCHEMA,
    },
    variable: [
      { key: 'baseUrl', value: baseUrl },
      { key: 'apiKey', value: '' },
      { key: 'accountKey', value: '' },
    ],
    item: [
      { name: 'Tools', item: [...registry.values()].map(toolItem) },
      ...tags.map((name) => ({
        name,
        item: operations.filter(({ tag }) => tag === name).map(operationItem),
      })),
    ],
  };
}
