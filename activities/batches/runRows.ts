import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal, heartbeat, log } from '@temporalio/activity';
import { createFairSemaphore } from '../../platform/semaphores.ts';
import { isPauseReason } from '../../schemas/batches.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import { createBatches } from '../../store/batches/batches.ts';
import { createBatchRows } from '../../store/batches/batchRows.ts';
import { countEnded } from '../../store/batches/countEnded.ts';
import { createRowInputs } from '../../store/batches/rowInputs.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import { createJobs } from '../../store/jobs/jobs.ts';
import { createJobStorage } from '../../store/jobs/storedBytes.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import type { RowChunkActivities } from '../../workflows/accountJobs.ts';
import type { ToolActivities } from '../../workflows/types.ts';
import { refusalOf } from '../callJobs/jobRefusal.ts';
import { createRowGroups, type RowServices } from './rowGroups.ts';
import { createRowSteps } from './rowSteps.ts';

/** Milliseconds in which a chunk starts groups of rows: it holds a slot of the worker, for which other accounts may wait. */
const CHUNK_MS = 1000;
/** Number of rows that share the commands of MongoDB; no more than the ledger takes in one update. */
const GROUP_ROWS = 100;
/** The same while synchronous calls run, which then never wait long for a core or for the disk. */
export const ROWS_BESIDE_CALLS = 25;
const HEARTBEAT_MS = 2000;

/**
 * Creates the activity that runs rows of fast tools in chunks. Each row keeps its own call, price and outcome; what the rows share are
 * the commands. A row that a killed worker has left is run again from its start: its reservation returns the existing hold, and if it
 * was charged, only its end is missing.
 */
export function createRunRows(services: RowServices, tools: ToolActivities): RowChunkActivities {
  const { store, keyring, limit } = services;
  const rows = createBatchRows(store);
  const jobs = createJobs(store);
  const storage = createJobStorage(store, limit);
  const inputs = createRowInputs(store, createResults(mongodbPieces(store), keyring), keyring);
  const batches = createBatches(store, (id, accountId) => {
    services.startCallback(id, accountId).catch(services.onError);
  });
  const rowSteps = createRowSteps({ store, jobs, batches, rows, inputs });
  const besideCalls = createFairSemaphore(1);
  const groups = createRowGroups({ services, tools, jobs, rows, storage, inputs, rowSteps });

  /** Stops a batch whose rows may not run now. Those that have begun still run. */
  async function stopIfRefused(batch: BatchDoc, key: ApiKeyDoc | null): Promise<void> {
    const refusal = await refusalOf({ store, storage }, batch, key);
    if (refusal === null) return;
    if (isPauseReason(refusal.code)) await batches.pause(batch._id, refusal.code, null);
    else await batches.cancel(batch._id);
  }

  /** Runs a group when no other group runs beside calls, and then leaves the process to the calls for as long as it took. */
  async function runBesideCalls(
    batch: BatchDoc,
    key: ApiKeyDoc | null,
    ids: readonly string[],
  ): Promise<void> {
    const signal = cancellationSignal();
    using _turn = await besideCalls.acquire(batch.accountId, signal);
    const began = performance.now();
    await groups.finish(batch.accountId, await groups.reserve(batch, key, ids));
    await sleep(Math.min(performance.now() - began, CHUNK_MS), undefined, { signal });
  }

  /**
   * Runs groups of rows, of which one reserves while the one before it finishes. Groups reserve one after the other, so that each
   * knows what credits the others have left.
   *
   * @param until when no further group starts; epoch milliseconds
   */
  async function runInGroups(
    batch: BatchDoc,
    key: ApiKeyDoc | null,
    ids: readonly string[],
    until: number,
  ): Promise<void> {
    let finishing = Promise.resolve();
    try {
      // The first group runs however late it is, so that each chunk moves on.
      for (let start = 0; start < ids.length && (start === 0 || Date.now() < until); ) {
        if (services.runsCalls()) {
          await finishing;
          await runBesideCalls(batch, key, ids.slice(start, start + ROWS_BESIDE_CALLS));
          start += ROWS_BESIDE_CALLS;
          continue;
        }
        const reserved = await groups.reserve(batch, key, ids.slice(start, start + GROUP_ROWS));
        start += GROUP_ROWS;
        await finishing;
        finishing = groups.finish(batch.accountId, reserved);
        // Reported by the next `await`.
        finishing.catch(() => undefined);
      }
    } finally {
      await finishing;
    }
  }

  return {
    async runRows(accountId, { batchId, ids }) {
      const until = Date.now() + CHUNK_MS;
      const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
      // The rows of earlier chunks: otherwise all would have to be counted at the end of the batch.
      const counting = countEnded(store, batchId, until).catch((error) =>
        log.warn('could not count the rows of a batch', { batchId, error }),
      );
      try {
        const batch = await store.batches.findOne({ _id: batchId, accountId });
        if (batch === null) return;
        const { keyId } = batch;
        const key = keyId === null ? null : await store.apiKeys.findOne({ _id: keyId });
        await stopIfRefused(batch, key);
        await runInGroups(batch, key, ids, until);
      } finally {
        clearInterval(beat);
        await counting;
      }
    },
  };
}
