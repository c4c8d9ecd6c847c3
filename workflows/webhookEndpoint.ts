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
import type { DueDelivery, Outcome } from '../store/deliveries.ts';
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

const books = proxyLocalActivities<EndpointActivities>({
  // Resending may have many rows to write.
  startToCloseTimeout: '2m',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});
/** 10 s for the receiver, and something for the books. */
const ATTEMPT = {
  taskQueue: TASK_QUEUES.delivery,
  startToCloseTimeout: '30s',
  heartbeatTimeout: '8s',
} as const;
/** A worker that dies, or cannot reach MongoDB, is no fault of the receiver: its attempt is made again. */
const ATTEMPT_RETRY = { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '10s' } as const;
/** The caller of a test waits for its one attempt. */
const TEST_ATTEMPT = { ...ATTEMPT, scheduleToStartTimeout: '10s', retry: { maximumAttempts: 1 } } as const;

/** With nothing to do for so long the workflow ends; the next event starts it again from what the books say. */
const IDLE_MS = 60_000;
/** Events of history after which it begins a new run. */
const LONG_HISTORY = 1000;

const refusal = (code: string, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: code, message, nonRetryable: true, category: 'BENIGN' });

/**
 * Owns an endpoint: its attempts, its failures in a row and its state. Deliveries and what it decided lie in MongoDB, and
 * it goes there in turns: each writes what came out since the last one and answers what is due.
 */
export async function webhookEndpoint(endpointId: string): Promise<void> {
  let health: Health = HEALTHY;
  let scheduleMs: number[] = [];
  let turns = 0;
  /** Health is what the books say, or newer. */
  let known = false;
  let written: Health = HEALTHY;
  let gone = false;
  let woken = false;
  /** Changes that were asked for, and how many of them the books know. */
  let changes = 0;
  let kept = 0;
  const outcomes: Outcome[] = [];
  const running = new Set<string>();
  /** The delivery queue shares its worker slots among accounts. */
  let fairnessKey = endpointId;

  /** Resolves when everything up to now is in the books. */
  async function settled(): Promise<void> {
    const upTo = changes;
    await condition(() => gone || (known && kept >= upTo));
  }
  async function keep(): Promise<void> {
    changes++;
    await settled();
  }
  function assertThere(): void {
    if (gone) throw refusal('not_found', 'There is no such endpoint.');
  }
  function assertActive(): void {
    assertThere();
    if (health.state === 'disabled') throw refusal('endpoint_disabled', 'The webhook endpoint is disabled.');
  }

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

  /** Counts an attempt that began in `epoch`. */
  function count(result: DeliveryResult, epoch: number): void {
    if (result.kind !== 'posted') return;
    const before = health.state;
    health = nextHealth(health, { ok: result.ok, epoch }, Date.now(), scheduleMs[0] ?? 0);
    if (health.state !== before) log.warn('webhook endpoint disabled', { endpointId });
  }

  async function attempt(due: DueDelivery): Promise<void> {
    const { deliveryId, attempts, tries } = due;
    running.add(deliveryId);
    const { epoch } = health;
    const { deliver } = proxyActivities<DeliveryActivities>({
      ...ATTEMPT,
      retry: ATTEMPT_RETRY,
      priority: { fairnessKey },
    });
    const result = await deliver({ endpointId, deliveryId, attempt: attempts + 1 });
    count(result, epoch);
    if (result.kind === 'unsent') {
      // The next turn holds it, or finds it due again if the endpoint was enabled since.
      running.delete(deliveryId);
      woken = true;
      return;
    }
    const { ok, retryAfterMs } = result;
    conclude(
      due,
      nextDeliveryStatus({ ok, tries: tries + 1, retryAfterMs }, scheduleMs, Math.random(), Date.now()),
    );
  }

  async function sendTest(testId: string, beginUntil?: number): Promise<string> {
    await settled();
    assertActive();
    if (beginUntil !== undefined && Date.now() > beginUntil)
      throw refusal('pool_busy', 'The test could not begin in time; nothing was posted.');
    const deliveryId = await books.prepareTest(endpointId, testId);
    if (deliveryId === null) throw refusal('not_found', 'There is no such endpoint.');
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
      await keep();
      throw refusal('pool_busy', 'No worker was free in time; nothing is known of the attempt.');
    }
    count(result, epoch);
    const ok = result.kind === 'posted' && result.ok;
    conclude(test, { state: ok ? 'delivered' : 'failed', nextAt: null });
    await keep();
    assertThere();
    if (result.kind === 'unsent') throw refusal('endpoint_disabled', 'The webhook endpoint is disabled.');
    return result.attemptId;
  }

  setHandler(wake, () => {
    woken = true;
  });
  setHandler(disable, async () => {
    await settled();
    health = disabled(health, Date.now());
    changes++;
  });
  setHandler(enable, async () => {
    await settled();
    assertThere();
    health = enabled(health);
    await keep();
    assertThere();
  });
  setHandler(resend, async (wanted) => {
    await settled();
    assertActive();
    const queued = await books.resend(endpointId, wanted);
    woken = true;
    return queued;
  });
  setHandler(test, sendTest);

  for (;;) {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    const leaving = continueAsNewSuggested || historyLength > LONG_HISTORY;
    const upTo = changes;
    const news = known && health !== written ? { ...health } : null;
    written = health;
    woken = false;
    const answer = await books.syncEndpoint({
      endpointId,
      now: Date.now(),
      turn: news === null ? turns : ++turns,
      health: news,
      outcomes: outcomes.splice(0),
      running: [...running],
      take: MAX_CONCURRENT_ATTEMPTS,
    });
    if (answer === null) {
      gone = true;
      await condition(() => running.size === 0 && allHandlersFinished());
      return;
    }
    if (!known) {
      health = answer.health;
      written = health;
      turns = answer.turn;
      known = true;
    }
    kept = upTo;
    ({ scheduleMs, accountId: fairnessKey = endpointId } = answer);

    const isUnwritten = () => outcomes.length > 0 || changes > kept;
    const isStirred = () => woken || isUnwritten();
    if (leaving) {
      // Whoever wakes this run wakes the next one too, which begins with a turn.
      await condition(() => isUnwritten() || (running.size === 0 && allHandlersFinished()));
      if (!isUnwritten()) return continueAsNew<typeof webhookEndpoint>(endpointId);
      continue;
    }

    const begun = answer.due.slice(0, freeAttempts(health, running.size, Date.now()));
    for (const due of begun) void attempt(due);
    const nextAt = begun.length < answer.due.length ? Date.now() : answer.nextAt;
    const mayBegin =
      health.state === 'active' && (running.size === 0 || freeAttempts(health, running.size, Date.now()) > 0);
    if (mayBegin && nextAt !== null) {
      const at = Math.max(nextAt, health.notBefore ?? 0);
      await condition(isStirred, Math.max(1, at - Date.now()));
    } else if (running.size > 0) await condition(isStirred);
    else if (!(await condition(isStirred, IDLE_MS)) && allHandlersFinished()) return;
  }
}
