import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  setWorkflowOptions,
  startChild,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { ReserveResult } from '../store/ledger.ts';
import { toolQueue, WORKER_DEPLOYMENT, workflowIds } from './contract.ts';
import { dispatchEvents } from './dispatchEvents.ts';
import type {
  CallFailure,
  CallRequest,
  CallResult,
  LedgerActivities,
  ToolActivities,
  ToolResult,
} from './types.ts';

/** Longer than the database timeout (10 s), so that an attempt reports its own error. */
const LEDGER_STEP_TIMEOUT = '12s';
/** Added to the tool's own time limit, so that the tool can report that it reached the limit. */
const ATTEMPT_GRACE_MS = 3000;
/** A worker without a heartbeat for this long counts as dead; tool workers send one every few seconds. */
const HEARTBEAT_TIMEOUT = '10s';

const LEDGER_STEP_RETRY = { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' } as const;

const { settle } = proxyLocalActivities<LedgerActivities>({
  startToCloseTimeout: LEDGER_STEP_TIMEOUT,
  retry: LEDGER_STEP_RETRY,
});

/** An error that ends a call. */
interface Refusal extends CallFailure {
  code: string;
  detail: string;
  /** A worker may have started the tool. */
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

const INTERNAL = refusal('internal', 'An internal error occurred. It was logged.');

const DEADLINE = refusal('deadline_exceeded', 'The call exceeded its time limit. Nothing was charged.');

const isCallFailure = (value: unknown): value is CallFailure =>
  typeof value === 'object' && value !== null && 'members' in value && 'retryAfter' in value;

/** Translates the failure of an activity to the error table. */
function toRefusal(error: unknown): Refusal {
  if (isCancellation(error)) return refusal('cancelled', 'The caller closed the connection.');
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) {
    const { timeoutType, failure } = cause;
    // A retry that times out in the queue has this type too. Only the raw failure shows the error of its earlier
    // attempt.
    if (timeoutType === 'SCHEDULE_TO_START' && failure?.cause == null)
      return refusal('pool_busy', 'No worker was free in time. Nothing ran and nothing was charged.', {
        mayHaveStarted: false,
        retryAfter: 5,
      });
    if (timeoutType === 'SCHEDULE_TO_START' || timeoutType === 'HEARTBEAT') return INTERNAL;
    return DEADLINE;
  }
  if (cause instanceof ApplicationFailure && cause.nonRetryable && cause.type) {
    const details = cause.details?.[0];
    return refusal(cause.type, cause.message, isCallFailure(details) ? details : {});
  }
  return INTERNAL;
}

/** Translates a rejected reservation to the error table. */
function reserveRefusal(held: Exclude<ReserveResult, { status: 'held' }>, price: number): Refusal {
  const { available } = held;
  const common = { available, mayHaveStarted: false };
  switch (held.status) {
    case 'insufficient':
      return refusal(
        'insufficient_credits',
        `This call costs ${price} credits; ${available} are available.`,
        {
          ...common,
          members: { available, cost: price },
        },
      );
    case 'busy':
      return refusal('rate_limited', 'Too many calls of this account run at once.', {
        ...common,
        retryAfter: 1,
      });
    case 'suspended':
      return refusal(
        'account_suspended',
        'The account is suspended until its outstanding credits are settled.',
        common,
      );
    case 'closed':
      return refusal(
        held.code ?? 'internal',
        'The call ended before it started. Nothing was charged.',
        common,
      );
  }
}

/** The failure that ends the workflow. Its type is the error code, so that operators can filter by it. */
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
 * Weight of a call with price 1 of an account without other calls in the pool. Large enough that no weight comes near
 * 0.001, the smallest that the server distinguishes.
 */
const BASE_WEIGHT = 100;

/**
 * Fairness of a call in its pool's task queue, which shares the worker slots among accounts. The weight falls with the
 * price and with the number of calls that the account is running in the pool. A single call of an account therefore gets
 * the next free slot even when other accounts have long queues. An account can use all slots of an idle pool.
 *
 * @param running calls of the account in the pool, including this one
 */
const priorityOf = (accountId: string, price: number, running = 1): ToolPriority => ({
  fairnessKey: accountId,
  fairnessWeight: BASE_WEIGHT / (price * Math.max(1, running)),
});

async function runTool(
  { policy, ...call }: CallRequest,
  remainingMs: number,
  priority: ToolPriority,
): Promise<ToolResult> {
  const tool = proxyActivities<ToolActivities>({
    taskQueue: toolQueue(policy.pool),
    scheduleToStartTimeout: policy.queueMs,
    startToCloseTimeout: policy.attemptMs + ATTEMPT_GRACE_MS,
    scheduleToCloseTimeout: remainingMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: 'TRY_CANCEL',
    priority,
    retry: { maximumAttempts: policy.attempts, initialInterval: '200ms', backoffCoefficient: 2 },
  })[policy.tool];
  if (tool === undefined) throw new Error(`no activity for ${policy.tool}`);
  const { callId, requestId, input, storedInput, vault, resultExpiresAt } = call;
  const { attemptMs } = policy;
  const run = () => tool({ callId, requestId, input, storedInput, vault, resultExpiresAt, attemptMs });
  // Not cancelled when the caller disconnects: the tool may already have acted on its target.
  return policy.actsOnWorld ? CancellationScope.nonCancellable(run) : run();
}

/**
 * Starts a child workflow that dispatches the events of the settlement. Waits only until it has started, which takes some
 * milliseconds: Temporal drops children that were not started when their parent ends.
 */
async function startDispatch(callId: string, accountId: string): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() =>
      startChild(dispatchEvents, {
        workflowId: workflowIds.dispatchForCall(callId),
        args: [accountId],
        parentClosePolicy: 'ABANDON',
      }),
    );
  } catch (error) {
    // Does not fail the call, which is charged. The sweeper dispatches the events.
    log.warn('dispatch of events was not started; the sweeper dispatches them', { error });
  }
}

/**
 * Runs one call: reserves its price, runs the tool, charges or refunds. The hold ends exactly once, whichever process
 * is killed. The result follows from the recorded state, so a refunded call never returns output.
 *
 * @throws ApplicationFailure whose type is the error code
 */
export async function callTool(call: CallRequest): Promise<CallResult> {
  const { callId, accountId, requestId, policy } = call;
  const { tool, pool, price, maxRunning } = policy;

  const refund = async (cause: Refusal): Promise<ApplicationFailure> => {
    const release = !(policy.finalCodes.includes(cause.code) || (policy.actsOnWorld && cause.mayHaveStarted));
    const settled = await CancellationScope.nonCancellable(() =>
      settle({ callId, accountId, wanted: 'refunded', code: cause.code, release }),
    );
    log.info('call ended', { requestId, state: settled.state, code: cause.code });
    return toFailure({ ...cause, available: settled.available });
  };

  const { reserve } = proxyLocalActivities<LedgerActivities>({
    startToCloseTimeout: LEDGER_STEP_TIMEOUT,
    scheduleToCloseTimeout: policy.deadlineMs,
    retry: LEDGER_STEP_RETRY,
  });
  let held: ReserveResult;
  try {
    held = await reserve({ callId, accountId, tool, pool, price, maxRunning });
  } catch (error) {
    throw await refund({ ...toRefusal(error), mayHaveStarted: false });
  }
  if (held.status !== 'held') throw await refund(reserveRefusal(held, price));
  // Workflow time lags by some seconds while a local activity is retried, so `reserve` also checks its own clock.
  const remainingMs = policy.deadlineMs - (Date.now() - workflowInfo().startTime.getTime());
  if (remainingMs <= 0) throw await refund({ ...DEADLINE, mayHaveStarted: false });

  let result: ToolResult;
  try {
    result = await runTool(call, remainingMs, priorityOf(accountId, price, held.running));
  } catch (error) {
    throw await refund(toRefusal(error));
  }
  const { nonce } = held;
  const settled = await CancellationScope.nonCancellable(() =>
    settle({ callId, accountId, wanted: 'charged', nonce }),
  );
  log.info('call ended', { requestId, state: settled.state, code: null });
  if (settled.fired) await startDispatch(callId, accountId);
  if (settled.state !== 'charged') {
    const { available } = settled;
    throw toFailure(
      refusal('deadline_exceeded', 'The call was ended before the tool finished. Nothing was charged.', {
        available,
      }),
    );
  }
  return { result, available: settled.available };
}

// On a versioned orchestrator, a call ends on the build that it started on, whatever the next build changes here. The SDK
// rejects the option on an unversioned one.
setWorkflowOptions(
  () =>
    workflowInfo().currentDeploymentVersion?.deploymentName === WORKER_DEPLOYMENT
      ? { versioningBehavior: 'PINNED' }
      : {},
  callTool,
);
