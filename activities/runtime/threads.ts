import { Piscina } from 'piscina';
import { ServiceError } from '../../schemas/errors.ts';
import type { ToolContext } from './context.ts';
import type { RunTool } from './loadTool.ts';
import type { ThreadResult, ToolTask } from './thread.ts';

/**
 * Runs tools on threads to keep the worker's event loop free. Only for computations on validated input: a thread does not
 * limit the memory of native code, and a native crash ends the worker. Files from callers are decoded in child
 * processes (`decoders/`).
 */
export interface Threads {
  /** Returns the function that runs a tool; it terminates the thread of the tool when its signal aborts. */
  runOf(tool: string): RunTool<ToolContext>;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;
/** Heap limit of a thread. V8's default is a share of the machine's memory, which several threads could exceed together. */
const HEAP_MB = 512;

/**
 * Creates a pool of threads.
 *
 * @param warm number of threads that are started before the first task and kept running
 * @param most maximum number of threads; further tasks wait
 */
export function createThreads(warm: number, most: number): Threads {
  const pool = new Piscina({
    filename: new URL('./thread.ts', import.meta.url).href,
    minThreads: warm,
    maxThreads: most,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  return {
    runOf:
      (tool) =>
      async (input, { callId, deadline, signal }) => {
        const task: ToolTask = { tool, input, callId, deadline };
        const result: ThreadResult = await pool.run(task, { signal });
        if ('output' in result) return result.output;
        const { code, members, detail } = result;
        throw new ServiceError(code, { ...members, detail });
      },
    close: () => pool.destroy(),
  };
}
