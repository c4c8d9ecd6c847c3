import type { CallPhases } from '../../schemas/accountRows.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';

/** Milliseconds between two times, which can come from the clocks of two machines; null if one is missing. */
const between = (from: Date | undefined, to: Date | undefined): number | null =>
  from === undefined || to === undefined ? null : Math.max(0, to.getTime() - from.getTime());

/**
 * Splits the time from reservation to settlement. Both ends come from MongoDB's clock and the duration of the tool from its
 * worker's clock; `wait` compares two clocks and takes at most the rest.
 */
function split(
  total: number | null,
  wait?: number,
  run?: number,
): Pick<CallPhases, 'wait' | 'run' | 'settle'> {
  if (total === null || wait === undefined || run === undefined)
    return { wait: null, run: null, settle: null };
  const ran = Math.min(run, total);
  const waited = Math.min(wait, total - ran);
  return { wait: waited, run: ran, settle: total - ran - waited };
}

/** Returns the phases of a call that has ended; null if it is running or was not measured. */
export function phasesOf({ startedAt, finishedAt, timing }: CallDoc): CallPhases | null {
  if (finishedAt === null || timing === undefined) return null;
  const { accept, queue, reservedAt, wait, run, answeredAt } = timing;
  return {
    accept: accept ?? null,
    queue: queue ?? null,
    reserve: between(startedAt, reservedAt ?? finishedAt),
    ...split(between(reservedAt, finishedAt), wait, run),
    respond: between(finishedAt, answeredAt),
  };
}
