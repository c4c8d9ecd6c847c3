import type { BatchRow } from '../../schemas/batches.ts';
import type { BatchDoc } from './batchDocs.ts';

/** Milliseconds after the start of a batch from which its rate says something. */
const LEAST_MS = 1000;

/** Returns the rows per second since the batch was started or resumed, and the milliseconds until its end at this rate. */
function paceOf({ state, rows, charged, refused, cancelled, endedBefore, runningSince }: BatchDoc): {
  rate: number | null;
  leftMs: number | null;
} {
  const ended = charged + refused + cancelled;
  const ms = Date.now() - runningSince.getTime();
  if (state !== 'running' || ms < LEAST_MS) return { rate: null, leftMs: null };
  const rate = ((ended - endedBefore) * 1000) / ms;
  return {
    rate: Number(rate.toPrecision(3)),
    leftMs: rate > 0 ? ((rows - ended) * 1000) / rate : null,
  };
}

/** A batch as its owner sees it. */
export function batchRow(batch: BatchDoc): BatchRow {
  const { state, rows, charged, refused, cancelled, baseUrl } = batch;
  if (state === 'creating' || state === 'discarding') throw new Error(`batch ${batch._id} is not open`);
  const { rate, leftMs } = paceOf(batch);
  const url = `${baseUrl}/api/v1/batches/${batch._id}`;
  return {
    id: batch._id,
    state,
    pauseReason: batch.pauseReason,
    createdAt: batch.createdAt.toISOString(),
    endedAt: batch.endedAt?.toISOString() ?? null,
    expiresAt: batch.expiresAt.toISOString(),
    counts: { rows, open: rows - charged - refused - cancelled, charged, refused, cancelled },
    credits: { charged: batch.credits, total: batch.totalCredits, max: batch.maxCredits },
    rate,
    estimatedEndAt: leftMs === null ? null : new Date(Date.now() + leftMs).toISOString(),
    order: batch.order,
    onEmptyBalance: batch.onEmptyBalance,
    metadata: batch.metadata === null ? null : JSON.parse(batch.metadata),
    resultsUrl: `${url}/results`,
    manifestUrl: `${url}/manifest`,
  };
}
