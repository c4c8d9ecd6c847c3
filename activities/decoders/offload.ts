/** The default export of a file in `activities/jobs/`. Input and output are copied by structured clone. */
export type Job = (input: never) => unknown;

export interface OffloadOptions {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
  /**
   * Run the job in a new process that runs nothing else: for input that holds secrets, which must not meet the bytes of
   * another call. Takes some 100 ms longer. Default: false.
   */
  isolated?: boolean;
}

/**
 * Runs `activities/jobs/<name>.ts` in a child process with a memory limit. The process is killed when the signal aborts
 * or the deadline passes.
 *
 * @throws ServiceError what the job throws; deadline_exceeded; source_too_large when the job needs more memory than the
 *   limit; corrupt_source when its process crashes
 */
export type Offload = <J extends Job>(
  name: string,
  input: Parameters<J>[0],
  options: OffloadOptions,
) => Promise<Awaited<ReturnType<J>>>;
