import { ApplicationFailure, defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { Random } from '../helpers/random.ts';
import type { Scheduler } from '../store/scheduler.ts';
import type { VirtualClock } from './clock.ts';

type ScheduleActivity = proto.coresdk.workflow_commands.IScheduleActivity;
export type ActivityResult = proto.coresdk.activity_result.IActivityResolution;
type Failure = proto.temporal.api.failure.v1.IFailure;

const { TimeoutType } = proto.temporal.api.enums.v1;
const { ActivityCancellationType } = proto.coresdk.workflow_commands;
const TEMPORAL = 'temporal';

/** What becomes of an attempt of a tool, out of 100. The rest succeeds. */
const FATES = { fails: 8, isFinal: 6, dies: 8, hangs: 4 } as const;

/** The task of a tool, as the Temporal server and the tool's worker work on it. */
export interface ToolTask {
  /** Offers the task to the worker. */
  dispatch(): void;
  /** Asks for the cancellation of the task, unless the workflow has already gone on without it. */
  cancel(): void;
}

interface World {
  scheduler: Scheduler;
  clock: VirtualClock;
  random: Random;
  toolsFail: boolean;
  onTool(callId: string): void;
}

/** Converts a duration to milliseconds; null: there is none. */
export const milliseconds = (duration: proto.google.protobuf.IDuration | null | undefined): number | null =>
  duration == null ? null : Number(duration.seconds ?? 0) * 1000 + (duration.nanos ?? 0) / 1_000_000;

/** Wraps the failure of an activity as the SDK's core does. */
const wrap = (cause: Failure): Failure => ({
  message: 'activity failed',
  activityFailureInfo: { activityType: { name: 'activity' }, activityId: '1', identity: 'worker' },
  cause,
});

export const failed = (error: unknown): ActivityResult => ({
  failed: { failure: wrap(defaultFailureConverter.errorToFailure(error, defaultPayloadConverter)) },
});

export const cancelled = (): ActivityResult => ({
  cancelled: { failure: wrap({ message: 'cancelled', canceledFailureInfo: {} }) },
});

export const completed = (value: unknown): ActivityResult => ({
  completed: { result: defaultPayloadConverter.toPayload(value) ?? null },
});

const timedOut = (
  timeoutType: proto.temporal.api.enums.v1.TimeoutType,
  cause: Failure | null,
): ActivityResult => ({
  failed: { failure: wrap({ message: 'timeout', timeoutFailureInfo: { timeoutType }, cause }) },
});

const refusal = (type: string): Error =>
  ApplicationFailure.create({ type, message: type, nonRetryable: true });

/**
 * Creates the task of a tool. @param resolve receives the result for the workflow, which may come more than once; only the
 * first counts
 */
export function createTool(
  { scheduler, clock, random, toolsFail, onTool }: World,
  callId: string,
  command: ScheduleActivity,
  resolve: (result: ActivityResult) => void,
): ToolTask {
  const { cancellationType, retryPolicy, scheduleToStartTimeout, startToCloseTimeout } = command;
  const waits = cancellationType === ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
  const attempts = retryPolicy?.maximumAttempts ?? 1;
  let started = 0;
  let isRunning = false;
  let isOver = false;
  let lastFailure: Failure | null = null;

  function end(result: ActivityResult): void {
    isOver = true;
    isRunning = false;
    resolve(result);
  }

  const after = (ms: number | null, callback: () => void): void => {
    if (ms !== null) clock.set(TEMPORAL, ms, callback);
  };

  /** Ends an attempt without a result: the next one starts, or the task fails. */
  function retry(result: ActivityResult): void {
    isRunning = false;
    lastFailure = result.failed?.failure?.cause ?? null;
    if (started >= attempts) end(result);
    else after(200, dispatch);
  }

  function fate(): keyof typeof FATES | 'succeeds' {
    if (scheduler.isCalm || !toolsFail) return 'succeeds';
    let left = random.integer(1, 100);
    for (const name of ['fails', 'isFinal', 'dies', 'hangs'] as const) {
      left -= FATES[name];
      if (left <= 0) return name;
    }
    return 'succeeds';
  }

  async function attempt(): Promise<void> {
    const step = scheduler.intercept(`tools/${callId}`);
    const number = await step('take the task', async () => {
      if (isOver) return null;
      isRunning = true;
      return ++started;
    });
    if (number === null) return;
    after(milliseconds(startToCloseTimeout), () => {
      if (isRunning && started === number)
        retry(timedOut(TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE, lastFailure));
    });
    const outcome = await step('run the tool', async () => {
      onTool(callId);
      return fate();
    });
    if (outcome === 'hangs') return;
    if (outcome === 'dies') {
      // A worker that stopped sends no heartbeats.
      after(10_000, () => {
        if (isRunning && started === number) retry(timedOut(TimeoutType.TIMEOUT_TYPE_HEARTBEAT, lastFailure));
      });
      return;
    }
    await step(`the tool ${outcome}`, async () => {
      if (!isRunning || started !== number) return;
      if (outcome === 'fails') end(failed(refusal('target_failed')));
      else if (outcome === 'isFinal') end(failed(refusal('host_not_found')));
      else end(completed({ output: { statusCode: 200 } }));
    });
  }

  function dispatch(): void {
    const before = started;
    after(milliseconds(scheduleToStartTimeout), () => {
      if (started === before && !isRunning)
        end(timedOut(TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START, lastFailure));
    });
    void attempt();
  }

  return {
    dispatch() {
      after(milliseconds(command.scheduleToCloseTimeout), () =>
        end(timedOut(TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, lastFailure)),
      );
      dispatch();
    },
    cancel() {
      // Without `waits` the core of the SDK has cancelled the activity for the workflow, whatever becomes of the task.
      if (!waits || !isRunning) end(cancelled());
    },
  };
}
