import { createHash, randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Guard } from '../../egress/guard.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import {
  type BatchOptions,
  type BatchRow,
  type BatchState,
  MAX_OPEN_BATCHES,
} from '../../schemas/batches.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { SendableCallbacks } from '../../store/batches/batchCallbacks.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { Batches } from '../../store/batches/batches.ts';
import { batchRow } from '../../store/batches/batchRow.ts';
import type { BatchRows } from '../../store/batches/batchRows.ts';
import type { JobStorage } from '../../store/jobs/storedBytes.ts';
import type { Page, PageRequest } from '../../store/mongo/pages.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { Caller } from '../http/context.ts';
import type { JobWorkflow } from '../jobs/jobWorkflow.ts';
import type { ResendCallbacks } from '../jobs/resendCallbacks.ts';
import { checkReceiverUrl } from '../webhooks/receiverUrl.ts';
import type { CheckedRows, createCheckRows } from './checkRows.ts';
import type { Rows } from './rowReader.ts';

/** A request to create a batch, whose body arrives while it is checked. */
export interface BatchRequest {
  caller: Caller;
  requestId: string;
  idempotencyKey: string | null;
  /** Highest sum of prices in credits that the caller accepts. */
  max: number;
  /** Media type and query of the request. A request with the same Idempotency-Key must have equal ones. */
  about: Record<string, unknown>;
  chunks: AsyncIterable<Buffer>;
  /** Reads the rows of the body. */
  rows(chunks: AsyncIterable<Buffer>): Rows;
  /** Returns the options, when all rows have been read. @throws ServiceError invalid_input */
  options(): BatchOptions;
  /** Whether the batch is paused until it is resumed. Default: it runs at once. */
  waitsForStart?: boolean;
}

/** Batches as the API offers them. A key that may call only some tools sees only batches of these. */
export interface BatchService {
  /** Accepts a batch, or returns the earlier one with the same Idempotency-Key. @throws ServiceError */
  create(request: BatchRequest): Promise<{ row: BatchRow; isReplay: boolean }>;
  /** Returns a batch. @throws ServiceError not_found */
  find(caller: Caller, id: string): Promise<BatchDoc>;
  list(caller: Caller, state: BatchState | undefined, page: PageRequest): Promise<Page<BatchDoc>>;
  pause(caller: Caller, id: string): Promise<BatchRow>;
  resume(caller: Caller, id: string, maxCredits: number | null | undefined): Promise<BatchRow>;
  cancel(caller: Caller, id: string): Promise<void>;
  /**
   * Sends callbacks again. @param ids which; undefined: the newest failed ones
   * @returns how many were queued @throws ServiceError not_found, rate_limited
   */
  resendCallbacks(caller: Caller, id: string, ids: readonly string[] | undefined): Promise<number>;
}

interface Dependencies {
  batches: Batches;
  rows: Pick<BatchRows, 'insert' | 'discard'>;
  checkRows: ReturnType<typeof createCheckRows>;
  toolCallService: Pick<ToolCallService, 'admitLater'>;
  storage: JobStorage;
  /** Counts the rows of a batch that have ended; see `countEnded`. */
  count(batchId: string): Promise<unknown>;
  /** Cancels the rows of a batch that wait; see `cancelWaiting`. */
  cancelWaiting(batch: BatchDoc): Promise<unknown>;
  workflow: Pick<JobWorkflow, 'wake' | 'wakeAgain'>;
  callbacks: SendableCallbacks;
  resendCallbacks: ResendCallbacks;
  keyring: Keyring;
  /** Egress guard that permits public addresses and `localhost`. */
  egress: Guard;
  publicUrl(): string;
  onError: (error: unknown) => void;
}

/** Bytes that a document of a batch or row adds to the storage of its account, beside inputs and results. */
const STORED_BYTES = { batch: 4096, row: 1024 } as const;

/** Computes the digest of what passes through. */
function digestOf(chunks: AsyncIterable<Buffer>) {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* pass(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  return { chunks: pass(), body: () => ({ sha256: hash.copy().digest('hex'), bytes }) };
}

export function createBatchService(deps: Dependencies): BatchService {
  const { batches, rows, storage, workflow, keyring } = deps;

  async function assertRoom(accountId: string): Promise<void> {
    if (await batches.isFull(accountId))
      throw new ServiceError('limit_reached', {
        detail: `At most ${MAX_OPEN_BATCHES} batches of an account are open at the same time.`,
      });
    const retryAfter = await storage.isFull(accountId);
    if (retryAfter !== null)
      throw new ServiceError('rate_limited', {
        detail:
          'The inputs and results of the jobs and batches of this account, or of all accounts, take too much storage.',
        retryAfter,
      });
  }

  async function find({ account, key }: Caller, id: string): Promise<BatchDoc> {
    const row = await retryStore(() => batches.find(account._id, id));
    if (row === null || (key?.tools != null && !row.tools.every((tool) => key.tools?.includes(tool))))
      throw new ServiceError('not_found');
    await retryStore(() => deps.count(id));
    return (await retryStore(() => batches.find(account._id, id))) ?? row;
  }

  const canonicalOf = (request: BatchRequest, sha256: string): string =>
    canonicalize({ batch: request.about, sha256 }) ?? '';

  /** Returns the earlier batch, if the request is the same. @throws ServiceError idempotency_key_mismatch */
  function replay(batch: BatchDoc, canonical: string): { row: BatchRow; isReplay: true } {
    const known = batch.idempotency?.fingerprint ?? '';
    if (keyring.mac('fingerprint', canonical, known.slice(0, known.indexOf(':'))) !== known)
      throw new ServiceError('idempotency_key_mismatch');
    return { row: batchRow(batch), isReplay: true };
  }

  /** The checks that come when all rows are known. @throws ServiceError */
  async function admit(
    { caller, max }: BatchRequest,
    { tools, totalCredits }: CheckedRows,
    { callbackUrl }: BatchOptions,
  ): Promise<void> {
    if (totalCredits > max)
      throw new ServiceError('price_above_max', {
        detail: `The rows cost ${totalCredits} credits together, which exceeds X-Max-Credits. Nothing ran and nothing was charged.`,
      });
    for (const tool of tools)
      deps.toolCallService.admitLater({ caller, tool, max: Number.POSITIVE_INFINITY });
    if (callbackUrl !== undefined) await checkReceiverUrl(deps.egress, callbackUrl, '/callbackUrl');
  }

  /** Stores and checks the rows, then opens the batch. */
  async function store(request: BatchRequest): Promise<{ row: BatchRow; isReplay: boolean }> {
    const { caller, requestId, idempotencyKey, waitsForStart = false } = request;
    const accountId = caller.account._id;
    const batch = {
      _id: `batch_${randomUUID()}`,
      accountId,
      keyId: caller.key?._id ?? null,
      keyPrefix: caller.key?.prefix ?? null,
      requestId,
      createdAt: new Date(),
      baseUrl: deps.publicUrl(),
    };
    await retryStore(() => batches.create(batch));
    let isOpen = false;
    try {
      const { chunks, body } = digestOf(request.chunks);
      const checked = await deps.checkRows(caller, request.rows(chunks), (group) =>
        retryStore(() => rows.insert(batch, group)),
      );
      const options = request.options();
      await admit(request, checked, options);
      await storage.add(accountId, STORED_BYTES.batch + checked.rows * STORED_BYTES.row + body().bytes);
      const { maxCredits = null, callbackUrl = null, metadata = null, order, onEmptyBalance } = options;
      const canonical = canonicalOf(request, body().sha256);
      const fingerprint = keyring.mac('fingerprint', canonical);
      const opened = await retryStore(() =>
        batches.open(batch._id, {
          ...checked,
          tools: checked.tools.map(({ name }) => name),
          pools: [...new Set(checked.tools.map(({ pool }) => pool))],
          maxCredits,
          order,
          onEmptyBalance,
          metadata: metadata === null ? null : JSON.stringify(metadata),
          callbackUrl,
          body: body(),
          idempotency: idempotencyKey === null ? null : { key: idempotencyKey, fingerprint },
          waitsForStart,
        }),
      );
      isOpen = opened !== null;
      if (opened !== null) {
        workflow.wake(accountId);
        return { row: batchRow(opened), isReplay: false };
      }
      const earlier = idempotencyKey === null ? null : await batches.findByKey(accountId, idempotencyKey);
      if (earlier === null) throw new Error(`batch ${batch._id} was not opened`);
      return replay(earlier, canonical);
    } finally {
      // In the background, because it may take long. The sweeper does it if this process is killed.
      if (!isOpen) retryStore(() => rows.discard(batch._id)).catch(deps.onError);
    }
  }

  return {
    async create(request) {
      const { caller, idempotencyKey } = request;
      const accountId = caller.account._id;
      const earlier =
        idempotencyKey === null ? null : await retryStore(() => batches.findByKey(accountId, idempotencyKey));
      if (earlier === null) {
        await assertRoom(accountId);
        return store(request);
      }
      const { chunks, body } = digestOf(request.chunks);
      for await (const _chunk of chunks);
      return replay(earlier, canonicalOf(request, body().sha256));
    },

    find,

    async list({ account, key }, state, page) {
      const filter = { state, tools: key?.tools ?? null };
      const found = await batches.list(account._id, filter, page);
      for (const { _id, endedAt } of found.items) if (endedAt === null) await deps.count(_id);
      return found;
    },

    async pause(caller, id) {
      await find(caller, id);
      await retryStore(() => batches.pause(id, 'requested', null));
      return batchRow(await find(caller, id));
    },

    async resume(caller, id, maxCredits) {
      const { accountId } = await find(caller, id);
      await retryStore(() => batches.resume(id, maxCredits));
      workflow.wakeAgain(accountId);
      return batchRow(await find(caller, id));
    },

    async resendCallbacks(caller, id, ids) {
      const { accountId } = await find(caller, id);
      const { callbacks } = deps;
      const selected = await retryStore(() => callbacks.select(id, ids));
      return deps.resendCallbacks(accountId, selected, callbacks.queue);
    },

    async cancel(caller, id) {
      const batch = await find(caller, id);
      if (batch.endedAt !== null) return;
      await retryStore(() => batches.cancel(id));
      await deps.cancelWaiting(batch).catch(deps.onError);
      workflow.wakeAgain(batch.accountId);
    },
  };
}
