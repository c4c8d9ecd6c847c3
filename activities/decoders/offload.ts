/** The default export of a file in `activities/jobs/`. Its input and output are copied by structured clone. */
export type Job = (input: never) => unknown;

export interface OffloadOptions {
  signal: AbortSignal;
  /** Time in epoch milliseconds at which the process of the job is killed. */
  deadline: number;
  /**
   * Whether to run the job in a new process that runs no other job. Used for input with secrets, which must not share a
   * process with data of another call. Takes about 100 ms longer. Default: false.
   */
  isolated?: boolean;
}

/**
 * Runs `activities/jobs/<name>.ts` in a child process with a memory limit. The process is killed when the signal aborts
 * or the deadline passes.
 *
 * @throws ServiceError that the job throws; deadline_exceeded; source_too_large when the job exceeds the memory limit;
 *   corrupt_source when the job's process crashes, or waits for a promise that nothing can settle
 */
export type Offload = <J extends Job>(
  name: string,
  input: Parameters<J>[0],
  options: OffloadOptions,
) => Promise<Awaited<ReturnType<J>>>;
