import type { JobRow } from '../../schemas/jobs.ts';
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
