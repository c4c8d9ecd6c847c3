import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { EventKind } from '../schemas/events.ts';
import type { DueDelivery, Outcome } from '../store/webhooks/deliveries.ts';
import { disable, enable, resend, TASK_QUEUES, test, wake } from './contract.ts';
import type { DeliveryActivities, DeliveryResult, EndpointActivities } from './types.ts';
import {
  type DeliveryStatus,
  disabled,
  enabled,
  freeAttempts,
  HEALTHY,
  type Health,
  MAX_CONCURRENT_ATTEMPTS,
  nextDeliveryStatus,
  nextHealth,
} from './webhookState.ts';

const activities = proxyLocalActivities<EndpointActivities>({
  // Long enough for a resend, which can write many documents.
  startToCloseTimeout: '2m',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});
/** Options of one attempt. Its timeout allows 10 s for the receiver and the rest for MongoDB. */
const ATTEMPT = {
  taskQueue: TASK_QUEUES.delivery,
  startToCloseTimeout: '30s',
  heartbeatTimeout: '8s',
} as const;
/**
 * Retries of attempts whose worker died or could not reach MongoDB. These do not count as failures of the receiver.
 */
const ATTEMPT_RETRY = { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '10s' } as const;
/** Options of a test. It has one attempt, because its caller waits for the result. */
const TEST_ATTEMPT = { ...ATTEMPT, scheduleToStartTimeout: '10s', retry: { maximumAttempts: 1 } } as const;

/**
 * The workflow ends after this many milliseconds without work. The next event starts it again with the state from
 * MongoDB.
 */
const IDLE_MS = 60_000;
/** Number of history events from which the workflow continues as new. */
const MAX_HISTORY_EVENTS = 1000;

const refusal = (code: string, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: code, message, nonRetryable: true, category: 'BENIGN' });

/**
 * The workflow of an endpoint, which alone controls its attempts, failure count and state. MongoDB stores deliveries
 * and state. Each `syncEndpoint` writes the outcomes since the previous one and reads the deliveries that are due.
 *
 * @param requested ids of deliveries that the previous run was asked to attempt at once
 */
export async function webhookEndpoint(endpointId: string, requested: string[] = []): Promise<void> {
  let health: Health = HEALTHY;
  let scheduleMs: number[] = [];
  /** Number of the newest write of `health` to MongoDB. */
  let turn = 0;
  /** Whether `health` has been read from MongoDB. */
  let isLoaded = false;
  let writtenHealth: Health = HEALTHY;
  let isDeleted = false;
  let isWoken = false;
  /** Number of requested changes of the endpoint's state, and how many of them have been written. */
  let changes = 0;
  let writtenChanges = 0;
  const outcomes: Outcome[] = [];
  const running = new Set<string>();
  /** Ids of the deliveries that the owner asked to be attempted at once, without the pause after a failure. */
  const first = new Set(requested);
  /**
   * Fairness key of attempts: the account's id once it is known, so that the delivery queue shares its worker slots
   * among accounts.
   */
  let fairnessKey = endpointId;

  /**
   * Resolves when the endpoint's state has been read from MongoDB and all changes have been written to it, or when
   * the endpoint was deleted.
   */
  async function untilWritten(): Promise<void> {
    const upTo = changes;
    await condition(() => isDeleted || (isLoaded && writtenChanges >= upTo));
  }
  async function writeChange(): Promise<void> {
    changes++;
    await untilWritten();
  }
  function assertExists(): void {
    if (isDeleted) throw refusal('not_found', 'The webhook endpoint does not exist.');
  }
  function assertActive(): void {
    assertExists();
    if (health.state === 'disabled') throw refusal('endpoint_disabled', 'The webhook endpoint is disabled.');
  }

  /** Adds the outcome of an attempt to those that the next `syncEndpoint` writes. */
  function conclude({ deliveryId, attempts, tries }: DueDelivery, status: DeliveryStatus): void {
    const held = status.state === 'pending' && health.state === 'disabled';
    outcomes.push({
      deliveryId,
      attempt: attempts + 1,
      tries: tries + 1,
      ...(held ? { state: 'held', nextAt: null } : status),
    });
    running.delete(deliveryId);
  }

  /** Updates `health` after an attempt that started in `epoch`. */
  function updateHealth(result: DeliveryResult, epoch: number): void {
    if (result.kind !== 'posted') return;
    const before = health.state;
    health = nextHealth(health, { ok: result.ok, epoch }, Date.now(), scheduleMs[0] ?? 0);
    if (health.state !== before)
      log.warn('webhook endpoint disabled', { accountId: fairnessKey, endpointId });
  }

  async function attempt(due: DueDelivery): Promise<void> {
    const { deliveryId, attempts, tries } = due;
    running.add(deliveryId);
    first.delete(deliveryId);
    const { epoch } = health;
    const { deliver } = proxyActivities<DeliveryActivities>({
      ...ATTEMPT,
      retry: ATTEMPT_RETRY,
      priority: { fairnessKey },
    });
    const result = await deliver({ endpointId, deliveryId, attempt: attempts + 1 });
    updateHealth(result, epoch);
    if (result.kind === 'unsent') {
      // The next `syncEndpoint` marks the delivery as held, or returns it as due if the endpoint has been enabled
      // since.
      running.delete(deliveryId);
      isWoken = true;
      return;
    }
    const { ok, retryAfterMs } = result;
    conclude(
      due,
      nextDeliveryStatus({ ok, tries: tries + 1, retryAfterMs }, scheduleMs, Math.random(), Date.now()),
    );
  }

  async function sendTest(testId: string, beginUntil?: number, kind?: EventKind): Promise<string> {
    await untilWritten();
    assertActive();
    if (beginUntil !== undefined && Date.now() > beginUntil)
      throw refusal(
        'rate_limited',
        'Other requests for this webhook endpoint are running. Nothing was posted.',
      );
    const deliveryId = await activities.prepareTest(endpointId, testId, kind);
    if (deliveryId === null) throw refusal('not_found', 'The webhook endpoint does not exist.');
    running.add(deliveryId);
    const { epoch } = health;
    const test = { deliveryId, attempts: 0, tries: 0 };
    let result: DeliveryResult;
    const { deliver } = proxyActivities<DeliveryActivities>({ ...TEST_ATTEMPT, priority: { fairnessKey } });
    try {
      result = await deliver({ endpointId, deliveryId, attempt: 1 });
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
      conclude(test, { state: 'failed', nextAt: null });
      await writeChange();
      throw refusal('pool_busy', 'No worker reported a result in time. The test may have been posted.');
    }
    updateHealth(result, epoch);
    const ok = result.kind === 'posted' && result.ok;
    conclude(test, { state: ok ? 'delivered' : 'failed', nextAt: null });
    await writeChange();
    assertExists();
    if (result.kind === 'unsent') throw refusal('endpoint_disabled', 'The webhook endpoint is disabled.');
    return result.attemptId;
  }

  setHandler(wake, () => {
    isWoken = true;
  });
  setHandler(disable, async () => {
    await untilWritten();
    health = disabled(health, Date.now());
    changes++;
  });
  setHandler(enable, async () => {
    await untilWritten();
    assertExists();
    health = enabled(health);
    await writeChange();
    assertExists();
  });
  setHandler(resend, async (selection) => {
    await untilWritten();
    assertActive();
    const queued = await activities.resend(endpointId, selection, [...running]);
    const [only, ...others] = 'deliveryIds' in selection ? selection.deliveryIds : [];
    if (only !== undefined && others.length === 0 && queued > 0 && !running.has(only)) first.add(only);
    isWoken = true;
    return queued;
  });
  setHandler(test, sendTest);

  for (;;) {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    const isEndingRun = continueAsNewSuggested || historyLength > MAX_HISTORY_EVENTS;
    const upTo = changes;
    const changedHealth = isLoaded && health !== writtenHealth ? { ...health } : null;
    writtenHealth = health;
    isWoken = false;
    const asked = [...first].slice(0, MAX_CONCURRENT_ATTEMPTS);
    const state = await activities.syncEndpoint({
      endpointId,
      now: Date.now(),
      turn: changedHealth === null ? turn : ++turn,
      health: changedHealth,
      outcomes: outcomes.splice(0),
      running: [...running],
      first: asked,
      take: MAX_CONCURRENT_ATTEMPTS,
    });
    if (state === null) {
      isDeleted = true;
      await condition(() => running.size === 0 && allHandlersFinished());
      return;
    }
    if (!isLoaded) {
      health = state.health;
      writtenHealth = health;
      turn = state.turn;
      isLoaded = true;
    }
    writtenChanges = upTo;
    ({ scheduleMs, accountId: fairnessKey = endpointId } = state);

    const isUnwritten = () => outcomes.length > 0 || changes > writtenChanges;
    const hasWork = () => isWoken || isUnwritten();
    if (isEndingRun) {
      // Signals to this run need not be passed on: the next run starts with `syncEndpoint`.
      await condition(() => isUnwritten() || (running.size === 0 && allHandlersFinished()));
      if (!isUnwritten()) return continueAsNew<typeof webhookEndpoint>(endpointId, [...first]);
      continue;
    }

    const [next] = state.due;
    const skipsPause = next !== undefined && asked.includes(next.deliveryId);
    const current = skipsPause ? { ...health, notBefore: null } : health;
    const started = state.due.slice(0, freeAttempts(current, running.size, Date.now()));
    for (const due of started) void attempt(due);
    // Those of `asked` that are not due are no longer pending.
    for (const id of asked) if (!state.due.some(({ deliveryId }) => deliveryId === id)) first.delete(id);
    const nextAt = started.length < state.due.length ? Date.now() : state.nextAt;
    const mayStart =
      health.state === 'active' && (running.size === 0 || freeAttempts(health, running.size, Date.now()) > 0);
    if (mayStart && nextAt !== null) {
      const at = Math.max(nextAt, health.notBefore ?? 0);
      await condition(hasWork, Math.max(1, at - Date.now()));
    } else if (running.size > 0) await condition(hasWork);
    else if (!(await condition(hasWork, IDLE_MS)) && allHandlersFinished()) return;
  }
}
