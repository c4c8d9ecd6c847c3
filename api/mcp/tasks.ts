import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { problemBody } from '../http/problem.ts';

/*
 * The extension of MCP for tasks (io.modelcontextprotocol/tasks, SEP-2663), which belongs to the revision of 2026-07-28: the client
 * declares it in each request, the server decides which calls become tasks, and the client polls. There is no list of tasks.
 */

const EXTENSION = 'io.modelcontextprotocol/tasks';
/** The capability by which server and client declare the extension. */
export const TASKS_CAPABILITY = { extensions: { [EXTENSION]: {} } };

type Request = Pick<ServerContext['mcpReq'], 'envelope'>;
type Status = 'working' | 'completed' | 'cancelled';

/** A task as all of its messages describe it. */
interface Task {
  taskId: string;
  status: Status;
  statusMessage: string;
  createdAt: string;
  lastUpdatedAt: string;
  /** How long it is kept, in milliseconds from its creation. It changes when the task ends. */
  ttlMs: number;
  /** Milliseconds after which the client polls again. */
  pollIntervalMs: number;
}

const POLL_MS = { job: 2000, batch: 5000 } as const;

/** Whether the client of a request handles tasks. Clients of 2025 have no envelope, and another protocol for tasks. */
export function handlesTasks({ envelope }: Request): boolean {
  const capabilities = isRecord(envelope) ? envelope[CLIENT_CAPABILITIES_META_KEY] : null;
  const extensions = isRecord(capabilities) ? capabilities.extensions : null;
  return isRecord(extensions) && Object.hasOwn(extensions, EXTENSION);
}

/** @throws ProtocolError if the client of a request does not handle tasks */
export function assertHandlesTasks(request: Request): void {
  if (!handlesTasks(request))
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: TASKS_CAPABILITY });
}

/** Converts an error of a request about a task, which has no result in which it could be told, to one of JSON-RPC. */
export function taskError(error: ServiceError, requestId: string): ProtocolError {
  if (error.code === 'not_found')
    return new ProtocolError(ProtocolErrorCode.InvalidParams, 'Task not found. It may have expired.');
  return new ProtocolError(ProtocolErrorCode.InternalError, error.detail, problemBody(error, requestId));
}

const JOB_STATUS: Readonly<Record<JobDoc['state'], [Status, message: string]>> = {
  queued: ['working', 'Waits for a free worker.'],
  running: ['working', 'Runs.'],
  succeeded: ['completed', 'Succeeded.'],
  failed: ['completed', 'Failed. Nothing was charged.'],
  cancelled: ['cancelled', 'Cancelled. Nothing was charged.'],
};

/** A job as a task. A job that failed is completed: its result is a refusal. */
export function jobTask({ _id, state, createdAt, startedAt, endedAt, expiresAt }: JobDoc): Task {
  const [status, statusMessage] = JOB_STATUS[state];
  return {
    taskId: _id,
    status,
    statusMessage,
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: (endedAt ?? startedAt ?? createdAt).toISOString(),
    ttlMs: expiresAt.getTime() - createdAt.getTime(),
    pollIntervalMs: POLL_MS.job,
  };
}

/** A batch as a task. */
export function batchTask(batch: BatchDoc): Task {
  const { _id, state, pauseReason, createdAt, endedAt, expiresAt, rows, charged, refused, cancelled } = batch;
  const sums = `${charged + refused + cancelled} of ${rows} rows have ended: ${charged} charged, ${refused} failed, ${cancelled} cancelled.`;
  const paused = pauseReason === null ? '' : ` Paused (${pauseReason}).`;
  return {
    taskId: _id,
    status: state === 'completed' || state === 'cancelled' ? state : 'working',
    statusMessage: `${sums}${paused}`,
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: (endedAt ?? new Date()).toISOString(),
    ttlMs: expiresAt.getTime() - createdAt.getTime(),
    pollIntervalMs: POLL_MS.batch,
  };
}

/**
 * The result of a call that becomes a task. The task is stored before. The MCP package adds the empty `content` if it is missing.
 */
export const createdTask = (task: Task, price: number) => ({
  ...task,
  resultType: 'task',
  content: [],
  _meta: { cost: price, charged: 0 },
});
