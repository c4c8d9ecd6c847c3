import type {
  CreateScheduleInput,
  Schedule,
  ScheduleBackfill,
  ScheduleBackfillResult,
  ScheduleCallback,
  ScheduleChange,
  ScheduleRun,
} from './generated/types.ts';
import type { RequestOptions } from './options.ts';
import { listRows, requestOf, rowOf } from './rest.ts';
import type { Transport, TransportRequest } from './transport.ts';

const PATH = '/api/v1/schedules';

export interface ScheduleOptions extends RequestOptions {
  /** The same key gives the same schedule, or the same run. Default: a new key. */
  idempotencyKey?: string | undefined;
}

const pathOf = (id: string, part = ''): string => `${PATH}/${encodeURIComponent(id)}${part}`;

/** A POST request that can be repeated. */
function repeatable(
  path: string,
  body: object | undefined,
  { idempotencyKey = crypto.randomUUID() }: ScheduleOptions = {},
): TransportRequest {
  const request = requestOf({ method: 'POST', path, ...(body === undefined ? {} : { body }) });
  return {
    ...request,
    headers: { ...request.headers, 'Idempotency-Key': idempotencyKey },
    idempotencyKey,
    always: true,
  };
}

/** Schedules: jobs and batches that the service repeats, and whose results it can compare. */
export class Schedules {
  readonly #send: Transport;

  constructor(send: Transport) {
    this.#send = send;
  }

  /** Creates a schedule. Wrong inputs and times are errors at once. */
  async create(schedule: CreateScheduleInput, options?: ScheduleOptions): Promise<Schedule> {
    return rowOf<Schedule>(await this.#send(repeatable(PATH, schedule, options), options));
  }

  async get(id: string, options?: RequestOptions): Promise<Schedule> {
    return rowOf<Schedule>(await this.#send(requestOf({ method: 'GET', path: pathOf(id) }), options));
  }

  /** Lists schedules, newest first. Fetches page after page while you iterate. */
  list(options?: RequestOptions): AsyncGenerator<Schedule, void, undefined> {
    return listRows<Schedule>(this.#send, { method: 'GET', path: PATH }, options);
  }

  /** Changes a schedule, which from then on runs with the key of this client. `{ paused: true }` pauses it. */
  async change(id: string, change: ScheduleChange, options?: RequestOptions): Promise<Schedule> {
    const request = requestOf({ method: 'PATCH', path: pathOf(id), body: change });
    return rowOf<Schedule>(await this.#send(request, options));
  }

  /** Deletes a schedule. Jobs and batches that it has created continue. */
  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.#send(requestOf({ method: 'DELETE', path: pathOf(id) }), options);
  }

  /** Lists the runs of a schedule by their times, the latest first. */
  runs(id: string, options?: RequestOptions): AsyncGenerator<ScheduleRun, void, undefined> {
    return listRows<ScheduleRun>(this.#send, { method: 'GET', path: pathOf(id, '/runs') }, options);
  }

  /** Adds a run now. */
  async trigger(id: string, options?: ScheduleOptions): Promise<ScheduleRun> {
    const request = repeatable(pathOf(id, '/trigger'), undefined, options);
    return rowOf<ScheduleRun>(await this.#send(request, options));
  }

  /** Lists the callbacks of a schedule with their attempts, newest first. */
  callbacks(id: string, options?: RequestOptions): AsyncGenerator<ScheduleCallback, void, undefined> {
    return listRows<ScheduleCallback>(this.#send, { method: 'GET', path: pathOf(id, '/callbacks') }, options);
  }

  /** Sends callbacks again: these, or the newest that failed. Returns how many. */
  async resendCallbacks(id: string, callbackIds?: string[], options?: RequestOptions): Promise<number> {
    const body = callbackIds === undefined ? {} : { callbackIds };
    const request = requestOf({ method: 'POST', path: pathOf(id, '/callbacks/resend'), body });
    return rowOf<{ queued: number }>(await this.#send(request, options)).queued;
  }

  /** Adds a run for each past time of a period that has none. Can be repeated. */
  async backfill(
    id: string,
    period: ScheduleBackfill,
    options?: RequestOptions,
  ): Promise<ScheduleBackfillResult> {
    const request = requestOf({ method: 'POST', path: pathOf(id, '/backfill'), body: period });
    return rowOf<ScheduleBackfillResult>(await this.#send({ ...request, always: true }, options));
  }
}
