import {
  type CallToolRequest,
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { FromSchema } from 'json-schema-to-ts';
import type { Logger } from 'pino';
import { runBatch } from '../../schemas/batchTool.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import { deliver } from '../calls/answer.ts';
import type { Attention } from '../calls/attention.ts';
import type { Outages } from '../calls/outages.ts';
import type { ToolCallService } from '../calls/run.ts';
import { IDEMPOTENCY_KEY_RULE, isIdempotencyKey } from '../calls/toolCall.ts';
import type { FilesArea } from '../files/area.ts';
import type { Context } from '../http/context.ts';
import { toServiceError } from '../http/problem.ts';
import type { TakeTokens } from '../http/rateLimit.ts';
import { createValidator } from '../http/validator.ts';
import type { PaidCalls } from '../topUps/paidCalls.ts';
import { createAccountTools } from './accountTools.ts';
import { createListing } from './listing.ts';
import { CREDENTIAL_KEY, offerPayment, withReceipt } from './payments.ts';
import { reportProgress } from './progress.ts';
import { callResult, fieldsResult, refusal } from './results.ts';
import type { TaskService } from './taskService.ts';
import { assertHandlesTasks, handlesTasks, TASKS_CAPABILITY } from './tasks.ts';

type Params = CallToolRequest['params'];

const INFO = { name: 'utility-tools', title: 'Utility Tools API', version: '1.0.0' };
const INSTRUCTIONS =
  'Single-purpose tools that are paid per call. Each tool states its price in credits, and only calls that return a ' +
  'result are charged. Set _meta.idempotencyKey so that a repeated call is not charged again, and _meta.maxCredits to refuse ' +
  'calls with a higher price. With the tasks extension, slow calls and those with _meta.respondAsync become tasks. On this ' +
  'host, /docs/tools/<name>.md has the complete description of a tool.';

/** The name of a tool: clients that do not support hyphens in names replace them by underscores. */
const nameOf = (name: string): string => name.replaceAll('_', '-');

interface Dependencies {
  registry: Registry;
  lists: Lists;
  toolCallService: ToolCallService;
  paidCalls: PaidCalls;
  linkFile: FilesArea['linkFile'];
  tasks: TaskService;
  outages: Outages;
  rateLimit: TakeTokens;
  attention: Pick<Attention, 'refused'>;
  log: Logger;
}

/** Reads `_meta.idempotencyKey` and `_meta.maxCredits`. @throws ServiceError invalid_input */
function optionsOf({ _meta: { idempotencyKey = null, maxCredits = Number.POSITIVE_INFINITY } = {} }: Params) {
  if (idempotencyKey !== null && !isIdempotencyKey(idempotencyKey))
    throw invalidInput([{ pointer: '/_meta/idempotencyKey', message: IDEMPOTENCY_KEY_RULE }]);
  if (typeof maxCredits !== 'number' || Number.isNaN(maxCredits) || maxCredits < 0)
    throw invalidInput([{ pointer: '/_meta/maxCredits', message: 'must be a number of credits' }]);
  return { idempotencyKey, max: maxCredits };
}

/** Pool whose calls take so long that clients which handle tasks get tasks. */
const SLOW_POOL = 'heavy';

/**
 * Whether a call becomes a task: as `_meta.respondAsync` asks, or else if the tool is slow and the client handles tasks. Tools that take
 * secrets cannot, because the input of a task is stored. A call with a payment runs at once, because the payment is for a call.
 *
 * @throws ServiceError invalid_input
 */
function becomesTask(tool: ToolDefinition, { _meta: meta = {} }: Params, canPoll: boolean): boolean {
  const { respondAsync = null, [CREDENTIAL_KEY]: credential } = meta;
  if (respondAsync !== null && typeof respondAsync !== 'boolean')
    throw invalidInput([{ pointer: '/_meta/respondAsync', message: 'must be true or false' }]);
  if (credential !== undefined) return false;
  return respondAsync ?? (canPoll && tool.pool === SLOW_POOL && secretFields(tool).length === 0);
}

/** Answers requests for prompts and resources, which some clients send to every server and cannot do without. */
function offerNothingElse(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: [] }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${params.name.slice(0, 100)}`);
  });
  server.setRequestHandler('resources/list', () => ({ resources: [] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found', { uri });
  });
}

/**
 * Returns the function that creates the MCP server for one HTTP request. Tool calls through MCP have the same limits,
 * validation, workflow, charge and refund as calls through the HTTP API.
 */
export function createMcpServers(deps: Dependencies) {
  const { registry, toolCallService, paidCalls, linkFile, tasks, outages, rateLimit, attention, log } = deps;

  /** Returns the result of a refused call, with a challenge if it can be paid. @throws ProtocolError as `offerPayment` */
  function refuse(
    ctx: Context,
    tool: ToolDefinition | undefined,
    error: ServiceError,
    requestId: string,
    wasPaid: boolean,
  ): CallToolResult {
    const { caller } = ctx.state;
    const challenge = tool === undefined ? null : paidCalls.challengeFor(caller, tool, error);
    const revision = ctx.get('MCP-Protocol-Version');
    if (challenge !== null) return offerPayment({ challenge, error, requestId, wasPaid, revision });
    return refusal(error, requestId);
  }
  const list = createListing(registry);
  const accountTools = createAccountTools(registry, deps.lists);

  async function callTool(
    ctx: Context,
    tool: ToolDefinition,
    params: Params,
    request: ServerContext['mcpReq'],
    hangup: AbortSignal,
  ): Promise<CallToolResult> {
    const { caller, requestId, arrivedAt } = ctx.state;
    await rateLimit(ctx, () => toolCallService.authorize(caller, tool));
    const { idempotencyKey, max } = optionsOf(params);
    const input = toolCallService.validate(tool, params.arguments ?? {});
    if (becomesTask(tool, params, handlesTasks(request))) {
      assertHandlesTasks(request);
      return tasks.startJob({ caller, tool, input, idempotencyKey, max, requestId });
    }
    const credential = params._meta?.[CREDENTIAL_KEY];
    const { answer: outcome, receipt } = await paidCalls.run(
      { caller, tool, input, idempotencyKey, requestId, arrivedAt, hangup, max },
      credential,
    );
    const { ending } = outcome;
    if ('error' in ending)
      return refuse(ctx, tool, ending.error, outcome.requestId, credential !== undefined);
    let result: CallToolResult | undefined;
    await deliver(ctx.res, outcome, async () => {
      result = await callResult(tool, ending.output, outcome, (file) => linkFile(outcome, file));
    });
    if (result === undefined) throw new TypeError('the result was not built');
    return receipt === null ? result : withReceipt(result, receipt);
  }

  const validateBatch = createValidator()<FromSchema<typeof runBatch.input>>(runBatch.input);

  async function startBatch(ctx: Context, params: Params): Promise<CallToolResult> {
    const { caller, requestId } = ctx.state;
    await rateLimit(ctx, () => {
      if (caller.key?.scope !== 'tools') throw new ServiceError('insufficient_scope');
    });
    const { tool, inputs } = validateBatch(params.arguments ?? {});
    return tasks.startBatch({ caller, requestId, ...optionsOf(params) }, nameOf(tool), inputs);
  }

  async function callAccountTool(
    ctx: Context,
    { name, arguments: args = {} }: Params,
  ): Promise<CallToolResult> {
    const { caller } = ctx.state;
    await rateLimit(ctx, () => {
      const { key } = caller;
      if (key !== null && key.scope !== 'account' && !key.client?.account)
        throw new ServiceError('insufficient_scope');
    });
    const run = accountTools.get(name);
    if (run === undefined) throw new ServiceError('unknown_tool');
    return fieldsResult(await run(caller, args));
  }

  return (ctx: Context, hangup: AbortSignal): Server => {
    const server = new Server(INFO, {
      capabilities: { tools: {}, prompts: {}, resources: {}, ...TASKS_CAPABILITY },
      instructions: INSTRUCTIONS,
    });
    server.setRequestHandler('tools/list', (_request, { mcpReq }: ServerContext) => ({
      tools: list(ctx.state.caller, handlesTasks(mcpReq)),
    }));
    tasks.serve(server, ctx, hangup);
    offerNothingElse(server);
    server.setRequestHandler('tools/call', async ({ params: named }, { mcpReq }: ServerContext) => {
      const params = { ...named, name: nameOf(named.name) };
      const tool = registry.get(params.name);
      const isBatch = params.name === runBatch.name;
      if (isBatch) assertHandlesTasks(mcpReq);
      else if (tool === undefined && !accountTools.has(params.name))
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${named.name.slice(0, 100)}`);
      using _progress = reportProgress(mcpReq);
      try {
        outages.refuse('mongodb');
        if (isBatch) return await startBatch(ctx, params);
        return tool === undefined
          ? await callAccountTool(ctx, params)
          : await callTool(ctx, tool, params, mcpReq, AbortSignal.any([hangup, mcpReq.signal]));
      } catch (error) {
        if (error instanceof ProtocolError) throw error;
        const { requestId } = ctx.state;
        if (tool !== undefined) attention.refused(ctx.state, tool.name, error);
        const wasPaid = params._meta?.[CREDENTIAL_KEY] !== undefined;
        return refuse(ctx, tool, toServiceError(error, log, requestId), requestId, wasPaid);
      }
    });
    return server;
  };
}
