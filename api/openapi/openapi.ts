import type { Operation } from '../../schemas/operation.ts';
import type { Registry } from '../../schemas/registry.ts';
import { HEADERS, PARAMETERS } from './headers.ts';
import { operationPath } from './operationPath.ts';
import { PROBLEM_SCHEMA, problemExamples } from './problems.ts';
import { toolPath, toolSchemas } from './toolPath.ts';
import { webhooks } from './webhookEvents.ts';

type Json = Record<string, unknown>;

const DESCRIPTION = `Single-purpose tools behind one kind of call: \`POST\` a JSON object, get a JSON object.

- A call costs its fixed price in credits, charged exactly when there is a result; a call that fails costs nothing.
- Send your key as \`Authorization: Bearer <API_KEY>\`.
- Unknown fields are refused, defaults are applied, and no value is converted: \`"4"\` is not an integer.
- Errors are \`application/problem+json\` with a stable \`code\`; [every code](docs/errors) is explained.
`;

interface Sources {
  registry: Registry;
  /** What is no tool call. */
  operations: readonly Operation[];
  /** Where users reach the API; null: where the document itself came from. */
  serverUrl: string | null;
}

/** Several operations may share a path. */
function operationPaths(operations: readonly Operation[]): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations)
    paths[operation.path] = { ...paths[operation.path], ...operationPath(operation) };
  return paths;
}

/** The OpenAPI 3.1 document of the service; everything in it comes from the definitions. */
export function openApiDocument({ registry, operations, serverUrl }: Sources): Json {
  const tools = [...registry.values()];
  const tags = ['Tools', ...new Set(operations.map(({ tag }) => tag)), 'Webhooks'];
  return {
    openapi: '3.1.0',
    info: { title: 'Utility Tools API', version: '1.0.0', description: DESCRIPTION },
    servers: [{ url: serverUrl ?? '/' }],
    tags: tags.map((name) => ({ name })),
    paths: {
      ...Object.fromEntries(tools.map((tool) => [`/api/v1/tools/${tool.name}`, toolPath(tool)])),
      ...operationPaths(operations),
    },
    webhooks: webhooks(),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'ut_…',
          description: 'A key with the scope that the operation names, `tools` or `account`.',
        },
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      examples: problemExamples(),
      schemas: {
        Problem: PROBLEM_SCHEMA,
        ...Object.assign({}, ...tools.map(toolSchemas)),
      },
    },
  };
}
