import { type ErrorCode, type ProblemMembers, ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';

/** A job and its input, sent to a child process. */
export interface Task {
  /** Base name of `activities/jobs/<job>.ts`. */
  job: string;
  input: unknown;
}

/** Structured clone does not preserve class instances, so a refusal is sent as its parts. */
export type Outcome<O> = { output: O } | { code: ErrorCode | null; detail: string; members: ProblemMembers };

/** Message from a child process: `ready` once after its start, then `done` once per task. */
export type Message<O> = { kind: 'ready' } | { kind: 'done'; outcome: Outcome<O>; rssBytes: number };

const isTask = (value: unknown): value is Task => isRecord(value) && typeof value.job === 'string';

const hasJob = (module: unknown): module is { default(input: unknown): unknown } =>
  isRecord(module) && typeof module.default === 'function';

/** V8, libvips and ONNX Runtime report a failed allocation only in the error message. */
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
      const { code, detail, members } = new ServiceError('source_too_large');
      return { code, detail, members };
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

if (import.meta.main) {
  const send = (message: Message<unknown>) => process.send?.(message);
  // Only takes effect when idle. A busy child is killed by its parent-death signal (see process.ts).
  process.once('disconnect', () => process.exit());
  process.on('message', async (task) => {
    if (!isTask(task)) throw new TypeError('the message is not a task');
    const outcome = await runJob(task);
    send({ kind: 'done', outcome, rssBytes: process.memoryUsage.rss() });
  });
  send({ kind: 'ready' });
}
