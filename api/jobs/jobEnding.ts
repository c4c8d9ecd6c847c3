import { isErrorCode, ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import type { CallOutcome } from '../calls/toolCall.ts';

/**
 * Converts what an ended job has stored to the ending of its call.
 *
 * @param stored its output as JSON, or its error; null if there is none beside its code
 */
export function jobEnding(
  { _id, state, code }: Pick<JobDoc, '_id' | 'state' | 'code'>,
  stored: Buffer | null,
): CallOutcome['ending'] {
  if (state === 'succeeded') {
    if (stored === null) throw new Error(`job ${_id} has no result`);
    return { output: stored };
  }
  const known = isErrorCode(code) ? code : 'internal';
  const parsed: unknown = stored === null ? null : JSON.parse(stored.toString());
  if (!isRecord(parsed)) return { error: new ServiceError(known) };
  const { detail, members, retryAfter } = parsed;
  const error = new ServiceError(known, {
    ...(isRecord(members) && members),
    ...(typeof detail === 'string' && { detail }),
    ...(typeof retryAfter === 'number' && { retryAfter }),
  });
  return { error };
}
