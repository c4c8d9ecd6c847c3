import { availableParallelism } from 'node:os';
import { createFairSemaphore, type Slot } from '../../platform/semaphores.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { MAX_IDLE_BYTES } from './child.ts';
import type { Job, Offload, OffloadOptions } from './offload.ts';
import { type Decoder, type DecoderOptions, startDecoder } from './process.ts';

/** A pool of child processes that run jobs, so that a malicious file can affect only the job that reads it. */
export interface Decoders {
  offload: Offload;
  /** Kills all child processes and waits until they have exited. */
  close(): Promise<void>;
}

/** Milliseconds after which an idle process is killed. */
const IDLE_MS = 60_000;
/** Number of jobs after which a process is replaced, which limits slow memory leaks. */
const MAX_JOBS = 1000;
/** All jobs wait in one queue, in order of arrival. */
const QUEUE = 'jobs';

/**
 * Creates a pool of at most one child process per core. Processes are started on demand and end after a minute without
 * a job.
 */
export function createDecoders(options: DecoderOptions): Decoders {
  const slots = createFairSemaphore(availableParallelism());
  const all = new Set<Decoder>();
  /**
   * Idle processes. The one that became idle last is used first, so that surplus processes reach their idle timeout.
   */
  const idle: { decoder: Decoder; timer: NodeJS.Timeout }[] = [];

  function start(): Decoder {
    const decoder = startDecoder(options);
    all.add(decoder);
    decoder.ended.then(() => all.delete(decoder));
    return decoder;
  }

  function reuse(): Decoder | undefined {
    for (let next = idle.pop(); next !== undefined; next = idle.pop()) {
      clearTimeout(next.timer);
      if (next.decoder.alive) return next.decoder;
    }
    return undefined;
  }

  function keep(decoder: Decoder): void {
    decoder.keepAwake(false);
    idle.push({ decoder, timer: setTimeout(() => decoder.kill(), IDLE_MS).unref() });
  }

  /**
   * Frees the slot of a finished job once its process is idle or has exited, so that there are never more processes
   * than slots.
   */
  function release(slot: Slot, decoder: Decoder, isolated: boolean): void {
    const { alive, rssBytes, jobs } = decoder;
    if (alive && !isolated && rssBytes <= MAX_IDLE_BYTES && jobs < MAX_JOBS) {
      keep(decoder);
      slot[Symbol.dispose]();
    } else {
      decoder.kill();
      decoder.ended.then(() => slot[Symbol.dispose]());
    }
  }

  return {
    async offload<J extends Job>(
      job: string,
      input: Parameters<J>[0],
      { signal, deadline, isolated = false }: OffloadOptions,
    ): Promise<Awaited<ReturnType<J>>> {
      const timeout = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
      const either = AbortSignal.any([signal, timeout]);
      try {
        const slot = await slots.acquire(QUEUE, either);
        const decoder = (isolated ? undefined : reuse()) ?? start();
        decoder.keepAwake(true);
        try {
          return await decoder.run<Awaited<ReturnType<J>>>({ job, input }, either);
        } finally {
          release(slot, decoder, isolated);
        }
      } catch (error) {
        if (timeout.aborted && !signal.aborted) throw new ServiceError('deadline_exceeded', { cause: error });
        throw error;
      }
    },
    async close() {
      for (const decoder of all) {
        // Idle processes do not keep the event loop alive. Without this line, Node would exit before they have exited.
        decoder.keepAwake(true);
        decoder.kill();
      }
      await Promise.all([...all].map(({ ended }) => ended));
    },
  };
}
