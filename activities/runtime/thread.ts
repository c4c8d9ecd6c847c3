import { type ErrorCode, type ProblemMembers, ServiceError } from '../../schemas/errors.ts';
import type { ToolContext } from './context.ts';
import { loadTool } from './loadTool.ts';

/** A call of a tool with the parts of its context that can be cloned for a thread. Threads have no network access. */
export type ToolTask = { tool: string; input: Record<string, unknown> } & Omit<ToolContext, 'signal'>;

/** The output or the error of a task. Structured clone loses class instances, so a ServiceError is sent as its fields. */
export type ThreadResult =
  | { output: Record<string, unknown> }
  | { code: ErrorCode; detail: string; members: ProblemMembers };

/** Runs one tool on this thread. The pool terminates the thread when the task is aborted. */
export default async function runOnThread({
  tool,
  input,
  callId,
  deadline,
}: ToolTask): Promise<ThreadResult> {
  const run = await loadTool<ToolContext>(tool);
  const signal = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
  try {
    return { output: await run(input, { callId, deadline, signal }) };
  } catch (error) {
    if (error instanceof ServiceError)
      return { code: error.code, detail: error.detail, members: error.members };
    throw error;
  }
}
