import {
  type CallToolResult,
  fromJsonSchema,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import { batchRow } from '../../store/batches/batchRow.ts';
import type { EndedRow, RowOutputs } from '../../store/batches/rowOutputs.ts';
import { LINK_MS, type StoredLink } from '../../store/files/links.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import { longestRow } from '../batches/batchRoutes.ts';
import type { BatchService } from '../batches/batchService.ts';
import { jsonRows } from '../batches/jsonRows.ts';
import { ndjsonLines } from '../batches/resultLines.ts';
import type { Outages } from '../calls/outages.ts';
import type { ToolCall } from '../calls/toolCall.ts';
import type { FilesArea } from '../files/area.ts';
import type { Context } from '../http/context.ts';
import { toServiceError } from '../http/problem.ts';
import type { TakeTokens } from '../http/rateLimit.ts';
import type { JobService } from '../jobs/jobService.ts';
import { callResult, fieldsResult, refusal } from './results.ts';
import { assertHandlesTasks, batchTask, createdTask, jobTask, taskError } from './tasks.ts';

interface Dependencies {
  registry: Registry;
  jobs: JobService;
  batches: BatchService;
  outputs: RowOutputs;
  linkFile: FilesArea['linkFile'];
  /** Keeps the file that the result of a task links, and counts it like the results of jobs. Can be repeated. */
  keepFile(accountId: string, file: StoredLink): Promise<void>;
  outages: Outages;
  rateLimit: TakeTokens;
  log: Logger;
}

type Options = Pick<ToolCall, 'caller' | 'idempotencyKey' | 'max' | 'requestId'>;

/** Tasks: jobs and batches, which the HTTP API shows too. */
export interface TaskService {
  /** Creates a job. @throws ServiceError */
  startJob(call: Options & Pick<ToolCall, 'tool' | 'input'>): Promise<CallToolResult>;
  /** Creates a batch of one tool. @throws ServiceError */
  startBatch(options: Options, tool: string, inputs: readonly object[]): Promise<CallToolResult>;
  /** Answers requests about tasks. */
  serve(server: Server, ctx: Context, hangup: AbortSignal): void;
}

/** Largest part of the results of a batch that its task has, in bytes: clients keep it in the conversation. */
const RESULT_BYTES = 100 * 1024;
const TASK_PARAMS = fromJsonSchema<{ taskId: string }>({
  type: 'object',
  properties: { taskId: { type: 'string', maxLength: 100 } },
  required: ['taskId'],
});

const NO_METHOD = new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found');

/** Yields rows up to the first one whose result is large: to read it would take a hundred times as long as what is returned. */
async function* smallRows(rows: AsyncIterable<EndedRow>): AsyncGenerator<EndedRow> {
  for await (const row of rows) {
    if (row.row.result !== null && !row.isSmall) return;
    yield row;
  }
}

const isBatch = (id: string): boolean => id.startsWith('batch_');

export function createTaskService(deps: Dependencies): TaskService {
  const { registry, jobs, batches, outputs, linkFile, keepFile, outages, rateLimit, log } = deps;
  const longest = longestRow(registry);

  /** Reads the result that the call would have had. */
  async function jobResult(ctx: Context, { _id }: JobDoc, hangup: AbortSignal): Promise<CallToolResult> {
    const { caller } = ctx.state;
    const { job, ending } = await jobs.outcome(caller, _id, hangup);
    const { requestId, charged, accountId, expiresAt, reused = null } = job;
    const tool = registry.get(job.tool);
    if ('error' in ending) return refusal(ending.error, requestId);
    if (tool === undefined) return refusal(new ServiceError('unknown_tool'), requestId);
    const { balance, reserved } = caller.account;
    const outcome = { requestId, charged, available: balance - reserved, replayed: false, reused };
    let linked: StoredLink | undefined;
    // The address ends with the job, so that it is the same however often the task is read.
    const answer = {
      callId: _id,
      startedAt: new Date(expiresAt.getTime() - LINK_MS),
      links(file: StoredLink) {
        linked = file;
      },
    };
    const result = await callResult(tool, ending.output, outcome, (file) => linkFile(answer, file));
    const file = linked;
    if (file !== undefined) await retryStore(() => keepFile(accountId, file));
    return result;
  }

  async function batchResult(batch: BatchDoc): Promise<CallToolResult> {
    const { id, state, counts, credits, resultsUrl, manifestUrl } = batchRow(batch);
    const results: unknown[] = [];
    let left = RESULT_BYTES;
    for await (const line of ndjsonLines(smallRows(outputs.rows(batch._id, 'input', -1)))) {
      left -= line.length;
      if (left < 0) break;
      results.push(JSON.parse(line.toString()));
    }
    const fields = { id, state, counts, credits, resultsUrl, manifestUrl, results };
    return fieldsResult({ ...fields, hasMoreResults: results.length < counts.rows });
  }

  async function read(ctx: Context, id: string, hangup: AbortSignal): Promise<Record<string, unknown>> {
    const { caller } = ctx.state;
    if (isBatch(id)) {
      const batch = await batches.find(caller, id);
      const task = batchTask(batch);
      return task.status === 'completed' ? { ...task, result: await batchResult(batch) } : { ...task };
    }
    const job = await jobs.find(caller, id);
    const task = jobTask(job);
    return task.status === 'completed' ? { ...task, result: await jobResult(ctx, job, hangup) } : { ...task };
  }

  return {
    async startJob(call) {
      const { row } = await jobs.create({ ...call, callbackUrl: null, metadata: null });
      return createdTask(jobTask(await jobs.find(call.caller, row.id)), row.cost);
    },

    async startBatch(options, tool, inputs) {
      const body = Buffer.from(JSON.stringify({ tool, inputs }));
      const { row } = await batches.create({
        ...options,
        about: { type: 'mcp' },
        chunks: (async function* () {
          yield body;
        })(),
        rows: (chunks) => jsonRows(chunks, new Map(), longest),
        // A client of tasks cannot resume a paused batch, so a batch ends when the credits are gone.
        options: () => ({ order: 'input', onEmptyBalance: 'stop' }),
      });
      return createdTask(batchTask(await batches.find(options.caller, row.id)), row.credits.total);
    },

    serve(server, ctx, hangup) {
      const { caller, requestId } = ctx.state;
      const handle = (method: string, run: (id: string) => Promise<Record<string, unknown>>) =>
        server.setRequestHandler(method, { params: TASK_PARAMS }, async ({ taskId }, { mcpReq }) => {
          // The methods of these names are others in revisions of 2025.
          if (mcpReq.envelope === undefined) throw NO_METHOD;
          assertHandlesTasks(mcpReq);
          try {
            outages.refuse('mongodb');
            await rateLimit(ctx, () => {
              if (caller.key?.scope !== 'tools') throw new ServiceError('insufficient_scope');
            });
            return await run(taskId);
          } catch (error) {
            throw taskError(toServiceError(error, log, requestId), requestId);
          }
        });
      handle('tasks/get', (id) => read(ctx, id, hangup));
      handle('tasks/cancel', async (id) => {
        await (isBatch(id) ? batches.cancel(caller, id) : jobs.cancel(caller, id));
        return {};
      });
      // No task asks for input, so that no response is expected.
      handle('tasks/update', async (id) => {
        await (isBatch(id) ? batches.find(caller, id) : jobs.find(caller, id));
        return {};
      });
    },
  };
}
