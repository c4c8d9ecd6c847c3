import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import proto from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createLedgerActivities } from '../../activities/ledger/ledgerActivities.ts';
import { untilAborted } from '../../platform/untilAborted.ts';
import type { Ledger, Reservation, Settlement } from '../../store/ledger/ledger.ts';
import type { Intercept } from '../store/intercept.ts';
import type { Scheduler } from '../store/scheduler.ts';
import type { VirtualClock } from './clock.ts';
import { GrpcError } from './grpcError.ts';
import type { Execution, Orchestrator, Task, Temporal } from './temporal.ts';
import { type ActivityResult, cancelled, completed, failed, milliseconds } from './tool.ts';
import { type Activation, type Command, type Job, WorkflowRun } from './workflowRun.ts';

const { ActivityCancellationType } = proto.coresdk.workflow_commands;
type LocalActivity = proto.coresdk.workflow_commands.IScheduleLocalActivity;

/** Age at which the SDK's core replaces a workflow task whose local activities still run. */
const HEARTBEAT_MS = 8000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;

/** The patch that calls with side effects mark in their history. */
const patchesOf = (commands: readonly Command[]): Job[] =>
  commands.flatMap(({ setPatchMarker }) =>
    setPatchMarker?.patchId ? [{ notifyHasPatch: { patchId: setPatchMarker.patchId } }] : [],
  );

interface World {
  /** Name of the process. */
  name: string;
  scheduler: Scheduler;
  clock: VirtualClock;
  temporal: Temporal;
  ledger: Ledger;
  /** Runs a request to the Temporal server. */
  step: Intercept;
}

/** A worker process for workflows and the steps of the ledger, as the core of Temporal's SDK runs it. */
export function createOrchestrator({ name, scheduler, clock, temporal, ledger, step }: World): Orchestrator {
  const activities = createLedgerActivities(ledger);
  const logger = new DefaultLogger('ERROR', () => undefined);

  /** Runs one attempt of a step of the ledger. */
  function attempt(activity: LocalActivity, scheduledTimestampMs: number): Promise<unknown> {
    const { activityType, scheduleToCloseTimeout, arguments: payloads } = activity;
    const [payload] = payloads ?? [];
    const scheduleToCloseTimeoutMs = milliseconds(scheduleToCloseTimeout) ?? 0;
    const environment = new MockActivityEnvironment(
      { isLocal: true, scheduledTimestampMs, scheduleToCloseTimeoutMs },
      { logger },
    );
    if (payload === undefined) throw new TypeError(`${activityType} has no argument`);
    return activityType === 'reserve'
      ? environment.run(activities.reserve, defaultPayloadConverter.fromPayload<Reservation>(payload))
      : environment.run(activities.settle, defaultPayloadConverter.fromPayload<Settlement>(payload));
  }

  /** Repeats a step of the ledger until it succeeds or fails for good. */
  async function runLocal(activity: LocalActivity): Promise<ActivityResult> {
    const scheduledAt = Date.now();
    const timeoutMs = milliseconds(activity.startToCloseTimeout) ?? 0;
    for (let pauseMs = FIRST_RETRY_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_RETRY_MS)) {
      try {
        return completed(await untilAborted(attempt(activity, scheduledAt), AbortSignal.timeout(timeoutMs)));
      } catch (error) {
        if (error instanceof ApplicationFailure && error.nonRetryable) return failed(error);
      }
      await sleep(pauseMs);
    }
  }

  async function work(execution: Execution, first: Task): Promise<void> {
    const run = new WorkflowRun(clock, execution.id, execution.startedAt);
    /** The local activities that have no result yet. */
    const local = new Map<number, LocalActivity>();
    const running = new Map<number, Promise<{ seq: number; result: ActivityResult }>>();
    /** What the cancellation of a tool waits for. */
    const cancellations = new Map<number, proto.coresdk.workflow_commands.ActivityCancellationType>();
    let task = first;
    let activations: Activation[] = [];
    let commands: Command[] = [];

    /** Lets the workflow continue with these jobs, and with those that its own commands cause. */
    async function activate(jobs: readonly Job[], replays: Activation | null): Promise<void> {
      // The result of a tool that the workflow no longer waits for, because it was cancelled, does not reach it.
      const isAwaited = ({ resolveActivity }: Job) =>
        resolveActivity == null || resolveActivity.isLocal || cancellations.has(resolveActivity.seq ?? 0);
      const activation = replays ?? { at: task.at, jobs: jobs.filter(isAwaited) };
      const given = await run.activate(activation, replays !== null);
      if (replays === null)
        activations.push({ ...activation, jobs: [...patchesOf(given), ...activation.jobs] });
      for (const { resolveActivity } of activation.jobs)
        (resolveActivity?.isLocal ? local : cancellations).delete(resolveActivity?.seq ?? 0);
      const caused: Job[] = [];
      for (const command of given) {
        const { scheduleLocalActivity, requestCancelLocalActivity, requestCancelActivity } = command;
        const { scheduleActivity } = command;
        if (scheduleLocalActivity) local.set(scheduleLocalActivity.seq ?? 0, scheduleLocalActivity);
        if (scheduleActivity)
          cancellations.set(scheduleActivity.seq ?? 0, scheduleActivity.cancellationType ?? 0);
        if (requestCancelLocalActivity) {
          const seq = requestCancelLocalActivity.seq ?? 0;
          running.delete(seq);
          if (local.has(seq)) caused.push({ resolveActivity: { seq, isLocal: true, result: cancelled() } });
        }
        if (requestCancelActivity) {
          const seq = requestCancelActivity.seq ?? 0;
          if (cancellations.get(seq) === ActivityCancellationType.TRY_CANCEL)
            caused.push({ resolveActivity: { seq, result: cancelled() } });
        }
      }
      if (replays !== null) return;
      commands.push(...given);
      if (caused.length > 0) await activate(caused, null);
    }

    for (const activation of first.history) await activate([], activation);
    await activate(task.jobs, null);
    while (local.size > 0) {
      for (const [seq, activity] of local)
        if (!running.has(seq))
          running.set(
            seq,
            runLocal(activity).then((result) => ({ seq, result })),
          );
      const left = Math.max(1, task.at + HEARTBEAT_MS - Date.now());
      const heartbeat = new AbortController();
      const ended = await Promise.race([
        ...running.values(),
        sleep(left, null, { signal: heartbeat.signal }).catch(() => null),
      ]);
      heartbeat.abort();
      if (ended === null) {
        const [current, done, given] = [task, activations, commands];
        task = await step('replace the workflow task', async () =>
          temporal.heartbeat(execution, current, done, given),
        );
        activations = [];
        commands = [];
        if (task.jobs.length > 0) await activate(task.jobs, null);
        continue;
      }
      running.delete(ended.seq);
      await activate([{ resolveActivity: { ...ended, isLocal: true } }], null);
    }
    await step('complete the workflow task', async () =>
      temporal.complete(execution, task, activations, commands),
    );
  }

  return {
    work: (execution, task) =>
      clock.run(name, () =>
        scheduler.start(`${name}/${execution.id} ${task.number}`, () =>
          work(execution, task).catch((error: unknown) => {
            // The worker drops a task that it cannot complete; the server repeats it.
            if (!(error instanceof GrpcError)) throw error;
          }),
        ),
      ),
  };
}
