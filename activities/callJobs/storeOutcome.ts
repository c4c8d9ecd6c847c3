import { createHash } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { ERRORS, isErrorCode, isFinalRefusal } from '../../schemas/errors.ts';
import { bufferedPieces, createResults, type Results } from '../../store/calls/results.ts';
import { keepLinked } from '../../store/files/links.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { JOB_KEPT_MS, type JobEnd } from '../../store/jobs/jobs.ts';
import { bytesOf, type JobStorage } from '../../store/jobs/storedBytes.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { JobOutcome } from '../../workflows/runJob.ts';

/** Added to the time for which a result is kept, for the run of the call and for a reader who has begun. */
const EXTRA_MS = 3_600_000;

/** Returns when the result of a job expires that runs now. */
export const expiryOfResult = (): Date => new Date(Date.now() + JOB_KEPT_MS + EXTRA_MS);

/**
 * Whether the job keeps its Idempotency-Key, as a call does: if the same request would fail again, or may have acted on the
 * world.
 */
const keepsKey = ({ policy }: JobDoc, code: string): boolean =>
  isErrorCode(code) &&
  (isFinalRefusal(code) || (policy.actsOnWorld && ERRORS[code].status !== 402 && code !== 'pool_busy'));

/**
 * Stores the output or the error, and returns the end of the job. Can be repeated: a job's workflow repeats it with the same bytes. Each
 * run of a row in a chunk has an id of its own, because its tool may give other bytes than that of a run which was lost.
 */
export async function storeOutcome(results: Results, job: JobDoc, outcome: JobOutcome): Promise<JobEnd> {
  const expiresAt = expiryOfResult();
  const run = job.inChunk === undefined ? job._id : `${job._id}:${job.inChunk}`;
  const write = (json: Buffer, id: string) => results.write(job._id, json, expiresAt, `${run}:${id}`);
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
  const { result, reused } = outcome;
  if (reused !== undefined && 'stored' in result) {
    const { callId, madeAt } = reused;
    const earlier = { callId, madeAt: new Date(madeAt) };
    return { state: 'succeeded', charged: 0, result: result.stored, reused: earlier };
  }
  const charged = job.policy.price;
  if ('stored' in result) return { state: 'succeeded', charged, result: result.stored };
  const output = asJson(result.output);
  const sha256 = createHash('sha256').update(output).digest('hex');
  return { state: 'succeeded', charged, result: await write(output, 'output'), sha256 };
}

/** The ends of jobs whose outcomes are stored, and the sizes of what was stored in bytes. */
export interface StoredOutcomes {
  ends: { id: string; end: JobEnd }[];
  sizes: number[];
}

/** Stores outcomes as `storeOutcome` does, in one command. */
export async function storeOutcomes(
  store: Pick<Store, 'results'>,
  keyring: Keyring,
  ended: readonly { row: JobDoc; outcome: JobOutcome }[],
): Promise<StoredOutcomes> {
  const pieces = bufferedPieces(store);
  const results = createResults(pieces, keyring);
  const ends = await Promise.all(
    ended.map(async ({ row, outcome }) => ({ id: row._id, end: await storeOutcome(results, row, outcome) })),
  );
  await pieces.flush();
  // A large output is stored already.
  const large = await Promise.all(
    ended.flatMap(({ outcome }) =>
      'result' in outcome && 'stored' in outcome.result ? [bytesOf(store, outcome.result.stored)] : [],
    ),
  );
  return { ends, sizes: [...pieces.sizes(), ...large] };
}

/** Counts and keeps the files that charged jobs link. Can be repeated. */
export async function keepFiles(
  store: Pick<Store, 'results'>,
  storage: Pick<JobStorage, 'add'>,
  accountId: string,
  outcomes: readonly JobOutcome[],
): Promise<void> {
  const count = async (bytes: number): Promise<boolean> => {
    await storage.add(accountId, bytes);
    return true;
  };
  await Promise.all(
    outcomes.map(async (outcome) => {
      if ('result' in outcome && outcome.result.linked !== undefined)
        await keepLinked(store, outcome.result.linked, count);
    }),
  );
}
