import type { Operation } from '../../schemas/operation.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { Operator } from '../operator.ts';
import { codesOfOperation, codesOfTool } from './codes.ts';
import { sharedSchemas } from './generatorSchema.ts';
import { HEADERS, PARAMETERS } from './headers.ts';
import { operationPath } from './operationPath.ts';
import { createSharedResponses, PROBLEM_SCHEMA, problemExamples, type SharedResponses } from './problems.ts';
import { toolPath, toolSchemas } from './toolPath.ts';
import { webhooks } from './webhookEvents.ts';

type Json = Record<string, unknown>;

const DESCRIPTION = `Single-purpose tools with a uniform interface: \`POST\` a JSON object and receive a JSON object.

- Each call has a fixed price in credits. A call is charged only if it returns a result; failed calls are free.
- Send your key as \`Authorization: Bearer <API key>\`.
- Unknown fields are rejected and defaults are applied. Values are not converted: \`"4"\` is not an integer.
- Errors are \`application/problem+json\` with a stable \`code\`; see [all error codes](docs/errors).
`;

const TAGS: Readonly<Record<string, string>> = {
  Tools: 'A tool call is charged only if it returns a result.',
  Jobs: 'Calls that run in the background, and whose results are fetched later.',
  Batches: 'Many calls in one request, with a result, a price and an outcome for each.',
  Files: 'Uploaded files that tools read instead of a URL.',
  Schedules: 'Jobs and batches that repeat, and callbacks when their results change.',
  Account: 'Balance, calls, ledger, keys and events of an account.',
  'Webhook endpoints': 'Endpoints that receive events, their secrets and deliveries.',
  Service: 'The catalogue of tools and the state of the service. No key is needed.',
  Webhooks: 'The requests that endpoints receive.',
};

interface Sources {
  registry: Registry;
  /** All operations except tool calls. */
  operations: readonly Operation[];
  /** URL of the API; null: the origin of the document. */
  serverUrl: string | null;
  /** Operator of the installation, if one is configured. */
  operator?: Pick<Operator, 'name' | 'email'>;
}

function operationPaths(operations: readonly Operation[], shared: SharedResponses): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations)
    paths[operation.path] = { ...paths[operation.path], ...operationPath(operation, shared) };
  return paths;
}

/** Generates the OpenAPI 3.1 document from the definitions of tools and operations. */
export function openApiDocument({ registry, operations, serverUrl, operator }: Sources): Json {
  const tools = [...registry.values()];
  const shared = createSharedResponses();
  const paths = {
    ...Object.fromEntries(tools.map((tool) => [`/api/v1/tools/${tool.name}`, toolPath(tool, shared)])),
    ...operationPaths(operations, shared),
  };
  const tags = ['Tools', ...new Set(operations.map(({ tag }) => tag)), 'Webhooks'];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Utility Tools API',
      version: '1.0.0',
      description: DESCRIPTION,
      contact: {
        name: operator?.name ?? 'Utility Tools API',
        ...(serverUrl !== null && { url: new URL('/contact', serverUrl).href }),
        ...(operator !== undefined && { email: operator.email }),
      },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl ?? '/' }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    webhooks: webhooks(),
    components: {
      securitySchemes: {
        toolKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'ut_…',
          description: 'An API key of scope `tools`.',
        },
        accountKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'ut_…',
          description: 'An API key of scope `account`.',
        },
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: shared.all(),
      examples: problemExamples(
        new Set([...tools.flatMap(codesOfTool), ...operations.flatMap(codesOfOperation)]),
      ),
      schemas: {
        Problem: PROBLEM_SCHEMA,
        ...shared.schemas(),
        ...sharedSchemas(),
        ...Object.assign({}, ...tools.map(toolSchemas)),
      },
    },
  };
}
