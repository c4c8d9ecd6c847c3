import type { Problem } from './errors.ts';
import { AbortedError } from './errors.ts';
import type { JobTypes } from './generated/tools.ts';
import type {
  Batch,
  BatchManifest,
  BatchResumption,
  CreateBatchInput,
  CreateBatchQuery,
  GetBatchResultsQuery,
  ListBatchesQuery,
} from './generated/types.ts';
import type { JobTool } from './jobs.ts';
import type { LineTransport } from './lines.ts';
import type { RequestOptions } from './options.ts';
import { listRows, pathWith, requestOf, rowOf } from './rest.ts';
import { type Transport, type TransportRequest, wait } from './transport.ts';

const PATH = '/api/v1/batches';
const NDJSON = 'application/x-ndjson';
/** Milliseconds between two requests for the state of a batch. */
const POLL_MS = 1000;

/** The type of a file with the rows of a batch. */
export type BatchFileType = 'text/csv' | typeof NDJSON;

interface NewBatch extends RequestOptions {
  /** The same key with the same rows and options gives the same batch for 24 hours. Default: a new key. */
  idempotencyKey?: string | undefined;
}

export interface BatchOptions extends NewBatch, Omit<CreateBatchInput, 'tool' | 'inputs'> {}

/** `tool` is required for CSV, and only for it. */
export interface BatchFileOptions extends NewBatch, CreateBatchQuery {}

/** A row of a batch that has ended. */
export interface BatchResult {
  /** Position of the row in the input, from 0. */
  row: number;
  /** The id that you gave the row; null if it has none. */
  id: string | null;
  callId: string;
  /** Position among the rows that have ended, with gaps; null if the batch has not counted it yet. */
  seq: number | null;
  tool: string;
  state: 'succeeded' | 'failed' | 'cancelled';
  cost: number;
  charged: number;
  /** Error code; null if the row succeeded. */
  code: string | null;
  endedAt: string | null;
  /** Output of the tool; null if the row did not succeed, or 72 hours after its end. */
  output: Record<string, unknown> | null;
  error: Problem | null;
}

const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

function created(request: TransportRequest, idempotencyKey: string = crypto.randomUUID()): TransportRequest {
  const headers = { ...request.headers, 'Idempotency-Key': idempotencyKey };
  return { ...request, headers, isTool: true, idempotencyKey, always: true };
}

/** The request that creates a batch from a file. */
export function newBatch(file: Blob, type: BatchFileType, query: BatchFileOptions): TransportRequest {
  const { idempotencyKey, signal: _signal, timeoutMs: _timeoutMs, ...parameters } = query;
  const request = requestOf({ method: 'POST', path: PATH, query: parameters });
  return created({ ...request, headers: { 'Content-Type': type }, body: file }, idempotencyKey);
}

/**
 * Yields the rows that have ended, with the lines that they come from. Continues after a lost connection.
 *
 * @param query `order` is `input` by default, whatever the order of the batch is
 */
export async function* readResults(
  lines: LineTransport,
  id: string,
  { order = 'input', after }: GetBatchResultsQuery,
  signal?: AbortSignal,
): AsyncGenerator<{ text: string; result: BatchResult }, void, undefined> {
  let last = after;
  const path = () => pathWith(`${pathOf(id)}/results`, { order, after: last });
  for await (const text of lines({ path, accept: NDJSON, signal })) {
    const result: BatchResult = JSON.parse(text);
    yield { text, result };
    last = (order === 'input' ? result.row : result.seq) ?? last;
  }
}

/** Batches: up to 50,000 calls in one request, whose results the service keeps for 72 hours after their ends. */
export class Batches {
  readonly #send: Transport;
  readonly #lines: LineTransport;

  constructor(send: Transport, lines: LineTransport) {
    this.#send = send;
    this.#lines = lines;
  }

  /** Creates a batch that calls one tool with each of these inputs. If one is wrong, nothing runs. */
  async create<N extends JobTool>(
    tool: N,
    inputs: readonly JobTypes[N]['input'][],
    { idempotencyKey, signal, timeoutMs, ...options }: BatchOptions = {},
  ): Promise<Batch> {
    const request = requestOf({ method: 'POST', path: PATH, body: { tool, ...options, inputs } });
    return rowOf<Batch>(await this.#send(created(request, idempotencyKey), { signal, timeoutMs }));
  }

  /** Creates a batch from a file: CSV for one tool, or NDJSON with a line of `{ id, tool, input }` for each row. */
  async createFromFile(file: Blob, type: BatchFileType, options: BatchFileOptions = {}): Promise<Batch> {
    return rowOf<Batch>(await this.#send(newBatch(file, type, options), options));
  }

  async get(id: string, options?: RequestOptions): Promise<Batch> {
    return rowOf<Batch>(await this.#send(requestOf({ method: 'GET', path: pathOf(id) }), options));
  }

  /** Lists batches, newest first. Fetches page after page while you iterate. */
  list(query: ListBatchesQuery = {}, options?: RequestOptions): AsyncGenerator<Batch, void, undefined> {
    return listRows<Batch>(this.#send, { method: 'GET', path: PATH, query }, options);
  }

  /**
   * Waits until a batch has ended, or is paused, and returns it. A batch can take 72 hours.
   *
   * @param options `timeoutMs` applies to each request; end the wait with `signal`. `onProgress` is called with each state
   */
  async wait(
    id: string,
    { onProgress, ...options }: RequestOptions & { onProgress?: (batch: Batch) => void } = {},
  ): Promise<Batch> {
    const { signal = new AbortController().signal } = options;
    for (;;) {
      const batch = await this.get(id, options);
      onProgress?.(batch);
      if (batch.endedAt !== null || batch.state === 'paused') return batch;
      await wait(POLL_MS, signal).catch((error) => {
        throw new AbortedError('The wait was aborted. The batch continues.', { cause: error });
      });
    }
  }

  /**
   * Yields the rows that have ended as they arrive, also while the batch runs: in the order of the input up to the first row that
   * has not ended, or with `order: 'completion'` all of them. Continues after a lost connection.
   */
  async *results(
    id: string,
    query: GetBatchResultsQuery = {},
    options: Pick<RequestOptions, 'signal'> = {},
  ): AsyncGenerator<BatchResult, void, undefined> {
    for await (const { result } of readResults(this.#lines, id, query, options.signal)) yield result;
  }

  /** Returns the sums and digests of a batch that has ended. */
  async manifest(id: string, options?: RequestOptions): Promise<BatchManifest> {
    const request = requestOf({ method: 'GET', path: `${pathOf(id)}/manifest` });
    return rowOf<BatchManifest>(await this.#send(request, options));
  }

  /** Lets no further row start. Running rows finish. */
  async pause(id: string, options?: RequestOptions): Promise<Batch> {
    const request = requestOf({ method: 'POST', path: `${pathOf(id)}/pause` });
    return rowOf<Batch>(await this.#send({ ...request, always: true }, options));
  }

  /** Continues a batch that is paused, if wanted with another limit of credits. */
  async resume(id: string, body: BatchResumption = {}, options?: RequestOptions): Promise<Batch> {
    const request = requestOf({ method: 'POST', path: `${pathOf(id)}/resume`, body });
    return rowOf<Batch>(await this.#send({ ...request, always: true }, options));
  }

  /** Cancels the waiting rows. Running rows finish, and results of rows that have ended are kept. */
  async cancel(id: string, options?: RequestOptions): Promise<void> {
    await this.#send(requestOf({ method: 'DELETE', path: pathOf(id) }), options);
  }
}
