import { JOB_COMPLETED, type JobCallbackRow, type JobRow } from '../../schemas/jobs.ts';
import { attemptRows } from './callbacks.ts';
import type { JobDoc } from './jobDocs.ts';

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

/** A job as its owner sees it. */
export function jobRow(job: JobDoc): JobRow {
  const { callback } = job;
  return {
    id: job._id,
    tool: job.tool,
    state: job.state,
    createdAt: job.createdAt.toISOString(),
    startedAt: iso(job.startedAt),
    endedAt: iso(job.endedAt),
    cost: job.policy.price,
    charged: job.charged,
    code: job.code,
    metadata: job.metadata === null ? null : JSON.parse(job.metadata),
    resultUrl: `${job.baseUrl}/api/v1/jobs/${job._id}/result`,
    callback: callback && {
      url: callback.url,
      state: callback.state,
      attempts: callback.attempts,
      statusCode: callback.statusCode,
      error: callback.error,
    },
  };
}

/** Returns the id of a job's callback. */
export const jobCallbackId = (jobId: string): string => `cbk_${jobId}`;

/** Returns the callback of a job as a list, which is empty if none was requested. */
export function jobCallbackRows({ _id, callback, endedAt, createdAt }: JobDoc): JobCallbackRow[] {
  if (callback === null) return [];
  const { url, state, attempts, statusCode, error } = callback;
  return [
    {
      id: jobCallbackId(_id),
      event: JOB_COMPLETED,
      createdAt: (endedAt ?? createdAt).toISOString(),
      url,
      state,
      attempts,
      statusCode,
      error,
      history: attemptRows(callback),
    },
  ];
}
