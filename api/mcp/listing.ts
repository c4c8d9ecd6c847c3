import { isSpecType, type Tool } from '@modelcontextprotocol/server';
import { ACCOUNT_TOOLS, type AccountToolDefinition } from '../../schemas/accountTools.ts';
import { creditsOf } from '../../schemas/callErrors.ts';
import type { Registry } from '../../schemas/registry.ts';
import { type ObjectSchema, runsOnThread, type ToolDefinition } from '../../schemas/tool.ts';
import { summaryOf } from '../../schemas/toolGroups.ts';
import type { Caller } from '../http/context.ts';
import { REFUSAL_SCHEMA } from './results.ts';

/** Copies an object schema without the field `omitted`. */
function schemaOf(schema: ObjectSchema, omitted?: string): ObjectSchema {
  const properties = Object.entries(schema.properties).filter(([name]) => name !== omitted);
  return {
    ...schema,
    properties: Object.fromEntries(properties),
    required: schema.required.filter((name) => name !== omitted),
  };
}

/** The schema of a tool's structured content, which contains no file, because results have files as content items. */
function structuredSchema({ output, raw, optionalFile }: ToolDefinition): ObjectSchema {
  const schema = schemaOf(output, raw?.data);
  if (optionalFile === undefined) return schema;
  const { [optionalFile.data]: data, ...others } = schema.properties;
  const text = {
    type: ['string', 'null'],
    description: `${data?.description} Here null instead of base64: the file is a content item of the result.`,
  };
  return { ...schema, properties: { ...others, [optionalFile.data]: text } };
}

/** Whether calls of a tool can connect to other machines. Tools that run on a thread have no network access. */
const reachesOthers = (tool: ToolDefinition): boolean => !runsOnThread(tool);

interface Schemas {
  inputSchema: ObjectSchema;
  outputSchema: ReturnType<typeof resultSchema>;
}

/**
 * Creates the output schema of a tool. It includes the refusal, because many clients also validate the structured
 * content of results with `isError`, and would report a refusal as invalid content.
 */
const resultSchema = (output: ObjectSchema) => ({ type: 'object', anyOf: [output, REFUSAL_SCHEMA] });

/** Checks that the description of a tool is valid in MCP. @throws TypeError if it is not */
function asTool(description: Omit<Tool, 'inputSchema' | 'outputSchema'> & Schemas): Tool {
  if (!isSpecType.Tool(description)) throw new TypeError(`${description.name} is not a valid MCP tool`);
  return description;
}

function describe(tool: ToolDefinition): Tool {
  const { name, title, description, price, actsOnWorld } = tool;
  const safe = actsOnWorld === undefined;
  return asTool({
    name,
    title,
    description: `${summaryOf(tool)}\n\n${description}\n\nPrice: ${creditsOf(price)} for each call that returns a result; errors are free.`,
    inputSchema: schemaOf(tool.input),
    outputSchema: resultSchema(structuredSchema(tool)),
    annotations: {
      title,
      readOnlyHint: safe,
      idempotentHint: safe,
      destructiveHint: false,
      openWorldHint: reachesOthers(tool),
    },
    _meta: { price },
  });
}

function describeAccountTool({ name, title, description, input, output }: AccountToolDefinition): Tool {
  return asTool({
    name,
    title,
    description,
    inputSchema: input,
    outputSchema: resultSchema(output),
    annotations: {
      title,
      readOnlyHint: true,
      idempotentHint: true,
      destructiveHint: false,
      openWorldHint: false,
    },
    _meta: { price: 0 },
  });
}

/** Creates the function that lists the tools that a caller may use, as MCP describes tools. */
export function createListing(registry: Registry): (caller: Caller) => Tool[] {
  const tools = [...registry.values()].map(describe);
  const account = ACCOUNT_TOOLS.map(describeAccountTool);
  return ({ key }) => {
    if (key?.scope === 'account') return account;
    const allowed = key?.tools ?? null;
    const callable = allowed === null ? tools : tools.filter(({ name }) => allowed.includes(name));
    return key?.client?.account ? [...callable, ...account] : callable;
  };
}
