import { onParentExit } from '../../platform/onParentExit.ts';
import { type ErrorCode, type ProblemMembers, ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';

/** A job and its input, as sent to a child process. */
export interface Task {
  /** Base name of the file `activities/jobs/<job>.ts`. */
  job: string;
  input: unknown;
}

/**
 * The result of a job, as sent to the parent process. Structured clone does not preserve class instances, so a
 * ServiceError is sent as its code, detail and members. `code` is null for any other error.
 */
export type Outcome<O> = { output: O } | { code: ErrorCode | null; detail: string; members: ProblemMembers };

/** Message from a child process: `ready` once after the process has started, then `done` once per task. */
export type Message<O> = { kind: 'ready' } | { kind: 'done'; outcome: Outcome<O>; rssBytes: number };

/** Largest resident memory in bytes with which a process is kept after a job. */
export const MAX_IDLE_BYTES = 256 * 2 ** 20;

/**
 * Returns the resident memory of this process in bytes. If it is too large to keep the process, garbage is collected first,
 * which takes milliseconds; the start of another process takes half a second.
 */
function residentBytes(): number {
  if (process.memoryUsage.rss() > MAX_IDLE_BYTES) gc?.();
  return process.memoryUsage.rss();
}

const isTask = (value: unknown): value is Task => isRecord(value) && typeof value.job === 'string';

const hasJob = (module: unknown): module is { default(input: unknown): unknown } =>
  isRecord(module) && typeof module.default === 'function';

/**
 * Whether an error reports a failed memory allocation. V8, libvips and ONNX Runtime say so only in the error message.
 */
const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error &&
  (/out of memory|allocat|bad_alloc/i.test(error.message) || isOutOfMemory(error.cause));

async function runJob({ job, input }: Task): Promise<Outcome<unknown>> {
  try {
    const module: unknown = await import(new URL(`../jobs/${job}.ts`, import.meta.url).href);
    if (!hasJob(module)) throw new Error(`activities/jobs/${job}.ts has no default export`);
    return { output: await module.default(input) };
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'corrupt_source')
      return { code: error.code, detail: error.detail, members: error.members };
    if (isOutOfMemory(error)) {
      const detail = 'Decoding the file needs more memory than this tool allows.';
      return { code: 'source_too_large', detail, members: {} };
    }
    if (error instanceof ServiceError)
      return { code: error.code, detail: error.detail, members: error.members };
    return {
      code: null,
      detail: error instanceof Error ? (error.stack ?? error.message) : String(error),
      members: {},
    };
  }
}

const send = (message: Message<unknown>) => process.send?.(message);

async function answer(task: unknown): Promise<void> {
  if (!isTask(task)) throw new TypeError('the message is not a task');
  // While the job runs, the channel does not keep the process alive. If the job waits for a promise that nothing can settle
  // any more, the process ends at once instead of at the deadline of the job.
  process.channel?.unref();
  const outcome = await runJob(task);
  process.channel?.ref();
  send({ kind: 'done', outcome, rssBytes: residentBytes() });
}

if (import.meta.main) {
  // Libraries reject promises that nothing awaits, for example pdf.js while it reads a damaged file, also after its job has
  // ended. By default that ends the process, and with it a job that could succeed. The promise of the job decides instead.
  process.on('unhandledRejection', () => undefined);
  process.on('beforeExit', () => {
    console.error('the job waits for a promise that is never settled');
    process.exitCode = 1;
  });
  // An idle child exits when the parent has gone. A busy child does not get this event in time, but its parent-death
  // signal kills it (see process.ts).
  onParentExit(() => process.exit());
  process.on('message', (task) =>
    answer(task).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    }),
  );
  send({ kind: 'ready' });
}
