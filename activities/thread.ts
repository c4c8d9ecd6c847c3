import { type ErrorCode, type ProblemMembers, ServiceError } from '../schemas/errors.ts';
import type { ToolContext } from './context.ts';
import { loadTool } from './load.ts';
import { type Stop, stopOf } from './stopping.ts';

/** A whole tool, whose context a thread can have: time, and nothing that reaches out. */
export type ToolTask = { tool: string; input: Record<string, unknown> } & Omit<ToolContext, 'signal'>;
/** A part of a tool: the default export of `activities/jobs/<job>.ts`. */
export interface JobTask {
  job: string;
  input: unknown;
  /** Of its `Stopping`. */
  stop: Int32Array;
}
export type ThreadTask = ToolTask | JobTask;

/** Classes do not survive the way between threads, so an expected error travels as its parts. */
export type ThreadAnswer<O> =
  | { output: O }
  | { code: ErrorCode | null; detail: string; members: ProblemMembers };

const hasJob = (module: unknown): module is { default(input: unknown, stop: Stop): unknown } =>
  typeof module === 'object' &&
  module !== null &&
  'default' in module &&
  typeof module.default === 'function';

async function runJob({ job, input, stop }: JobTask): Promise<unknown> {
  const module: unknown = await import(new URL(`./jobs/${job}.ts`, import.meta.url).href);
  if (!hasJob(module)) throw new Error(`activities/jobs/${job}.ts exports no job`);
  return module.default(input, stopOf(stop));
}

async function runTool({ tool, input, callId, deadline }: ToolTask): Promise<unknown> {
  const run = await loadTool<ToolContext>(tool);
  const signal = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
  return run(input, { callId, deadline, signal });
}

/** What runs on a thread: one task, once. The thread is ended from outside when its time is over. */
export default async function runOnThread(task: ThreadTask): Promise<ThreadAnswer<unknown>> {
  try {
    return { output: await ('tool' in task ? runTool(task) : runJob(task)) };
  } catch (error) {
    if (error instanceof ServiceError)
      return { code: error.code, detail: error.detail, members: error.members };
    throw error;
  }
}
