import { log } from '@temporalio/activity';
import { ERRORS } from '../../schemas/errors.ts';
import { fileNotFound } from '../../schemas/formats/fileSource.ts';
import { POOLS, type Pool } from '../../schemas/pools.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import type { Calls } from '../../store/calls/calls.ts';
import { deleteStored, ResultGone, type Results } from '../../store/calls/results.ts';
import type { FoundResult, ReusableResults } from '../../store/calls/reusableResults.ts';
import type { UnchargedCalls } from '../../store/calls/unchargedCalls.ts';
import type { Files } from '../../store/files/files.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import type { JobEnd, Jobs } from '../../store/jobs/jobs.ts';
import { bytesOf, type JobStorage } from '../../store/jobs/storedBytes.ts';
import { budgetOf } from '../../store/ledger/keySpend.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { startDigests } from '../../store/receipts/digests.ts';
import type { ReceiptKeys } from '../../store/receipts/receiptKeys.ts';
import type { AccountJobsActivities } from '../../workflows/accountJobs.ts';
import type { EarlierResult, JobActivities, JobOutcome } from '../../workflows/runJob.ts';
import type { ToolResult } from '../../workflows/types.ts';
import type { BatchSteps } from '../batches/batchSteps.ts';
import type { ScheduleSteps } from '../schedules/scheduleSteps.ts';
import { type JobRefusal, mayCall, refusalOf } from './jobRefusal.ts';
import { expiryOfResult, keepFiles, storeOutcome } from './storeOutcome.ts';

interface JobServices {
  store: Store;
  jobs: Jobs;
  calls: Pick<Calls, 'claim' | 'claimAnswered' | 'find'>;
  results: Results;
  reusable: ReusableResults;
  files: Pick<Files, 'reference'>;
  storage: JobStorage;
  uncharged: UnchargedCalls;
  rowSteps: BatchSteps['rowSteps'];
  nextRows: BatchSteps['nextRows'];
  inputs: BatchSteps['inputs'];
  receiptKeys: Pick<ReceiptKeys, 'digestKeysOf'>;
  scheduleSteps: Pick<ScheduleSteps, 'jobEnded'>;
  /** Deletes the history of a workflow that has ended. */
  deleteHistory(workflowId: string): Promise<void>;
}

/** Maximum number of jobs of an account that run in a pool at the same time, in all API processes. */
export const RUNNING_JOBS = 8;

/** Creates the steps of jobs, which the orchestrator runs as local activities. */
export function createJobActivities(services: JobServices): JobActivities & AccountJobsActivities {
  const { store, jobs, calls, files, results, reusable, storage, uncharged, rowSteps, nextRows } = services;

  /** The fields of the call of a job. */
  const callOf = ({ _id, accountId, keyId, keyPrefix, tool, requestId, policy }: JobDoc) => ({
    _id,
    accountId,
    keyId,
    keyPrefix,
    tool,
    cost: policy.price,
    requestId,
    actsOnWorld: policy.actsOnWorld,
  });

  async function inputOf(job: JobDoc): Promise<Record<string, unknown>> {
    const { _id, input } = job;
    if (input === null) return services.inputs.open(job) ?? {};
    return JSON.parse((await results.read(_id, input)).toString());
  }

  /** Records the call of a job as answered with the result of an earlier one, of which the job gets a copy. */
  async function claimAnswered(job: JobDoc, { callId, madeAt, read }: FoundResult): Promise<CallDoc> {
    const { _id, startedAt } = job;
    const output = await read();
    const digest = await startDigests(services.receiptKeys.digestKeysOf(_id), await inputOf(job));
    const digests = await digest(output);
    const copy = await results.write(_id, output, expiryOfResult());
    const reused = { callId, madeAt, copy };
    const answered = { ...callOf(job), cost: 0, reused, ...(digests !== undefined && { digests }) };
    return (await calls.claimAnswered(answered, startedAt ?? new Date())).call;
  }

  /** Returns the result of an earlier call that answers a job; null if there is none. Can be repeated. */
  async function earlierResult(job: JobDoc): Promise<{ result: ToolResult; reused: EarlierResult } | null> {
    const { _id: jobId, accountId, reuse } = job;
    if (reuse === undefined) return null;
    let call = await calls.find(jobId);
    try {
      const found = call === null ? await reusable.find(accountId, reuse) : null;
      if (found !== null) call = await claimAnswered(job, found);
    } catch (error) {
      if (!(error instanceof ResultGone)) throw error;
    }
    if (call?.reused?.copy === undefined) return null;
    const { callId, madeAt, copy } = call.reused;
    return { result: { stored: copy }, reused: { callId, madeAt: madeAt.toISOString() } };
  }

  /** Keeps the result of a job for later calls. Its end does not depend on it. */
  async function keepForOthers(job: JobDoc, end: JobEnd, outcome: JobOutcome): Promise<void> {
    const { _id: callId, accountId, reuse } = job;
    if (reuse === undefined || end.state !== 'succeeded' || end.reused !== undefined) return;
    const linked = 'result' in outcome ? outcome.result.linked : undefined;
    const bytes = await bytesOf(store, end.result);
    await reusable.keep(reuse, { accountId, callId, result: { stored: end.result }, bytes, linked });
  }

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
    async nextJobs(accountId, running, without, forgotten, chunks) {
      await forget(forgotten);
      const open = await jobs.openOf(running.map(({ id }) => id));
      const known = [...running.map(({ id }) => id), ...without];
      const countIn = (pool: Pool) => [...running, ...chunks].filter((each) => each.pool === pool).length;
      const room = new Map(POOLS.map((pool) => [pool, RUNNING_JOBS - countIn(pool)]));
      const byPool = await Promise.all(
        POOLS.map((pool) => jobs.queued(accountId, pool, room.get(pool) ?? 0, known)),
      );
      const single = byPool.flat();
      for (const { pool } of single) room.set(pool, (room.get(pool) ?? 0) - 1);
      const inChunks = chunks.flatMap(({ ids }) => ids);
      const withChunk = chunks.map(({ pool }) => pool);
      const rows = await nextRows.next(accountId, room, [...known, ...inChunks], withChunk);
      return {
        jobs: [...single, ...rows.alone],
        chunks: rows.chunks,
        isUnfinished: rows.isUnfinished,
        ended: running.map(({ id }) => id).filter((id) => !open.has(id)),
      };
    },

    async startJob(id) {
      const job = await jobs.start(id);
      if (job === null || !(await rowSteps.mayStart(job))) return null;
      const { accountId, requestId, policy, keyId } = job;
      const key = keyId === null ? null : await store.apiKeys.findOne({ _id: keyId });
      const refusal: JobRefusal | null =
        (await refusalOf(services, job, key)) ??
        (mayCall(key, job.tool) ? null : { code: 'tool_not_allowed' });
      if (refusal !== null) {
        // Its key was revoked, or its account closed.
        if (refusal.code === 'cancelled') await rowSteps.cancelBatch(job);
        const { code, detail = ERRORS[code].detail } = refusal;
        return { error: { code, detail } };
      }
      const file = job.fileId === undefined ? undefined : await files.reference(accountId, job.fileId);
      if (file === null) {
        const { code, detail } = fileNotFound();
        return { error: { code, detail } };
      }
      const earlier = await earlierResult(job);
      if (earlier !== null) return earlier;
      await calls.claim({ ...callOf(job), timing: {} });
      return {
        request: {
          callId: id,
          accountId,
          requestId,
          policy,
          input: services.inputs.open(job) ?? {},
          storedInput: job.input ?? undefined,
          file,
          baseUrl: job.baseUrl,
          vault: null,
          ...(key !== null && { key: budgetOf(key) }),
          digestKeys: services.receiptKeys.digestKeysOf(id),
          resultExpiresAt: expiryOfResult().toISOString(),
        },
      };
    },

    async endJob(id, outcome) {
      const job = await store.jobs.findOne({ _id: id });
      if (job === null) return false;
      // The owner has cancelled it, or this step is repeated.
      if (job.endedAt !== null) return job.callback?.state === 'pending';
      if ('error' in outcome && (await rowSteps.holdBack(job, outcome.error.code))) return false;
      const end = await storeOutcome(results, job, outcome);
      await keepFiles(store, storage, job.accountId, [outcome]);
      const ended = await jobs.end(id, end);
      await keepForOthers(job, end, outcome).catch((error) =>
        log.warn('could not keep the result of a job for later calls', { jobId: id, error }),
      );
      await tidy(job, end).catch((error) => log.warn('could not tidy up after a job', { jobId: id, error }));
      if (ended !== null)
        await services.scheduleSteps
          .jobEnded(ended)
          .catch((error) => log.warn('could not end a run; the sweeper will', { jobId: id, error }));
      return ended?.callback?.state === 'pending';
    },
  };
}
