import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import canonicalize from 'canonicalize';
import type { Guard } from '../../egress/guard.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createSemaphorePerHolder } from '../../platform/semaphores.ts';
import type { Env } from '../../schemas/env.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { fileIdOf, fileNotFound } from '../../schemas/formats/fileSource.ts';
import { type JobRow, type JobState, MAX_OPEN_JOBS } from '../../schemas/jobs.ts';
import { secretFields } from '../../schemas/tool.ts';
import { jobPolicyOf } from '../../store/calls/callPolicy.ts';
import { ResultGone, type ResultReference, type Results } from '../../store/calls/results.ts';
import { reuseOf } from '../../store/calls/reusableResults.ts';
import type { UnchargedCalls } from '../../store/calls/unchargedCalls.ts';
import type { Files } from '../../store/files/files.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { jobRow } from '../../store/jobs/jobRow.ts';
import { JOB_WAIT_MS, type Jobs } from '../../store/jobs/jobs.ts';
import type { JobStorage } from '../../store/jobs/storedBytes.ts';
import type { Page, PageRequest } from '../../store/mongo/pages.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { CallWorkflow } from '../calls/callWorkflow.ts';
import type { ReplaySlots } from '../calls/replaySlots.ts';
import type { ToolCallService } from '../calls/run.ts';
import { type CallOutcome, comparedInput, type ToolCall } from '../calls/toolCall.ts';
import type { Caller } from '../http/context.ts';
import { checkReceiverUrl } from '../webhooks/receiverUrl.ts';
import { jobEnding } from './jobEnding.ts';
import type { JobWorkflow } from './jobWorkflow.ts';
import type { ResendCallbacks } from './resendCallbacks.ts';

/** A request to create a job, with its validated input. */
export interface JobRequest
  extends Pick<
    ToolCall,
    'caller' | 'tool' | 'input' | 'fileDigest' | 'idempotencyKey' | 'max' | 'requestId'
  > {
  callbackUrl: string | null;
  metadata: Record<string, string> | null;
}

/** The outcome of a job that has ended. */
interface JobAnswer extends Pick<CallOutcome, 'ending'> {
  job: JobDoc;
}

/** Jobs as the API offers them. A key that may call only some tools sees only jobs of these. */
export interface JobService {
  /** Accepts a job, or returns the earlier one with the same Idempotency-Key. @throws ServiceError */
  create(request: JobRequest): Promise<{ row: JobRow; isReplay: boolean }>;
  /**
   * Returns a job. @param waitSeconds how long to wait for a change of its state
   * @throws ServiceError not_found
   */
  get(caller: Caller, id: string, waitSeconds: number): Promise<JobRow>;
  /** Returns a job, or a row of a batch. @throws ServiceError not_found */
  find(caller: Caller, id: string): Promise<JobDoc>;
  list(caller: Caller, state: JobState | undefined, page: PageRequest): Promise<Page<JobRow>>;
  /** Reads the outcome. @throws ServiceError not_found, not_finished, rate_limited, pool_busy */
  outcome(caller: Caller, id: string, hangup: AbortSignal): Promise<JobAnswer>;
  /** Sends the callback of a job again. @returns how many were queued @throws ServiceError not_found, rate_limited */
  resendCallbacks(caller: Caller, id: string): Promise<number>;
  /** Cancels a job; no-op if it has ended. @throws ServiceError not_found */
  cancel(caller: Caller, id: string): Promise<void>;
}

interface Dependencies {
  toolCallService: Pick<ToolCallService, 'admitLater'>;
  jobs: Jobs;
  resendCallbacks: ResendCallbacks;
  files: Pick<Files, 'find'>;
  storage: JobStorage;
  uncharged: UnchargedCalls;
  results: Results;
  /** Deletes a stored input. */
  deleteInput(reference: ResultReference): Promise<void>;
  replaySlots: ReplaySlots;
  workflow: JobWorkflow;
  calls: Pick<CallWorkflow, 'cancelForOwner'>;
  keyring: Keyring;
  /** Egress guard that permits public addresses and `localhost`. */
  egress: Guard;
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>;
  publicUrl(): string;
  onError: (error: unknown) => void;
}

/** How long a stored input is kept: as long as a job can wait, and its run. */
const INPUT_KEPT_MS = JOB_WAIT_MS + 3_600_000;
/** Requests of one account that an API process holds until the state of a job changes; further ones wait for a slot. */
const MAX_HELD = 16;
/** Interval at which a held request reads the state. */
const POLL_MS = 500;

/** Refuses tools with secret fields, which may not be stored. @throws ServiceError invalid_input */
function assertStorable({ tool }: JobRequest): void {
  const secrets = secretFields(tool);
  if (secrets.length === 0) return;
  const message = `cannot run as a job: the input of a job is stored, and secrets (${secrets.join(', ')}) never are`;
  throw invalidInput([{ pointer: '/tool', message }]);
}

export function createJobService(deps: Dependencies): JobService {
  const { jobs, storage, results, workflow, keyring } = deps;
  const held = createSemaphorePerHolder(MAX_HELD);

  async function find({ account, key }: Caller, id: string): Promise<JobDoc> {
    const job = await retryStore(() => jobs.find(account._id, id));
    if (job === null || (key?.tools != null && !key.tools.includes(job.tool)))
      throw new ServiceError('not_found');
    return job;
  }

  /** Returns the earlier job, if the request is the same. @throws ServiceError idempotency_key_mismatch */
  function replay(job: JobDoc, canonical: string): { row: JobRow; isReplay: true } {
    const known = job.idempotency?.fingerprint ?? '';
    if (keyring.mac('fingerprint', canonical, known.slice(0, known.indexOf(':'))) !== known)
      throw new ServiceError('idempotency_key_mismatch');
    return { row: jobRow(job), isReplay: true };
  }

  /** Reads what a job has stored. @throws ServiceError not_found if it has expired: the row of a batch is kept for longer */
  async function readResult(id: string, result: ResultReference): Promise<Buffer> {
    try {
      return await retryStore(() => results.read(id, result));
    } catch (error) {
      if (!(error instanceof ResultGone)) throw error;
      throw new ServiceError('not_found', { detail: 'The result of the job has expired.', cause: error });
    }
  }

  async function assertRoom(accountId: string): Promise<void> {
    if ((await jobs.countOpen(accountId)) >= MAX_OPEN_JOBS)
      throw new ServiceError('limit_reached', {
        detail: `At most ${MAX_OPEN_JOBS} jobs of an account wait or run at the same time.`,
      });
    const retryAfter = await storage.isFull(accountId);
    if (retryAfter !== null)
      throw new ServiceError('rate_limited', {
        detail:
          'The inputs and results of the jobs of this account, or of all accounts, take too much storage.',
        retryAfter,
      });
  }

  /** Checks that the account has the uploaded file that the input names. @throws ServiceError not_found */
  async function assertFile({ caller, tool, input }: JobRequest): Promise<void> {
    const id = fileIdOf(tool, input);
    if (id === null) return;
    if ((await retryStore(() => deps.files.find(caller.account._id, id))) === null) throw fileNotFound();
  }

  async function insert(request: JobRequest, canonical: string): Promise<{ job: JobDoc; created: boolean }> {
    const { caller, tool, input, idempotencyKey, requestId, callbackUrl, metadata } = request;
    const { account, key } = caller;
    const id = randomUUID();
    const fileId = fileIdOf(tool, input);
    const reuse = reuseOf(keyring, account._id, tool.name, input);
    const json = Buffer.from(JSON.stringify(input));
    const expiresAt = new Date(Date.now() + INPUT_KEPT_MS);
    await storage.add(account._id, json.length);
    const stored = await retryStore(() => results.write(id, json, expiresAt, `${id}:input`));
    const newJob = {
      _id: id,
      accountId: account._id,
      keyId: key?._id ?? null,
      keyPrefix: key?.prefix ?? null,
      tool: tool.name,
      requestId,
      policy: jobPolicyOf(tool, tool.actsOnWorld?.(input) ?? false, deps.limits),
      input: stored,
      ...(fileId !== null && { fileId }),
      ...(reuse !== null && { reuse }),
      metadata: metadata === null ? null : JSON.stringify(metadata),
      baseUrl: deps.publicUrl(),
      createdAt: new Date(),
      callbackUrl,
      idempotency:
        idempotencyKey === null
          ? null
          : { key: idempotencyKey, fingerprint: keyring.mac('fingerprint', canonical) },
    };
    const claim = await retryStore(() => jobs.create(newJob));
    if (!claim.created) await deps.deleteInput(stored).catch(deps.onError);
    return claim;
  }

  return {
    async create(request) {
      assertStorable(request);
      const { caller, tool, idempotencyKey, callbackUrl, metadata } = request;
      const accountId = caller.account._id;
      // Differs from the canonical form of a call: a key that a job has used does not replay a call.
      const canonical =
        idempotencyKey === null
          ? ''
          : (canonicalize({ job: tool.name, input: comparedInput(request), callbackUrl, metadata }) ?? '');
      const earlier =
        idempotencyKey === null ? null : await retryStore(() => jobs.findByKey(accountId, idempotencyKey));
      if (earlier !== null) return replay(earlier, canonical);
      deps.toolCallService.admitLater(request);
      await assertFile(request);
      await assertRoom(accountId);
      if (callbackUrl !== null) await checkReceiverUrl(deps.egress, callbackUrl, '/callbackUrl');
      const { job, created } = await insert(request, canonical);
      if (!created) return replay(job, canonical);
      workflow.wake(accountId);
      return { row: jobRow(job), isReplay: false };
    },

    async get(caller, id, waitSeconds) {
      const first = await find(caller, id);
      if (waitSeconds === 0 || first.endedAt !== null) return jobRow(first);
      const timeout = AbortSignal.timeout(waitSeconds * 1000);
      try {
        using _slot = await held.acquire(caller.account._id, timeout);
        for (;;) {
          const job = await find(caller, id);
          if (job.state !== first.state) return jobRow(job);
          await sleep(POLL_MS, undefined, { signal: timeout });
        }
      } catch (error) {
        if (!timeout.aborted) throw error;
        return jobRow(await find(caller, id));
      }
    },

    find,

    async list({ account, key }, state, page) {
      const filter = { state, tools: key?.tools ?? null };
      const { items, nextCursor } = await jobs.list(account._id, filter, page);
      return { items: items.map(jobRow), nextCursor };
    },

    async outcome(caller, id, hangup) {
      const job = await find(caller, id);
      if (job.endedAt === null) throw new ServiceError('not_finished');
      const { result } = job;
      using slot = result === null ? null : await deps.replaySlots.acquire(job.accountId, hangup);
      const stored = result === null ? null : await readResult(id, result);
      slot?.noteSize(stored?.length ?? 0);
      return { job, ending: jobEnding(job, stored) };
    },

    async resendCallbacks(caller, id) {
      const { accountId, callback } = await find(caller, id);
      if (callback === null || callback.state === 'waiting') return 0;
      return deps.resendCallbacks(accountId, [id], () => jobs.sendCallbackAgain(id));
    },

    async cancel(caller, id) {
      const job = await find(caller, id);
      const end = { state: 'cancelled', code: 'cancelled', result: null, keepsKey: false } as const;
      const ended = await retryStore(() => jobs.end(id, end, ['queued']));
      if (ended === null) {
        await deps.calls.cancelForOwner(id);
        return;
      }
      if (job.state !== 'queued') return;
      workflow.stopWaiting(id);
      if (ended.callback !== null) workflow.startCallback(id, job.accountId);
      if (job.input !== null) await deps.deleteInput(job.input).catch(deps.onError);
      await deps.uncharged.count(job.accountId).catch(deps.onError);
    },
  };
}
