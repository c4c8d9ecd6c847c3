import { JOB_FILES, type JobTypes } from './generated/tools.ts';
import type { GetJobQuery, Job, ListJobsQuery } from './generated/types.ts';
import type { RequestOptions } from './options.ts';
import { listRows, requestOf, rowOf } from './rest.ts';
import { fileOf, type Result, resultOf, type ToolFile } from './result.ts';
import type { Transport, TransportRequest } from './transport.ts';

const PATH = '/api/v1/jobs';
/** The longest time in seconds that the service holds a request for the state of a job. */
const WAIT_SECONDS = 60;

/** The name of a tool that jobs can call: one without secret fields. */
export type JobTool = keyof JobTypes;

/** The output of a tool; of a tool that the compiler does not know, any fields. */
export type JobOutput<N extends string> = N extends JobTool ? JobTypes[N]['output'] : Record<string, unknown>;

/** A job of which the compiler knows the tool. */
export type JobOf<N extends string> = Job & { tool: N };

export interface JobOptions extends RequestOptions {
  /** Rejects the job if its price exceeds this number of credits. */
  maxCredits?: number | undefined;
  /** The same key with the same tool and input gives the same job for 24 hours. Default: a new key. */
  idempotencyKey?: string | undefined;
  /** https URL to which `job.completed` is posted at the end of the job. */
  callbackUrl?: string | undefined;
  /** Texts of your own that the job, its callback and its result show. */
  metadata?: Record<string, string> | undefined;
}

/** The result of a job. */
export interface JobResult<T> extends Result<T> {
  /** The file, if the tool creates one. */
  file: ToolFile | null;
}

const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

/** The request that creates a job. */
export function newJob(tool: string, input: object, options: JobOptions = {}): TransportRequest {
  const { maxCredits, callbackUrl, metadata, idempotencyKey = crypto.randomUUID() } = options;
  const request = requestOf({ method: 'POST', path: PATH, body: { tool, input, callbackUrl, metadata } });
  return {
    ...request,
    headers: {
      ...request.headers,
      'Idempotency-Key': idempotencyKey,
      ...(maxCredits === undefined ? {} : { 'X-Max-Credits': String(maxCredits) }),
    },
    isTool: true,
    idempotencyKey,
    always: true,
  };
}

/** Jobs: calls that the service accepts at once, and whose result it keeps for 72 hours after their end. */
export class Jobs {
  readonly #send: Transport;

  constructor(send: Transport) {
    this.#send = send;
  }

  /** Creates a job. Wrong inputs and an empty balance are errors at once. */
  async create<N extends JobTool>(
    tool: N,
    input: JobTypes[N]['input'],
    options?: JobOptions,
  ): Promise<JobOf<N>> {
    return rowOf<JobOf<N>>(await this.#send(newJob(tool, input, options), options));
  }

  /** Returns a job. With `wait`, the service waits for another state, for at most 60 seconds. */
  async get(id: string, query: GetJobQuery = {}, options?: RequestOptions): Promise<Job> {
    return rowOf<Job>(await this.#send(requestOf({ method: 'GET', path: pathOf(id), query }), options));
  }

  /** Lists jobs, newest first. Fetches page after page while you iterate. */
  list(query: ListJobsQuery = {}, options?: RequestOptions): AsyncGenerator<Job, void, undefined> {
    return listRows<Job>(this.#send, { method: 'GET', path: PATH, query }, options);
  }

  /** Cancels a job that waits or runs. */
  async cancel(id: string, options?: RequestOptions): Promise<void> {
    await this.#send(requestOf({ method: 'DELETE', path: pathOf(id) }), options);
  }

  /** Returns the result of a job that has ended. Throws the error of a job that failed, or `not_finished`. */
  async result<N extends string>(
    { id, tool, code }: { id: string; tool: N; code?: string | null },
    options?: RequestOptions,
  ): Promise<JobResult<JobOutput<N>>> {
    const request = requestOf({ method: 'GET', path: `${pathOf(id)}/result` });
    const success = await this.#send(
      { ...request, isTool: true, ...(code ? { finalCode: code } : {}) },
      options,
    );
    const result = resultOf<JobOutput<N>>(success, null, false);
    const fields = new Map(Object.entries(JOB_FILES)).get(tool);
    const file =
      fields === undefined ? null : fileOf({ name: tool, hasSecrets: false }, fields, result.output);
    return { ...result, file };
  }

  /**
   * Waits until a job has ended, which can take 24 hours, and returns its result. Throws the error of a job that failed.
   *
   * @param options `timeoutMs` applies to each request; end the wait with `signal`
   */
  async wait<N extends string>(
    job: { id: string; tool: N },
    options?: RequestOptions,
  ): Promise<JobResult<JobOutput<N>>> {
    let current = await this.get(job.id, {}, options);
    while (current.endedAt === null) current = await this.get(job.id, { wait: WAIT_SECONDS }, options);
    return this.result({ ...job, code: current.code }, options);
  }
}
