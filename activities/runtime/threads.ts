import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { ServiceError } from '../../schemas/errors.ts';
import type { ThreadAnswer, ToolTask } from './thread.ts';

/**
 * Runs whole tools on threads, which keeps the worker's event loop free. For computations on validated input only: what
 * native code allocates is under no limit on a thread, and what crashes there ends the worker. Files that callers name are
 * decoded in processes (`decoders/`).
 */
export interface Threads {
  /** The thread is ended when the signal aborts. @throws ServiceError what the tool throws */
  runTool(task: ToolTask, signal: AbortSignal): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;
/** V8's own default is a share of the machine's memory; several threads at once would not fit into it. */
const HEAP_MB = 512;

/** @param warm threads that are there before the first task */
export function createThreads(warm: number): Threads {
  const pool = new Piscina({
    filename: new URL('./thread.ts', import.meta.url).href,
    minThreads: warm,
    maxThreads: availableParallelism(),
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  return {
    async runTool(task, signal) {
      const answer: ThreadAnswer = await pool.run(task, { signal });
      if ('output' in answer) return answer.output;
      const { code, members, detail } = answer;
      throw new ServiceError(code, { ...members, detail });
    },
    close: () => pool.destroy(),
  };
}
