import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  log,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setWorkflowOptions,
  startChild,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { CALL_ERRORS, reservationError } from '../schemas/callErrors.ts';
import type { ReserveResult } from '../store/ledger/ledger.ts';
import {
  isCallFailure,
  JOB_PRIORITY,
  laneOf,
  NO_HOLD,
  TASK_QUEUES,
  toolQueue,
  WORKER_DEPLOYMENT,
  workflowIds,
} from './contract.ts';
import { dispatchEvents } from './dispatchEvents.ts';
import type {
  CallFailure,
  CallRequest,
  CallResult,
  FastLaneActivities,
  LedgerActivities,
  ToolActivities,
  ToolAnswer,
  WholeCall,
} from './types.ts';

/**
 * Timeout of one attempt of a ledger step. Longer than the timeout of a MongoDB command (10 s), so that the attempt
 * can report MongoDB's error.
 */
const LEDGER_STEP_MS = 12_000;
/** Milliseconds added to the tool's own time limit, so that the tool can report that it reached that limit. */
const ATTEMPT_GRACE_MS = 3000;
/** A tool worker that sends no heartbeat for this long counts as dead; tool workers send one every few seconds. */
const HEARTBEAT_TIMEOUT = '10s';

/**
 * Marks calls with side effects that are cancelled while they wait for a worker. Calls of older versions ignored
 * cancellations from the start; remove the mark when no such call runs any more.
 */
const CANCELS_WAITING = 'cancel-waiting-calls-with-side-effects';

const LEDGER_STEP_RETRY = { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' } as const;

const { settle } = proxyLocalActivities<LedgerActivities>({
  startToCloseTimeout: LEDGER_STEP_MS,
  retry: LEDGER_STEP_RETRY,
});

/** An error that ends a call: a code and a detail text of the error table, and the members of its response. */
interface Refusal extends CallFailure {
  code: string;
  detail: string;
  /** Whether a worker may have started the tool. */
  mayHaveStarted: boolean;
}

const refusal = (code: string, detail: string, overrides: Partial<Refusal> = {}): Refusal => ({
  code,
  detail,
  members: {},
  retryAfter: null,
  available: null,
  mayHaveStarted: true,
  ...overrides,
});

/** A refusal with the text of the error table. */
const standard = (code: keyof typeof CALL_ERRORS, overrides?: Partial<Refusal>): Refusal =>
  refusal(code, CALL_ERRORS[code].detail, overrides);

const INTERNAL = standard('internal');
const CANCELLED = standard('cancelled');
const DEADLINE = standard('deadline_exceeded');

/** Converts the failure of an activity to an error of the error table. */
function toRefusal(error: unknown): Refusal {
  if (isCancellation(error)) return CANCELLED;
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) {
    const { timeoutType, failure } = cause;
    // If the tool failed and its retry found no free worker, the timeout has this type too. Only the raw failure
    // contains the error of the earlier attempt.
    if (timeoutType === 'SCHEDULE_TO_START' && failure?.cause == null)
      return standard('pool_busy', { mayHaveStarted: false, retryAfter: CALL_ERRORS.pool_busy.retryAfter });
    if (timeoutType === 'SCHEDULE_TO_START' || timeoutType === 'HEARTBEAT') return INTERNAL;
    return DEADLINE;
  }
  if (cause instanceof ApplicationFailure && cause.nonRetryable && cause.type) {
    const details = cause.details?.[0];
    return refusal(cause.type, cause.message, isCallFailure(details) ? details : {});
  }
  return INTERNAL;
}

/** Converts a rejected reservation to an error of the error table. */
function reserveRefusal(held: Exclude<ReserveResult, { status: 'held' }>, price: number): Refusal {
  const { code, detail, ...error } = reservationError(held, price);
  return refusal(code, detail, { ...error, available: held.available, mayHaveStarted: false });
}

/**
 * Creates the failure that ends the workflow. Its type is the error code, so that operators can filter workflows by
 * it.
 */
const toFailure = ({ code, detail, members, retryAfter, available }: Refusal): ApplicationFailure =>
  ApplicationFailure.create({
    type: code,
    message: detail,
    nonRetryable: true,
    category: 'BENIGN',
    details: [{ members, retryAfter, available } satisfies CallFailure],
  });

type ToolPriority = NonNullable<ActivityOptions['priority']>;

/**
 * Fairness weight of a call with price 1 whose account runs no other calls in the pool. Large enough that no weight
 * comes near 0.001, the smallest that the Temporal server distinguishes.
 */
const BASE_WEIGHT = 100;

/**
 * Returns the priority options of a call in the task queue of its pool. Temporal shares the pool's worker slots among
 * accounts in proportion to the weights of their calls. The weight falls with the price and with the number of calls
 * that the account is running in the pool.
 *
 * @param running calls of the account in the pool, including this one
 */
const priorityOf = (accountId: string, price: number, running = 1): ToolPriority => ({
  fairnessKey: accountId,
  fairnessWeight: BASE_WEIGHT / (price * Math.max(1, running)),
});

/**
 * Runs a call in the fast lane: its three steps in one local activity, because each costs the worker as much as the steps
 * themselves.
 *
 * @throws the failure of the tool
 */
async function runWhole(call: CallRequest, remainingMs: number): Promise<WholeCall> {
  const { attempts, attemptMs } = call.policy;
  const activities = proxyLocalActivities<FastLaneActivities>({
    startToCloseTimeout: 2 * LEDGER_STEP_MS + attemptMs + ATTEMPT_GRACE_MS,
    scheduleToCloseTimeout: remainingMs,
    // The activity may be charging.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { maximumAttempts: attempts, initialInterval: '200ms', backoffCoefficient: 2 },
  });
  return await activities.runWhole(call);
}

/** Runs the tool: in the fast lane as a local activity, else as an activity in the queue of its lane. */
async function runTool(
  { policy, ...call }: CallRequest,
  remainingMs: number,
  running: number | undefined,
): Promise<ToolAnswer> {
  // Once the tool has started, its side effects may already have happened. Its worker then ignores a cancellation, and the
  // workflow waits for the result. A call that still waits for a worker is cancelled by the Temporal server.
  const finishes = policy.actsOnWorld;
  const ignoresCancellation = finishes && !patched(CANCELS_WAITING);
  const options = {
    startToCloseTimeout: policy.attemptMs + ATTEMPT_GRACE_MS,
    scheduleToCloseTimeout: remainingMs,
    cancellationType: finishes ? 'WAIT_CANCELLATION_COMPLETED' : 'TRY_CANCEL',
    retry: { maximumAttempts: policy.attempts, initialInterval: '200ms', backoffCoefficient: 2 },
  } as const;
  const activities =
    call.inFastLane === true
      ? proxyLocalActivities<ToolActivities>(options)
      : proxyActivities<ToolActivities>({
          ...options,
          taskQueue: toolQueue(policy.pool, laneOf(policy, running)),
          scheduleToStartTimeout: policy.queueMs,
          heartbeatTimeout: HEARTBEAT_TIMEOUT,
          priority: {
            ...priorityOf(call.accountId, policy.price, running),
            ...(policy.isJob && { priorityKey: JOB_PRIORITY }),
          },
        });
  const tool = activities[policy.tool];
  if (tool === undefined) throw new Error(`no activity for ${policy.tool}`);
  const { callId, requestId, input, storedInput, file, vault, baseUrl, digestKeys, resultExpiresAt } = call;
  const { attemptMs } = policy;
  const run = () =>
    tool({
      callId,
      requestId,
      input,
      storedInput,
      file,
      vault,
      digestKeys,
      baseUrl,
      resultExpiresAt,
      attemptMs,
      ...(finishes && { finishes }),
    });
  return ignoresCancellation ? CancellationScope.nonCancellable(run) : run();
}

/**
 * Starts a child workflow that dispatches the events of the settlement. Waits some milliseconds until the child has
 * started, because Temporal drops children that have not started when their parent ends.
 */
async function startChildDispatch(callId: string, accountId: string): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() =>
      startChild(dispatchEvents, {
        workflowId: workflowIds.dispatchForCall(callId),
        args: [accountId],
        taskQueue: TASK_QUEUES.orchestrator,
        parentClosePolicy: 'ABANDON',
      }),
    );
  } catch (error) {
    // The error is only logged, because the call has been charged. The sweeper finds the events.
    log.warn('the dispatch of events was not started; the sweeper will find them', { error });
  }
}

/**
 * Runs one call: reserves its price, runs the tool, then charges or refunds. The hold ends exactly once, even if
 * processes are killed. The response follows from the recorded state of the call, so a refunded call never returns
 * output.
 *
 * @param startedAt when the time of the call began, in epoch milliseconds: for a job, when it got a worker
 * @throws ApplicationFailure whose type is the error code
 */
export async function callTool(
  call: CallRequest,
  startedAt = workflowInfo().startTime.getTime(),
): Promise<CallResult> {
  const { callId, accountId, requestId, policy, key } = call;
  const { tool, pool, price, maxRunning, isJob } = policy;

  const refund = async (cause: Refusal): Promise<ApplicationFailure> => {
    const release = !(policy.finalCodes.includes(cause.code) || (policy.actsOnWorld && cause.mayHaveStarted));
    const settled = await CancellationScope.nonCancellable(() =>
      settle({ callId, accountId, wanted: 'refunded', code: cause.code, release, times: cause.times }),
    );
    log.info('call ended', { requestId, state: settled.state, code: cause.code });
    return toFailure({ ...cause, available: settled.available });
  };

  const { reserve } = proxyLocalActivities<LedgerActivities>({
    startToCloseTimeout: LEDGER_STEP_MS,
    scheduleToCloseTimeout: policy.deadlineMs,
    retry: LEDGER_STEP_RETRY,
  });
  // `Date.now()` of a workflow lags behind by some seconds while a local activity is retried, so the activity
  // `reserve` also enforces the deadline by the clock of its worker.
  const leftNow = () => policy.deadlineMs - (Date.now() - startedAt);

  let done: WholeCall = {};
  try {
    if (call.inFastLane === true && leftNow() > 0) done = await runWhole(call, leftNow());
  } catch (error) {
    throw await refund(toRefusal(error));
  }
  let held: ReserveResult;
  try {
    held =
      done.held ??
      (await reserve({ callId, accountId, tool, pool: isJob ? 'jobs' : pool, price, maxRunning, key }));
  } catch (error) {
    throw await refund({ ...toRefusal(error), mayHaveStarted: false });
  }
  // The whole call is one workflow task in the fast lane. A task that charged the call is repeated from the start if Temporal did
  // not receive its result; the tool then runs again, and the call stays charged.
  const isRepeated = held.status === 'closed' && held.charged === true && call.inFastLane === true;
  if (held.status !== 'held' && !isRepeated) throw await refund(reserveRefusal(held, price));
  const { nonce, running } = held.status === 'held' ? held : { nonce: NO_HOLD, running: undefined };
  // A charged call must have a result, however late: the next request with its Idempotency-Key gets it.
  const remainingMs = isRepeated || done.answer !== undefined ? policy.deadlineMs : leftNow();
  if (remainingMs <= 0) throw await refund({ ...DEADLINE, mayHaveStarted: false });

  let answer: ToolAnswer;
  try {
    answer = done.answer ?? (await runTool(call, remainingMs, running));
  } catch (error) {
    throw await refund(toRefusal(error));
  }
  const { times, digests, ...result } = answer;
  const settled =
    done.settled ??
    (await CancellationScope.nonCancellable(() =>
      settle({ callId, accountId, wanted: 'charged', nonce, times, digests }),
    ));
  log.info('call ended', { requestId, state: settled.state, code: null });
  if (settled.fired) await startChildDispatch(callId, accountId);
  if (settled.state !== 'charged') {
    const { available } = settled;
    // A cancelled call is refunded here if a task that had refunded it was repeated with the result of the tool.
    const ended = CancellationScope.current().consideredCancelled
      ? CANCELLED
      : refusal('deadline_exceeded', 'The call was ended before the tool finished. Nothing was charged.');
    throw toFailure({ ...ended, available });
  }
  return { result, available: settled.available };
}

// With worker versioning, a call stays on the build that it started on, even if the next build changes this workflow.
// On an orchestrator without a deployment version the SDK rejects the option.
setWorkflowOptions(
  () =>
    workflowInfo().currentDeploymentVersion?.deploymentName === WORKER_DEPLOYMENT
      ? { versioningBehavior: 'PINNED' }
      : {},
  callTool,
);
