import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  startChild,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { ReserveResult } from '../store/ledger.ts';
import { toolQueue, workflowIds } from './contract.ts';
import { dispatchEvents } from './dispatchEvents.ts';
import type {
  CallFailure,
  CallRequest,
  CallResult,
  LedgerActivities,
  ToolActivities,
  ToolResult,
} from './types.ts';

/** A little above the database's own time-out, so that an attempt answers before it is given up. */
const MONEY_STEP_TIMEOUT = '12s';
/** On top of an attempt's time: the tool ends itself at its deadline and gets to say so. */
const ATTEMPT_GRACE_MS = 3000;
/** A worker that says nothing for so long is taken for dead; workers speak up every few seconds. */
const HEARTBEAT_TIMEOUT = '10s';

const MONEY_STEP_RETRY = { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' } as const;

const { settle } = proxyLocalActivities<LedgerActivities>({
  startToCloseTimeout: MONEY_STEP_TIMEOUT,
  retry: MONEY_STEP_RETRY,
});

/** How a call ends without a result. `began`: a worker may have started on it. */
interface Refusal extends CallFailure {
  code: string;
  detail: string;
  began: boolean;
}

const refusal = (code: string, detail: string, more: Partial<Refusal> = {}): Refusal => ({
  code,
  detail,
  members: {},
  retryAfter: null,
  available: null,
  began: true,
  ...more,
});

const INTERNAL = refusal('internal', 'An internal error occurred. It was logged.');

const DEADLINE = refusal('deadline_exceeded', 'The call exceeded its time limit. Nothing was charged.');

const isCallFailure = (value: unknown): value is CallFailure =>
  typeof value === 'object' && value !== null && 'members' in value && 'retryAfter' in value;

/** What went wrong with the tool's activity, in the terms of the error table. */
function explain(error: unknown): Refusal {
  if (isCancellation(error)) return refusal('cancelled', 'The caller hung up.');
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) {
    const { timeoutType, failure } = cause;
    // A later attempt that waits in vain says so too; what ended the one before it is there, but only in the raw failure.
    if (timeoutType === 'SCHEDULE_TO_START' && failure?.cause == null)
      return refusal('pool_busy', 'No worker was free in time. Nothing ran and nothing was charged.', {
        began: false,
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

function whyNotReserved(held: Exclude<ReserveResult, { status: 'held' }>, price: number): Refusal {
  const { available } = held;
  const more = { available, began: false };
  switch (held.status) {
    case 'insufficient':
      return refusal(
        'insufficient_credits',
        `This call costs ${price} credits; ${available} are available.`,
        {
          ...more,
          members: { available, cost: price },
        },
      );
    case 'busy':
      return refusal('rate_limited', 'Too many calls of this account run at once.', {
        ...more,
        retryAfter: 1,
      });
    case 'suspended':
      return refusal(
        'account_suspended',
        'The account is suspended until its outstanding credits are settled.',
        more,
      );
    case 'closed':
      return refusal(held.code ?? 'internal', 'The call was ended before it began.', more);
  }
}

/** Ends the workflow as failed: operators filter by status, and the code is the failure's type. */
const asFailure = ({ code, detail, members, retryAfter, available }: Refusal): ApplicationFailure =>
  ApplicationFailure.create({
    type: code,
    message: detail,
    nonRetryable: true,
    category: 'BENIGN',
    details: [{ members, retryAfter, available } satisfies CallFailure],
  });

type ToolPriority = NonNullable<ActivityOptions['priority']>;

/**
 * Weight of the cheapest call of an account that has no other in the pool. Keeps the weights of all others well above
 * 0.001, the smallest that the server tells apart.
 */
const LONE_CALL_WEIGHT = 100;

/**
 * A pool's queue shares its worker slots among accounts. A call costs its account a part of its share that grows with
 * the price and with the calls the account has running in the pool: a single call of one account waits for the next
 * free slot, not for a round of all accounts with long queues. An idle pool gives every slot to one account.
 *
 * @param running calls of the account in the pool, this one included
 */
const priorityOf = (accountId: string, price: number, running = 1): ToolPriority => ({
  fairnessKey: accountId,
  fairnessWeight: LONE_CALL_WEIGHT / (price * Math.max(1, running)),
});

async function runTool(
  { policy, ...call }: CallRequest,
  leftMs: number,
  priority: ToolPriority,
): Promise<ToolResult> {
  const tool = proxyActivities<ToolActivities>({
    taskQueue: toolQueue(policy.pool),
    scheduleToStartTimeout: policy.queueMs,
    startToCloseTimeout: policy.attemptMs + ATTEMPT_GRACE_MS,
    scheduleToCloseTimeout: leftMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: 'TRY_CANCEL',
    priority,
    retry: { maximumAttempts: policy.attempts, initialInterval: '200ms', backoffCoefficient: 2 },
  })[policy.tool];
  if (tool === undefined) throw new Error(`no activity for ${policy.tool}`);
  const { callId, requestId, input, storedInput, vault, resultExpiresAt } = call;
  const { attemptMs } = policy;
  const run = () => tool({ callId, requestId, input, storedInput, vault, resultExpiresAt, attemptMs });
  // What acts on the world is not cut short by a caller who hangs up: it may have happened already.
  return policy.actsOnWorld ? CancellationScope.nonCancellable(run) : run();
}

/**
 * Has the events of the settlement handed over by a workflow of its own. The answer waits until the server has made that
 * workflow, some milliseconds (it makes none for a parent that has ended), and not for what it does.
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
    // The call is charged and its caller gets the result; the sweeper finds the events.
    log.warn('events were not handed over', { error });
  }
}

/**
 * One call: reserve its price, run the tool, charge or refund. The hold ends exactly once, whoever is killed when; the
 * answer follows from the state that is on record then, so no output leaves on a refunded hold.
 *
 * @throws ApplicationFailure whose type is the error code
 */
export async function callTool(call: CallRequest): Promise<CallResult> {
  const { callId, accountId, requestId, policy } = call;
  const { tool, pool, price, maxRunning } = policy;

  const refund = async (why: Refusal): Promise<ApplicationFailure> => {
    const release = !(policy.finalCodes.includes(why.code) || (policy.actsOnWorld && why.began));
    const settled = await CancellationScope.nonCancellable(() =>
      settle({ callId, accountId, wanted: 'refunded', code: why.code, release }),
    );
    log.info('call ended', { requestId, state: settled.state, code: why.code });
    return asFailure({ ...why, available: settled.available });
  };

  const { reserve } = proxyLocalActivities<LedgerActivities>({
    startToCloseTimeout: MONEY_STEP_TIMEOUT,
    scheduleToCloseTimeout: policy.deadlineMs,
    retry: MONEY_STEP_RETRY,
  });
  let held: ReserveResult;
  try {
    held = await reserve({ callId, accountId, tool, pool, price, maxRunning });
  } catch (error) {
    throw await refund({ ...explain(error), began: false });
  }
  if (held.status !== 'held') throw await refund(whyNotReserved(held, price));
  // Workflow time is some seconds behind while a local activity is tried again; `reserve` itself looks at its clock too.
  const leftMs = policy.deadlineMs - (Date.now() - workflowInfo().startTime.getTime());
  if (leftMs <= 0) throw await refund({ ...DEADLINE, began: false });

  let result: ToolResult;
  try {
    result = await runTool(call, leftMs, priorityOf(accountId, price, held.running));
  } catch (error) {
    throw await refund(explain(error));
  }
  const { nonce } = held;
  const settled = await CancellationScope.nonCancellable(() =>
    settle({ callId, accountId, wanted: 'charged', nonce }),
  );
  log.info('call ended', { requestId, state: settled.state, code: null });
  if (settled.fired) await startDispatch(callId, accountId);
  if (settled.state !== 'charged') {
    const { available } = settled;
    throw asFailure(refusal('deadline_exceeded', 'The call was given up before it was done.', { available }));
  }
  return { result, available: settled.available };
}
