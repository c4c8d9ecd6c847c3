import { isSpecType, type Tool } from '@modelcontextprotocol/server';
import { ACCOUNT_TOOLS, type AccountToolDefinition } from '../../schemas/accountTools.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ObjectSchema, ToolDefinition } from '../../schemas/tool.ts';
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

/** Whether calls of a tool can connect to other machines. Tools that run on a thread have no network access. */
const reachesOthers = ({ pool, thread = pool === 'cpu' }: ToolDefinition): boolean => !thread;

const credits = (price: number): string => `${price} ${price === 1 ? 'credit' : 'credits'}`;

interface Schemas {
  inputSchema: ObjectSchema;
  outputSchema: ReturnType<typeof resultSchema>;
}

/**
 * Creates the output schema of a tool. It includes the refusal, because many clients also validate the structured
 * content of results with `isError`, and would report a refusal as invalid content.
 */
const resultSchema = (output: ObjectSchema) => ({ type: 'object', anyOf: [output, REFUSAL_SCHEMA] });

/** Checks that a description is a valid tool of the protocol. @throws TypeError if it is not */
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
    description: `${description}\n\nPrice: ${credits(price)} for each call that returns a result; errors are free.`,
    inputSchema: schemaOf(tool.input),
    // The field with the file is left out, because results contain the file as content.
    outputSchema: resultSchema(schemaOf(tool.output, tool.raw?.data)),
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
    return allowed === null ? tools : tools.filter(({ name }) => allowed.includes(name));
  };
}
