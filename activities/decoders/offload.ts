/** Default export of a file in `activities/jobs/`. Input and output are copied by structured clone. */
export type Job = (input: never) => unknown;

export interface OffloadOptions {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
  /**
   * Runs the job in a new process that runs no other job. For input that holds secrets, which must not share a process
   * with data of another call. Adds about 100 ms. Default: false.
   */
  isolated?: boolean;
}

/**
 * Runs `activities/jobs/<name>.ts` in a child process with a memory limit. The process is killed when the signal aborts
 * or the deadline passes.
 *
 * @throws ServiceError thrown by the job; deadline_exceeded; source_too_large when the job exceeds the memory limit;
 *   corrupt_source when its process crashes
 */
export type Offload = <J extends Job>(
  name: string,
  input: Parameters<J>[0],
  options: OffloadOptions,
) => Promise<Awaited<ReturnType<J>>>;
