import { createHash } from 'node:crypto';
import { log } from '@temporalio/activity';
import { ERRORS, isErrorCode, isFinalRefusal } from '../../schemas/errors.ts';
import { POOLS } from '../../schemas/pools.ts';
import type { AccountDoc } from '../../store/accounts/accountDocs.ts';
import type { Calls } from '../../store/calls/calls.ts';
import { deleteStored, type Results } from '../../store/calls/results.ts';
import type { UnchargedCalls } from '../../store/calls/unchargedCalls.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { JOB_KEPT_MS, type JobEnd, type Jobs } from '../../store/jobs/jobs.ts';
import { bytesOf, type JobStorage } from '../../store/jobs/storedBytes.ts';
import { isLive } from '../../store/keys/apiKeys.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { budgetOf } from '../../store/ledger/keySpend.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { AccountJobsActivities } from '../../workflows/accountJobs.ts';
import type { JobActivities, JobOutcome } from '../../workflows/runJob.ts';
import type { BatchSteps } from '../batches/batchSteps.ts';

interface JobServices {
  store: Store;
  jobs: Jobs;
  calls: Pick<Calls, 'claim'>;
  results: Results;
  storage: JobStorage;
  uncharged: UnchargedCalls;
  rowSteps: BatchSteps['rowSteps'];
  nextRows: BatchSteps['nextRows'];
  inputs: BatchSteps['inputs'];
  /** Deletes the history of a workflow that has ended. */
  deleteHistory(workflowId: string): Promise<void>;
}

/** Maximum number of jobs of an account that run in a pool at the same time, in all API processes. */
export const RUNNING_JOBS = 8;
/** Added to the time for which a result is kept, for the run of the call and for a reader who has begun. */
const EXTRA_MS = 3_600_000;

type Refusal = { code: keyof typeof ERRORS; detail?: string };

/** Why a job may not run now, by its account and its key; null if it may. */
async function refusalOf(
  { store, storage }: JobServices,
  { accountId, keyId, tool }: JobDoc,
  key: ApiKeyDoc | null,
): Promise<Refusal | null> {
  if (keyId !== null && (key === null || !isLive(key, new Date())))
    return { code: 'cancelled', detail: 'The API key of the job was revoked or has expired.' };
  if (key?.tools != null && !key.tools.includes(tool)) return { code: 'tool_not_allowed' };
  const account = await store.accounts.findOne<Pick<AccountDoc, 'suspension' | 'closedAt' | 'pausedUntil'>>(
    { _id: accountId },
    { projection: { suspension: 1, closedAt: 1, pausedUntil: 1 } },
  );
  if (account === null || account.closedAt !== undefined) return { code: 'cancelled' };
  if (account.suspension !== undefined) return { code: 'account_suspended' };
  if (account.pausedUntil !== undefined && account.pausedUntil > new Date())
    return {
      code: 'rate_limited',
      detail: 'Too many calls of this account ended without a result in the last 24 hours.',
    };
  if ((await storage.isFull(accountId)) !== null)
    return {
      code: 'rate_limited',
      detail:
        'The inputs and results of the jobs of this account, or of all accounts, take too much storage.',
    };
  return null;
}

/**
 * Whether the job keeps its Idempotency-Key, as a call does: if the same request would fail again, or may have acted on the
 * world.
 */
const keepsKey = ({ policy }: JobDoc, code: string): boolean =>
  isErrorCode(code) &&
  (isFinalRefusal(code) || (policy.actsOnWorld && ERRORS[code].status !== 402 && code !== 'pool_busy'));

/** Stores the output or the error, with an id that makes it repeatable, and returns the end of the job. */
async function storeOutcome({ results }: JobServices, job: JobDoc, outcome: JobOutcome): Promise<JobEnd> {
  const expiresAt = new Date(Date.now() + JOB_KEPT_MS + EXTRA_MS);
  const write = (json: Buffer, id: string) => results.write(job._id, json, expiresAt, `${job._id}:${id}`);
  const asJson = (value: object) => Buffer.from(JSON.stringify(value));
  if ('error' in outcome) {
    const { code } = outcome.error;
    const state = code === 'cancelled' ? 'cancelled' : 'failed';
    return {
      state,
      code,
      result: await write(asJson(outcome.error), 'error'),
      keepsKey: keepsKey(job, code),
    };
  }
  const { result } = outcome;
  const charged = job.policy.price;
  if ('stored' in result) return { state: 'succeeded', charged, result: result.stored };
  const output = asJson(result.output);
  const sha256 = createHash('sha256').update(output).digest('hex');
  return { state: 'succeeded', charged, result: await write(output, 'output'), sha256 };
}

/** Creates the steps of jobs, which the orchestrator runs as local activities. */
export function createJobActivities(services: JobServices): JobActivities & AccountJobsActivities {
  const { store, jobs, calls, storage, uncharged, rowSteps, nextRows } = services;

  /** Deletes and counts what a job has left. Its end does not depend on it. */
  async function tidy({ accountId, input }: JobDoc, end: JobEnd): Promise<void> {
    if (input !== null) await deleteStored(store, input);
    if (end.result !== null) await storage.add(accountId, await bytesOf(store, end.result));
    const isCounted = end.state !== 'succeeded' && end.code !== 'internal' && end.code !== 'pool_busy';
    if (isCounted) await uncharged.count(accountId);
  }

  async function forget(jobIds: readonly string[]): Promise<void> {
    for (const outcome of await Promise.allSettled(jobIds.map(services.deleteHistory)))
      if (outcome.status === 'rejected')
        log.warn('could not delete the history of a job', { error: outcome.reason });
  }

  return {
    async nextJobs(accountId, running, without, forgotten) {
      await forget(forgotten);
      const open = await jobs.openOf(running.map(({ id }) => id));
      const known = [...running.map(({ id }) => id), ...without];
      const room = new Map(
        POOLS.map((pool) => [pool, RUNNING_JOBS - running.filter((job) => job.pool === pool).length]),
      );
      const byPool = await Promise.all(
        POOLS.map((pool) => jobs.queued(accountId, pool, room.get(pool) ?? 0, known)),
      );
      const single = byPool.flat();
      for (const { pool } of single) room.set(pool, (room.get(pool) ?? 0) - 1);
      const rows = await nextRows.next(accountId, room, known);
      return {
        jobs: [...single, ...rows],
        ended: running.map(({ id }) => id).filter((id) => !open.has(id)),
      };
    },

    async startJob(id) {
      const job = await jobs.start(id);
      if (job === null || !(await rowSteps.mayStart(job))) return null;
      const { accountId, requestId, policy, keyId } = job;
      const key = keyId === null ? null : await store.apiKeys.findOne({ _id: keyId });
      const refusal = await refusalOf(services, job, key);
      if (refusal !== null) {
        // Its key was revoked, or its account closed.
        if (refusal.code === 'cancelled') await rowSteps.cancelBatch(job);
        const { code, detail = ERRORS[code].detail } = refusal;
        return { error: { code, detail } };
      }
      await calls.claim({
        _id: id,
        accountId,
        keyId: job.keyId,
        keyPrefix: job.keyPrefix,
        tool: job.tool,
        cost: policy.price,
        requestId,
        actsOnWorld: policy.actsOnWorld,
        timing: {},
      });
      const resultExpiresAt = new Date(Date.now() + JOB_KEPT_MS + EXTRA_MS).toISOString();
      return {
        request: {
          callId: id,
          accountId,
          requestId,
          policy,
          input: services.inputs.open(job) ?? {},
          storedInput: job.input ?? undefined,
          vault: null,
          ...(key !== null && { key: budgetOf(key) }),
          resultExpiresAt,
        },
      };
    },

    async endJob(id, outcome) {
      const job = await store.jobs.findOne({ _id: id });
      if (job === null) return false;
      // The owner has cancelled it, or this step is repeated.
      if (job.endedAt !== null) return job.callback?.state === 'pending';
      if ('error' in outcome && (await rowSteps.holdBack(job, outcome.error.code))) return false;
      const end = await storeOutcome(services, job, outcome);
      const ended = await jobs.end(id, end);
      await tidy(job, end).catch((error) => log.warn('could not tidy up after a job', { jobId: id, error }));
      return ended?.callback?.state === 'pending';
    },
  };
}
