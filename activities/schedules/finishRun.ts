import type { Keyring } from '../../platform/secrets/keyring.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Registry } from '../../schemas/registry.ts';
import { MAX_COMPARED_BYTES } from '../../schemas/schedules.ts';
import type { RowOutputs } from '../../store/batches/rowOutputs.ts';
import { ResultGone, type Results } from '../../store/calls/results.ts';
import { keepLinked } from '../../store/files/links.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import type { JobStorage } from '../../store/jobs/storedBytes.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { expirePicture } from '../../store/schedules/pictures.ts';
import { storeScheduleCallback } from '../../store/schedules/scheduleCallbacks.ts';
import type { ScheduleDoc, ScheduleRunDoc } from '../../store/schedules/scheduleDocs.ts';
import type { RunEnd, ScheduleRuns } from '../../store/schedules/scheduleRuns.ts';
import { type Snapshot, sealedDifference, sealedSnapshot } from '../../store/schedules/sealed.ts';
import type { ComparedResult, Comparison } from '../../workflows/types.ts';
import { comparedLines } from './comparedLines.ts';
import { differenceOf, snapshotOf } from './difference.ts';

interface Dependencies {
  store: Store;
  registry: Registry;
  runs: Pick<ScheduleRuns, 'end'>;
  results: Results;
  outputs: RowOutputs;
  storage: JobStorage;
  keyring: Keyring;
}

/** How the result of a run ended, and what a worker found out about it. */
interface FinishedJob {
  job: JobDoc;
  compared: ComparedResult | null;
}

export interface FinishRun {
  /** Returns the result of a run that a worker is to compare before the run ends; null if none is. */
  comparisonOf(run: ScheduleRunDoc, job: JobDoc): Promise<Comparison | null>;
  /**
   * Ends a run, once: compares its result, if it succeeded, with that of the last run that did, and stores the callback. Can be
   * repeated.
   *
   * @param finished the job of the run; missing: it was a batch
   * @returns the id of a callback that is to be delivered
   */
  finish(run: ScheduleRunDoc, how: RunEnd, finished?: FinishedJob): Promise<string | null>;
}

/** Whether the result of a run is compared with that of the run before. */
const isCompared = (
  { onChange, comparedFrom }: ScheduleDoc,
  { origin, startedAt }: ScheduleRunDoc,
): boolean => onChange !== 'off' && origin !== 'backfill' && startedAt !== null && startedAt >= comparedFrom;

export function createFinishRun(deps: Dependencies): FinishRun {
  const { store, registry, runs, results, outputs, storage, keyring } = deps;
  const { schedules, transaction } = store;

  function linesOf(toolName: string, json: Buffer | null): string[] {
    const tool = registry.get(toolName);
    const output: unknown = json === null ? null : JSON.parse(json.toString());
    return tool === undefined || !isRecord(output) ? [] : comparedLines(tool, output);
  }

  async function snapshotOfJob({ job, compared }: FinishedJob): Promise<Snapshot | null> {
    if (compared !== null) return compared.snapshot;
    const { _id, tool, result } = job;
    if (result === null) return null;
    try {
      return await snapshotOf([linesOf(tool, await results.read(_id, result))]);
    } catch (error) {
      // The result was deleted, because the run ended long before this process could record its end.
      if (error instanceof ResultGone) return null;
      throw error;
    }
  }

  /** Yields the lines of each row. Of a row that is not read any more, only whether it succeeded is compared. */
  async function* linesOfBatch(batchId: string): AsyncGenerator<string[]> {
    let left = MAX_COMPARED_BYTES;
    for await (const { row, read } of outputs.rows(batchId, 'input', -1)) {
      const json = row.state === 'succeeded' && left > 0 ? await read() : null;
      left -= json?.length ?? 0;
      const own = row.state === 'succeeded' ? linesOf(row.tool, json) : [`failed: ${row.code}`];
      yield own.map((line) => `row ${row.row}: ${line}`);
    }
  }

  function lastSnapshot({ _id, last }: ScheduleDoc): Snapshot | null {
    if (last === null || !keyring.has(keyring.keyIdOf(Buffer.from(last.sealedSnapshot, 'base64'))))
      return null;
    return sealedSnapshot.open(keyring, _id, last.sealedSnapshot);
  }

  /** What a comparison adds to the end of a run. */
  function outcomeOf(
    schedule: ScheduleDoc,
    run: ScheduleRunDoc,
    snapshot: Snapshot | null,
    compared: ComparedResult | null,
  ) {
    if (snapshot === null) return { changed: null };
    const before = lastSnapshot(schedule);
    if (before === null || before.sha256 === snapshot.sha256) return { changed: false };
    const difference = differenceOf(before, snapshot, compared?.difference ?? null);
    return { changed: true, sealedDifference: sealedDifference.seal(keyring, run._id, difference) };
  }

  /** Ends a run whose result is compared, in one transaction with what follows from it. */
  function endCompared(
    run: ScheduleRunDoc,
    how: RunEnd,
    snapshot: Snapshot | null,
    compared: ComparedResult | null = null,
  ): Promise<{ callback: string | null; before?: ScheduleDoc['last'] }> {
    return transaction(async (session) => {
      // Writing the schedule makes runs that end at the same time follow each other.
      const schedule = await schedules.findOneAndUpdate(
        { _id: run.scheduleId, deletedAt: { $exists: false } },
        { $inc: { turn: 1 } },
        { session, returnDocument: 'after' },
      );
      if (schedule === null) {
        await runs.end(run._id, how, session);
        return { callback: null };
      }
      const isWanted = isCompared(schedule, run);
      const outcome = outcomeOf(schedule, run, isWanted ? snapshot : null, compared);
      const ended = await runs.end(run._id, { ...how, ...outcome }, session);
      if (ended === null || !isWanted) return { callback: null };
      if (snapshot !== null && (schedule.last === null || schedule.last.dueAt <= run.dueAt)) {
        const sealed = sealedSnapshot.seal(keyring, schedule._id, snapshot);
        const picture = compared?.picture ?? null;
        const last = {
          runId: run._id,
          dueAt: run.dueAt,
          sealedSnapshot: sealed,
          ...(picture && { picture }),
        };
        await schedules.updateOne({ _id: schedule._id }, { $set: { last } }, { session });
      }
      const isReported = schedule.onChange === 'always' || ended.changed === true;
      const callback = isReported
        ? await storeScheduleCallback(store, keyring, schedule, ended, session)
        : null;
      return { callback, before: schedule.last };
    });
  }

  /** Counts the pictures of a run, and keeps that of the difference until its address ends. Can be repeated. */
  async function keepPictures(
    { accountId }: ScheduleRunDoc,
    { pictureBytes, linked }: ComparedResult,
  ): Promise<void> {
    const count = async (bytes: number): Promise<boolean> => {
      await storage.add(accountId, bytes);
      return true;
    };
    if (pictureBytes > 0) await count(pictureBytes);
    if (linked !== null) await keepLinked(store, linked, count);
  }

  /** Lets the picture expire that a run has replaced. */
  async function expireReplaced({ picture }: ComparedResult, before: ScheduleDoc['last']): Promise<void> {
    const earlier = before?.picture;
    if (earlier !== undefined)
      await expirePicture(store, earlier, earlier.content.id === picture?.content.id);
  }

  return {
    async comparisonOf(run, { _id: callId, tool, state, result }) {
      if (state !== 'succeeded' || result === null || registry.get(tool)?.raw === undefined) return null;
      const schedule = await schedules.findOne({ _id: run.scheduleId, deletedAt: { $exists: false } });
      if (schedule === null || !isCompared(schedule, run)) return null;
      const { _id: scheduleId, accountId, baseUrl, last } = schedule;
      return {
        scheduleId,
        runId: run._id,
        accountId,
        callId,
        tool,
        result,
        before: last?.picture ?? null,
        baseUrl,
        stores: (await storage.isFull(accountId)) === null,
      };
    },

    async finish(run, how, finished) {
      const schedule = await schedules.findOne({ _id: run.scheduleId });
      if (schedule === null || !isCompared(schedule, run)) {
        await runs.end(run._id, how);
        return null;
      }
      if (how.state !== 'succeeded') return (await endCompared(run, how, null)).callback;
      const snapshot =
        finished === undefined ? snapshotOf(linesOfBatch(run.batchId ?? '')) : snapshotOfJob(finished);
      const compared = finished?.compared ?? null;
      if (compared !== null) await keepPictures(run, compared);
      const { callback, before } = await endCompared(run, how, await snapshot, compared);
      if (compared !== null && before !== undefined) await expireReplaced(compared, before);
      return callback;
    },
  };
}
