import { type ErrorCode, type ProblemMembers, ServiceError } from '../schemas/errors.ts';
import type { ToolContext } from './context.ts';
import { loadTool } from './load.ts';

export type ThreadTask = { tool: string; input: Record<string, unknown> } & Omit<ToolContext, 'signal'>;

/** Classes do not survive the way between threads, so an expected error travels as its parts. */
export type ThreadAnswer =
  | { output: Record<string, unknown> }
  | { code: ErrorCode | null; detail: string; members: ProblemMembers };

/** What runs on a thread: one tool, once. The thread is ended from outside when its time is over. */
export default async function runOnThread({
  tool,
  input,
  callId,
  deadline,
}: ThreadTask): Promise<ThreadAnswer> {
  try {
    const run = await loadTool<ToolContext>(tool);
    const signal = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
    return { output: await run(input, { callId, deadline, signal }) };
  } catch (error) {
    if (error instanceof ServiceError)
      return { code: error.code, detail: error.detail, members: error.members };
    throw error;
  }
}
