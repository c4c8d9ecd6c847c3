import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { isErrorCode, ServiceError } from '../schemas/errors.ts';
import type { ThreadAnswer, ThreadTask } from './thread.ts';

/** Runs tools on threads: a worker's event loop stays free, and a tool that hangs is ended with its thread. */
export interface Threads {
  run(task: ThreadTask, signal: AbortSignal): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;

/** @param warm threads that are there before the first task */
export function createThreads(warm: number): Threads {
  const pool = new Piscina<ThreadTask, ThreadAnswer>({
    filename: new URL('./thread.ts', import.meta.url).href,
    minThreads: warm,
    maxThreads: availableParallelism(),
    idleTimeout: IDLE_MS,
  });
  return {
    async run(task, signal) {
      const answer = await pool.run(task, { signal });
      if ('output' in answer) return answer.output;
      if (isErrorCode(answer.code))
        throw new ServiceError(answer.code, { ...answer.members, detail: answer.detail });
      throw new Error(answer.detail);
    },
    close: () => pool.destroy(),
  };
}
