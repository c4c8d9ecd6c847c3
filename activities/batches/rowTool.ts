import { cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import type { CallDigests, ToolTimes } from '../../store/accounts/accountDocs.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import type { DigestKeys } from '../../store/receipts/digests.ts';
import { isCallFailure } from '../../workflows/contract.ts';
import type { JobOutcome } from '../../workflows/runJob.ts';
import type { ToolActivities } from '../../workflows/types.ts';
import { expiryOfResult } from '../callJobs/storeOutcome.ts';

/** The outcome of a row that ends with a standard error. */
export const errorOutcome = (code: ErrorCode): JobOutcome => ({
  error: { code, detail: ERRORS[code].detail, members: {}, retryAfter: null },
});

/** How a row ends, and what is stored with its call. */
export interface RowOutcome {
  outcome: JobOutcome;
  times?: ToolTimes | undefined;
  digests?: CallDigests | undefined;
}

/** Converts the failure of a tool to an outcome; null if the tool may be tried again. */
function outcomeOf(error: unknown): RowOutcome | null {
  if (!(error instanceof ApplicationFailure && error.nonRetryable && error.type)) return null;
  const details = error.details?.[0];
  const { members, retryAfter, times } = isCallFailure(details)
    ? details
    : { members: {}, retryAfter: null, times: undefined };
  return { outcome: { error: { code: error.type, detail: error.message, members, retryAfter } }, times };
}

/**
 * Runs the tool of a row, as often as the policy of the call permits, within the current activity.
 *
 * @throws if the activity is cancelled
 */
export async function runTool(
  tools: ToolActivities,
  { _id: callId, requestId, tool: name, policy, baseUrl }: JobDoc,
  input: Record<string, unknown>,
  digestKeys: DigestKeys,
): Promise<RowOutcome> {
  const resultExpiresAt = expiryOfResult().toISOString();
  for (let attempt = 1; ; attempt++)
    try {
      const tool = tools[name];
      if (tool === undefined) throw new Error(`no activity for ${name}`);
      const { attemptMs } = policy;
      const { times, digests, ...result } = await tool({
        callId,
        requestId,
        input,
        vault: null,
        baseUrl,
        digestKeys,
        resultExpiresAt,
        attemptMs,
      });
      return { outcome: { result }, times, digests };
    } catch (error) {
      cancellationSignal().throwIfAborted();
      const failed = outcomeOf(error);
      if (failed !== null) return failed;
      if (attempt >= policy.attempts) return { outcome: errorOutcome('internal') };
    }
}
