import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { untilAborted } from '../egress/clock.ts';
import { isErrorCode, ServiceError } from '../schemas/errors.ts';
import { type Stop, Stopping } from './stopping.ts';
import type { ThreadAnswer, ThreadTask, ToolTask } from './thread.ts';

/** The default export of a file in `activities/jobs/`. Input and output are copied by structured clone. */
export type Job = (input: never, stop: Stop) => unknown;

type JobOutput<J extends Job> = Awaited<ReturnType<J>>;

export interface OffloadOptions {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
  /** Moved instead of copied; the caller's own views of them are empty afterwards. */
  transfer?: ArrayBuffer[];
  /** How long a job that looks at `stop` has to end by itself before its thread is ended. Default 0: it does not look. */
  graceMs?: number;
}

/**
 * Runs `activities/jobs/<name>.ts` on a thread, which is ended when the signal aborts, the deadline passes (with
 * `graceMs` that much later, though nobody waits for it) or its heap is full. What native libraries allocate is not in that heap.
 *
 * @throws ServiceError what the job throws; deadline_exceeded; source_too_large when the heap is full
 */
export type Offload = <J extends Job>(
  name: string,
  input: Parameters<J>[0],
  options: OffloadOptions,
) => Promise<JobOutput<J>>;

/** Runs work on threads: a worker's event loop stays free, and what hangs is ended with its thread. */
export interface Threads {
  runTool(task: ToolTask, signal: AbortSignal): Promise<Record<string, unknown>>;
  offload: Offload;
  close(): Promise<void>;
}

const IDLE_MS = 60_000;
/** V8's own default is a share of the machine's memory; several threads at once would not fit into it. */
const HEAP_MB = 512;

const isHeapFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

/** @param warm threads that are there before the first task */
export function createThreads(warm: number): Threads {
  const pool = new Piscina({
    filename: new URL('./thread.ts', import.meta.url).href,
    minThreads: warm,
    maxThreads: availableParallelism(),
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });

  /** Those at work that are not to be ended at once. */
  const gentle = new Map<Stopping, Promise<unknown>>();

  async function run<O>(task: ThreadTask, signal: AbortSignal, transfer: ArrayBuffer[] = []): Promise<O> {
    const answer: ThreadAnswer<O> = await pool.run(task, { signal, transferList: transfer });
    if ('output' in answer) return answer.output;
    if (isErrorCode(answer.code))
      throw new ServiceError(answer.code, { ...answer.members, detail: answer.detail });
    throw new Error(answer.detail);
  }

  return {
    runTool: (task, signal) => run(task, signal),
    offload<J extends Job>(
      job: string,
      input: Parameters<J>[0],
      { signal, deadline, transfer, graceMs = 0 }: OffloadOptions,
    ): Promise<JobOutput<J>> {
      const timeout = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
      const either = AbortSignal.any([signal, timeout]);
      const stopping = new Stopping(either, graceMs);
      const { flag: stop, kill } = stopping;
      const work = run<JobOutput<J>>({ job, input, stop }, kill, transfer).finally(() => {
        stopping[Symbol.dispose]();
        gentle.delete(stopping);
      });
      if (graceMs > 0) gentle.set(stopping, work);
      return untilAborted(work, either).catch((error: unknown) => {
        if (isHeapFull(error)) throw new ServiceError('source_too_large', { cause: error });
        if (timeout.aborted && !signal.aborted) throw new ServiceError('deadline_exceeded', { cause: error });
        throw error;
      });
    },
    async close() {
      for (const stopping of gentle.keys()) stopping.ask();
      await Promise.allSettled(gentle.values());
      await pool.destroy();
    },
  };
}
