import { isSpecType, type Tool } from '@modelcontextprotocol/server';
import { ACCOUNT_TOOLS, type AccountToolDefinition } from '../../schemas/accountTools.ts';
import { runBatch } from '../../schemas/batchTool.ts';
import { creditsOf } from '../../schemas/callErrors.ts';
import { LINK_FIELDS } from '../../schemas/formats/linkOutput.ts';
import type { Registry } from '../../schemas/registry.ts';
import { runsOnThread, type ToolDefinition } from '../../schemas/tool.ts';
import { summaryOf } from '../../schemas/toolGroups.ts';
import type { Caller } from '../http/context.ts';
import { briefInput, briefOutput } from './brief.ts';

/** Whether calls of a tool can connect to other machines. Tools that run on a thread have no network access. */
const reachesOthers = (tool: ToolDefinition): boolean => !runsOnThread(tool);

interface Schemas {
  inputSchema: ReturnType<typeof briefInput>;
  outputSchema: ReturnType<typeof briefOutput>;
}

/** Checks that the description of a tool is valid in MCP. @throws TypeError if it is not */
function asTool(description: Omit<Tool, 'inputSchema' | 'outputSchema'> & Schemas): Tool {
  if (!isSpecType.Tool(description)) throw new TypeError(`${description.name} is not a valid MCP tool`);
  return description;
}

function describe(tool: ToolDefinition): Tool {
  const { name, title, price, actsOnWorld, raw } = tool;
  // Files are content blocks, and links above a size, whatever the arguments say.
  const unlisted = raw === undefined ? { input: [], output: [] } : LINK_FIELDS;
  const safe = actsOnWorld === undefined;
  return asTool({
    name,
    title,
    description: `${summaryOf(tool)}\n\nPrice: ${creditsOf(price)}.`,
    inputSchema: briefInput(tool.input, unlisted.input),
    outputSchema: briefOutput(tool.output, [...unlisted.output, ...(raw === undefined ? [] : [raw.data])]),
    annotations: {
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
    inputSchema: briefInput(input),
    outputSchema: briefOutput(output),
    annotations: {
      readOnlyHint: true,
      idempotentHint: true,
      destructiveHint: false,
      openWorldHint: false,
    },
    _meta: { price: 0 },
  });
}

const batch = asTool({
  name: runBatch.name,
  title: runBatch.title,
  description: runBatch.description,
  inputSchema: briefInput({ ...runBatch.input, required: [...runBatch.input.required] }),
  outputSchema: briefOutput({ ...runBatch.output, required: [...runBatch.output.required] }),
  // As those of the tool that it calls.
  annotations: { readOnlyHint: false, idempotentHint: false, destructiveHint: false, openWorldHint: true },
});

/**
 * Creates the function that lists the tools that a caller may use, as MCP describes tools.
 *
 * @returns `handlesTasks`: whether the client of the request handles tasks, without which it cannot run batches
 */
export function createListing(registry: Registry): (caller: Caller, handlesTasks: boolean) => Tool[] {
  const tools = [...registry.values()].map(describe);
  const account = ACCOUNT_TOOLS.map(describeAccountTool);
  return ({ key }, handlesTasks) => {
    if (key?.scope === 'account') return account;
    const allowed = key?.tools ?? null;
    const callable = allowed === null ? tools : tools.filter(({ name }) => allowed.includes(name));
    return [...callable, ...(handlesTasks ? [batch] : []), ...(key?.client?.account ? account : [])];
  };
}
