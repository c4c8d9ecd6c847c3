import { availableParallelism } from 'node:os';
import { ServiceError } from '../../schemas/errors.ts';
import type { Job, Offload, OffloadOptions } from './offload.ts';
import { type Decoder, type DecoderOptions, startDecoder } from './process.ts';
import { Slots } from './slots.ts';

/** Child processes that run jobs: whatever a hostile file does to its decoder ends with one job. */
export interface Decoders {
  offload: Offload;
  /** Kills all of them, and waits until they have ended. */
  close(): Promise<void>;
}

/** A process is kept for the next job for so long. */
const IDLE_MS = 60_000;
/** A process is replaced when it holds more after a job, bytes: what decoders keep would otherwise add up. */
const KEPT_BYTES = 256 * 2 ** 20;
/** A process is replaced after so many jobs, so that a slow leak stays small. */
const JOBS = 1000;

/** At most as many processes as there are cores, started when needed and kept for a minute. */
export function createDecoders(options: DecoderOptions): Decoders {
  const slots = new Slots(availableParallelism());
  const all = new Set<Decoder>();
  /** The one used last is the first to be used again, so that the others can go. */
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

  /** The slot is free when the process is idle or gone: no more of them hold memory at once than there are slots. */
  function release(decoder: Decoder, isolated: boolean): void {
    const { alive, rssBytes, jobs } = decoder;
    if (alive && !isolated && rssBytes <= KEPT_BYTES && jobs < JOBS) {
      keep(decoder);
      slots.give();
    } else {
      decoder.kill();
      decoder.ended.then(() => slots.give());
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
        await slots.take(either);
        const decoder = (isolated ? undefined : reuse()) ?? start();
        decoder.keepAwake(true);
        try {
          return await decoder.run<Awaited<ReturnType<J>>>({ job, input }, either);
        } finally {
          release(decoder, isolated);
        }
      } catch (error) {
        if (timeout.aborted && !signal.aborted) throw new ServiceError('deadline_exceeded', { cause: error });
        throw error;
      }
    },
    async close() {
      for (const decoder of all) {
        // Idle ones would let this process end before they have.
        decoder.keepAwake(true);
        decoder.kill();
      }
      await Promise.all([...all].map(({ ended }) => ended));
    },
  };
}
