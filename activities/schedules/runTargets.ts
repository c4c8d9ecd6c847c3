import { createHash } from 'node:crypto';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Env } from '../../schemas/env.ts';
import { MAX_OPEN_JOBS } from '../../schemas/jobs.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ScheduleTarget } from '../../schemas/schedules.ts';
import type { Batches, NewBatch } from '../../store/batches/batches.ts';
import type { BatchRows, NewRow } from '../../store/batches/batchRows.ts';
import type { RowInputs } from '../../store/batches/rowInputs.ts';
import { jobPolicyOf } from '../../store/calls/callPolicy.ts';
import type { Results } from '../../store/calls/results.ts';
import { reuseOf } from '../../store/calls/reusableResults.ts';
import { JOB_WAIT_MS, type Jobs } from '../../store/jobs/jobs.ts';
import type { JobStorage } from '../../store/jobs/storedBytes.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { ScheduleDoc, ScheduleRunDoc } from '../../store/schedules/scheduleDocs.ts';
import { openTarget } from '../../store/schedules/sealed.ts';
import { workflowIds } from '../../workflows/contract.ts';
import { wakeQueue } from '../callJobs/wakeQueue.ts';
import { withDefaults } from './withDefaults.ts';

export interface TargetServices {
  store: Store;
  registry: Registry;
  jobs: Jobs;
  batches: Batches;
  rows: Pick<BatchRows, 'insert'>;
  inputs: Pick<RowInputs, 'store'>;
  results: Results;
  storage: JobStorage;
  keyring: Keyring;
  client: Client;
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>;
}

/** The jobs and batches of runs. */
export interface RunTargets {
  /** Creates the job or the batch of a run. Can be repeated. @returns an error code if it cannot be created; else null */
  create(schedule: ScheduleDoc, run: ScheduleRunDoc): Promise<'unknown_tool' | 'limit_reached' | null>;
  /** Cancels the job or the batch of a run. Can be repeated. */
  cancel(run: ScheduleRunDoc): Promise<void>;
}

/** How long the stored input of a job is kept: as long as a job can wait, and its run. */
const INPUT_KEPT_MS = JOB_WAIT_MS + 3_600_000;
/** Number of rows that are stored at once. */
const ROWS = 500;
/** What documents of batches and rows count for, beside their inputs and results. */
const STORED_BYTES = { batch: 4096, row: 1024 } as const;

/** Id of a row, which derives from that of its batch, so that it can be stored again. */
function rowIdOf(batchId: string, row: number): string {
  const hex = createHash('sha256').update(`${batchId} ${row}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}

export function createRunTargets(services: TargetServices): RunTargets {
  const { store, registry, jobs, batches, rows, inputs, results, storage, keyring, client, limits } =
    services;
  const isFull = async (accountId: string) => (await storage.isFull(accountId)) !== null;
  /** URL of callbacks of the job or batch itself. */
  const callbackOf = ({ onChange, callbackUrl }: ScheduleDoc) => (onChange === 'off' ? callbackUrl : null);

  async function createJob(
    schedule: ScheduleDoc,
    runId: string,
    id: string,
    { tool: name, input, metadata }: Extract<ScheduleTarget, { job: unknown }>['job'],
  ) {
    const tool = registry.get(name);
    if (tool === undefined) return 'unknown_tool';
    const { accountId } = schedule;
    if ((await store.jobs.findOne({ _id: id }, { projection: { _id: 1 } })) !== null) return null;
    if ((await jobs.countOpen(accountId)) >= MAX_OPEN_JOBS || (await isFull(accountId)))
      return 'limit_reached';
    const complete = withDefaults(tool, input);
    const reuse = reuseOf(keyring, accountId, name, complete);
    const json = Buffer.from(JSON.stringify(complete));
    await storage.add(accountId, json.length);
    await jobs.create({
      _id: id,
      accountId,
      keyId: schedule.keyId,
      keyPrefix: schedule.keyPrefix,
      tool: name,
      requestId: schedule.requestId,
      policy: jobPolicyOf(tool, tool.actsOnWorld?.(complete) ?? false, limits),
      input: await results.write(id, json, new Date(Date.now() + INPUT_KEPT_MS), `${id}:input`),
      ...(reuse !== null && { reuse }),
      metadata: metadata === undefined ? null : JSON.stringify(metadata),
      baseUrl: schedule.baseUrl,
      createdAt: new Date(),
      callbackUrl: callbackOf(schedule),
      idempotency: null,
      scheduleRun: runId,
    });
    return null;
  }

  async function createBatch(
    schedule: ScheduleDoc,
    batch: NewBatch,
    { tool: name, inputs: sent, ...options }: Extract<ScheduleTarget, { batch: unknown }>['batch'],
  ) {
    const tool = registry.get(name);
    if (tool === undefined) return 'unknown_tool';
    const { _id, accountId } = batch;
    const known = await store.batches.findOne({ _id });
    if (known !== null && known.state !== 'creating') return null;
    if (known === null && ((await batches.isFull(accountId)) || (await isFull(accountId))))
      return 'limit_reached';
    await batches.create(batch);
    const body = Buffer.from(JSON.stringify({ tool: name, inputs: sent, ...options }));
    for (let first = 0; first < sent.length; first += ROWS) {
      const group = sent.slice(first, first + ROWS).map(async (input, index): Promise<NewRow> => {
        const id = rowIdOf(_id, first + index);
        const complete = withDefaults(tool, input);
        const reuse = reuseOf(keyring, accountId, name, complete);
        return {
          _id: id,
          row: first + index,
          rowId: null,
          tool: name,
          policy: jobPolicyOf(tool, tool.actsOnWorld?.(complete) ?? false, limits),
          ...(reuse !== null && { reuse }),
          ...(await inputs.store(id, Buffer.from(JSON.stringify(complete)))),
        };
      });
      await rows.insert(batch, await Promise.all(group));
    }
    await storage.add(accountId, STORED_BYTES.batch + sent.length * STORED_BYTES.row + body.length);
    const { maxCredits = null, order, onEmptyBalance, metadata } = options;
    await batches.open(_id, {
      rows: sent.length,
      totalCredits: sent.length * tool.price,
      tools: [name],
      pools: [tool.pool],
      maxCredits,
      order,
      onEmptyBalance,
      metadata: metadata === undefined ? null : JSON.stringify(metadata),
      callbackUrl: callbackOf(schedule),
      body: { sha256: createHash('sha256').update(body).digest('hex'), bytes: body.length },
      idempotency: null,
      waitsForStart: false,
    });
    return null;
  }

  function create(schedule: ScheduleDoc, { _id: runId, jobId, batchId, startedAt }: ScheduleRunDoc) {
    const target = openTarget(keyring, schedule);
    // A change after the start of the run takes effect from the next run on.
    if (jobId !== null)
      return 'job' in target ? createJob(schedule, runId, jobId, target.job) : 'unknown_tool';
    if (batchId === null || !('batch' in target)) return 'unknown_tool';
    const { _id: scheduleId, accountId, keyId, keyPrefix, requestId, baseUrl } = schedule;
    const createdAt = startedAt ?? new Date();
    const batch = { _id: batchId, accountId, keyId, keyPrefix, requestId, createdAt, baseUrl, scheduleId };
    return createBatch(schedule, batch, target.batch);
  }

  return {
    async create(schedule, run) {
      const failure = await create(schedule, run);
      if (failure === null) await wakeQueue(client, schedule.accountId);
      return failure;
    },

    async cancel({ jobId, batchId, accountId }) {
      if (batchId !== null) {
        await batches.cancel(batchId);
        await wakeQueue(client, accountId);
      }
      if (jobId === null) return;
      const end = { state: 'cancelled', code: 'cancelled', result: null, keepsKey: false } as const;
      await jobs.end(jobId, end, ['queued']);
      try {
        await client.workflow.getHandle(workflowIds.call(jobId)).cancel();
      } catch (error) {
        // The job has not been started yet.
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
  };
}
