import { type ErrorCode, type ProblemMembers, ServiceError } from '../../schemas/errors.ts';
import type { ToolContext } from './context.ts';
import { loadTool } from './loadTool.ts';

/** A whole tool, with the part of its context that a thread can have: no way to the outside. */
export type ToolTask = { tool: string; input: Record<string, unknown> } & Omit<ToolContext, 'signal'>;

/** Class instances do not survive structured clone, so an expected error is sent as its parts. */
export type ThreadAnswer =
  | { output: Record<string, unknown> }
  | { code: ErrorCode; detail: string; members: ProblemMembers };

/** Runs one tool on this thread. The caller ends the thread when the time is over. */
export default async function runOnThread({
  tool,
  input,
  callId,
  deadline,
}: ToolTask): Promise<ThreadAnswer> {
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
