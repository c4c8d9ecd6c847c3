import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { EventKind } from '../schemas/events.ts';
import type { Resend } from '../store/webhooks/deliveries.ts';
import type {
  DueDelivery,
  EndpointHealth,
  Outcome,
  SyncRequest,
  SyncResult,
} from '../store/webhooks/endpointState.ts';
import { disable, enable, resend, TASK_QUEUES, test, wake } from './contract.ts';
import {
  type DeliveryStatus,
  disabled,
  enabled,
  freeAttempts,
  HEALTHY,
  MAX_CONCURRENT_ATTEMPTS,
  nextDeliveryStatus,
  nextHealth,
} from './webhookEndpointState.ts';

/** The steps in MongoDB, which the orchestrator runs as local activities. */
export interface EndpointActivities {
  /**
   * Writes and reads the state of an endpoint, see store/webhooks/endpointState.ts. `scheduleMs` are the waits between attempts.
   * Returns null if the endpoint was deleted.
   */
  syncEndpoint(request: SyncRequest): Promise<(SyncResult & { scheduleMs: number[] }) | null>;
  /** Queues deliveries again that are not `running`. Returns the number of queued deliveries. */
  resend(endpointId: string, selection: Resend, running?: string[]): Promise<number>;
  /**
   * Creates a test event of this kind (default: `webhook.test`) and its delivery. Returns the id of the delivery, or null
   * if the endpoint was deleted.
   */
  prepareTest(endpointId: string, testId: string, kind?: EventKind): Promise<string | null>;
}

/** One attempt of a delivery, run by a worker of the `delivery` queue. */
export interface DeliveryTask {
  endpointId: string;
  deliveryId: string;
  attempt: number;
}

/** Result of an attempt. `unsent`: nothing was posted, because the endpoint is disabled or deleted. */
export type DeliveryResult =
  | { kind: 'posted'; ok: boolean; attemptId: string; retryAfterMs: number | null }
  | { kind: 'unsent' };

/** The attempts that a sender may make at the same time, for an endpoint that does not fail. */
export interface SendTask {
  endpointId: string;
  /** Results of attempts count only in this epoch of the endpoint. */
  epoch: number;
  /** Maximum number of concurrent attempts. */
  atOnce: number;
  /** Ids of the deliveries that are attempted before all others, whatever their time is. */
  first: string[];
  /** Ids of the deliveries that others attempt. */
  except: string[];
}

/** An attempt of a sender, and its delivery before it. */
export interface AttemptedDelivery extends DueDelivery {
  ok: boolean;
  retryAfterMs: number | null;
}

export interface DeliveryActivities {
  /** Makes one attempt: of a test, to an endpoint that fails, or at the owner's request. */
  deliver(task: DeliveryTask): Promise<DeliveryResult>;
  /**
   * Attempts what is due and what becomes due meanwhile, and writes which deliveries have succeeded. Ends when nothing has been due for
   * a while, after a failure, or if the endpoint changed its state. Returns the attempts that failed, and those that succeeded later.
   */
  sendDue(task: SendTask): Promise<AttemptedDelivery[]>;
}

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
/** Options of a sender. Its timeout allows for the time in which it takes deliveries and for its last attempts. */
const SENDER = { ...ATTEMPT, startToCloseTimeout: '60s' } as const;
/** Options of a test. It has one attempt, because its caller waits for the result. */
const TEST_ATTEMPT = { ...ATTEMPT, scheduleToStartTimeout: '10s', retry: { maximumAttempts: 1 } } as const;

/**
 * The workflow ends after this many milliseconds without work. The next event starts it again with the state from
 * MongoDB.
 */
const IDLE_MS = 60_000;
/** Name of the change by which senders make the attempts of healthy endpoints. Recorded histories contain it. */
const SENDS_DUE = 'sendDue';
/** Number of history events from which the workflow continues as new. */
const MAX_HISTORY_EVENTS = 1000;

const refusal = (code: string, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: code, message, nonRetryable: true, category: 'BENIGN' });

/** What a round found: the due deliveries, and when the next one is due. */
interface Round extends Pick<SyncResult, 'due' | 'nextAt'> {
  /** Ids of the deliveries that the owner had asked for when the round began. */
  asked: string[];
  /** Whether a sender ran when the round began: it may have attempted since what was due. */
  hadSender: boolean;
}

/**
 * The workflow of an endpoint, which alone controls its attempts, failure count and state. MongoDB stores deliveries
 * and state. In each round the workflow writes what happened since the previous one and reads what is due (1), has that
 * attempted (2), counts the failures (3), and waits for the next result, request or time, or stops (4).
 *
 * @param requested ids of deliveries that the previous run was asked to attempt at once
 */
export async function webhookEndpoint(endpointId: string, requested: string[] = []): Promise<void> {
  let health: EndpointHealth = HEALTHY;
  let scheduleMs: number[] = [];
  /** Number of the newest write of `health` to MongoDB. */
  let turn = 0;
  /** Whether `health` has been read from MongoDB. */
  let isLoaded = false;
  let writtenHealth: EndpointHealth = HEALTHY;
  let isDeleted = false;
  let isWoken = false;
  /** Number of requested changes of the endpoint's state, and how many of them have been written. */
  let changes = 0;
  let writtenChanges = 0;
  const outcomes: Outcome[] = [];
  /** Ids of the deliveries that are being attempted, other than by the sender. */
  const running = new Set<string>();
  /** Whether a sender attempts what is due, and what becomes due meanwhile. */
  let isSending = false;
  /** Ids of the deliveries that the owner asked to be attempted at once, without the pause after a failure. */
  const first = new Set(requested);
  /**
   * Fairness key of attempts: the account's id once it is known, so that the delivery queue shares its worker slots
   * among accounts.
   */
  let fairnessKey = endpointId;

  setHandler(wake, () => {
    isWoken = true;
  });
  setHandler(disable, disableEndpoint);
  setHandler(enable, enableEndpoint);
  setHandler(resend, resendDeliveries);
  setHandler(test, sendTest);

  for (;;) {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    const isEndingRun = continueAsNewSuggested || historyLength > MAX_HISTORY_EVENTS;
    const round = await sync();
    if (round === null) {
      isDeleted = true;
      await condition(isIdle);
      return;
    }
    if (isEndingRun) {
      // Signals to this run need not be passed on: the next run starts with `sync`.
      await condition(() => isUnwritten() || isIdle());
      if (!isUnwritten()) return continueAsNew<typeof webhookEndpoint>(endpointId, [...first]);
      continue;
    }
    const nextAt = startAttempts(round);
    if (!(await untilWork(nextAt))) return;
  }

  // 1. What is due.

  /** Writes the outcomes and the health since the previous round. @returns what is due; null if the endpoint was deleted */
  async function sync(): Promise<Round | null> {
    const upTo = changes;
    const changedHealth = isLoaded && health !== writtenHealth ? { ...health } : null;
    writtenHealth = health;
    isWoken = false;
    const asked = [...first].slice(0, MAX_CONCURRENT_ATTEMPTS);
    const hadSender = isSending;
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
    if (state === null) return null;
    if (!isLoaded) {
      health = state.health;
      writtenHealth = health;
      turn = state.turn;
      isLoaded = true;
    }
    writtenChanges = upTo;
    ({ scheduleMs, accountId: fairnessKey = endpointId } = state);
    return { ...state, asked, hadSender };
  }

  // 2. Who attempts it.

  /**
   * Starts as many attempts as may run: a sender for an endpoint that does not fail, else the next one.
   *
   * @returns when another delivery is due; null if none waits
   */
  function startAttempts({ due, nextAt, asked, hadSender }: Round): number | null {
    // Those of `asked` that are not due are no longer pending.
    for (const id of asked) if (!due.some(({ deliveryId }) => deliveryId === id)) first.delete(id);
    // The end of the sender begins another round.
    if (isSending || hadSender) return null;
    const [next] = due;
    const skipsPause = next !== undefined && asked.includes(next.deliveryId);
    const current = skipsPause ? { ...health, notBefore: null } : health;
    const free = freeAttempts(current, running.size, Date.now());
    if (due.length > 0 && free > 0 && health.failures === 0 && patched(SENDS_DUE)) {
      void sendDue(free, asked);
      return null;
    }
    const started = due.slice(0, free);
    for (const delivery of started) void attempt(delivery);
    return started.length < due.length ? Date.now() : nextAt;
  }

  /** @param asked ids of the deliveries to attempt first */
  async function sendDue(atOnce: number, asked: string[]): Promise<void> {
    isSending = true;
    for (const id of asked) first.delete(id);
    const { epoch } = health;
    const sender = proxyActivities<DeliveryActivities>({
      ...SENDER,
      retry: ATTEMPT_RETRY,
      priority: { fairnessKey },
    });
    const ended = await sender.sendDue({ endpointId, epoch, atOnce, first: asked, except: [...running] });
    for (const { ok, retryAfterMs, ...due } of ended) {
      countAttempt(ok, epoch);
      if (!ok) retryLater(due, retryAfterMs);
    }
    isSending = false;
    // The next round finds what became due after the sender's last look.
    isWoken = true;
  }

  async function attempt(due: DueDelivery): Promise<void> {
    const { deliveryId, attempts } = due;
    running.add(deliveryId);
    first.delete(deliveryId);
    const { epoch } = health;
    const { deliver } = proxyActivities<DeliveryActivities>({
      ...ATTEMPT,
      retry: ATTEMPT_RETRY,
      priority: { fairnessKey },
    });
    const result = await deliver({ endpointId, deliveryId, attempt: attempts + 1 });
    if (result.kind === 'unsent') {
      // The next round marks the delivery as held, or finds it due if the endpoint has been enabled since.
      running.delete(deliveryId);
      isWoken = true;
      return;
    }
    countAttempt(result.ok, epoch);
    if (result.ok) conclude(due, { state: 'delivered', nextAt: null });
    else retryLater(due, result.retryAfterMs);
  }

  /** Adds the outcome of a failed attempt. */
  function retryLater(due: DueDelivery, retryAfterMs: number | null): void {
    first.delete(due.deliveryId);
    const failed = { ok: false, tries: due.tries + 1, retryAfterMs };
    conclude(due, nextDeliveryStatus(failed, scheduleMs, Math.random(), Date.now()));
  }

  /** Adds the outcome of an attempt to those that the next round writes. */
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

  // 3. What the count does.

  /** Counts the result of an attempt that started in `epoch`: failures pause the endpoint, and at last disable it. */
  function countAttempt(ok: boolean, epoch: number): void {
    const before = health.state;
    health = nextHealth(health, { ok, epoch }, Date.now(), scheduleMs[0] ?? 0);
    if (health.state !== before)
      log.warn('webhook endpoint disabled', { accountId: fairnessKey, endpointId });
  }

  // 4. When it stops.

  /**
   * Waits for a result, a request, or the time of the next delivery.
   *
   * @returns false if there was nothing to do for a minute: the workflow stops, and the next event starts it again
   */
  async function untilWork(nextAt: number | null): Promise<boolean> {
    const hasWork = () => isWoken || isUnwritten();
    const mayStart =
      health.state === 'active' && (running.size === 0 || freeAttempts(health, running.size, Date.now()) > 0);
    if (mayStart && nextAt !== null) {
      const at = Math.max(nextAt, health.notBefore ?? 0);
      await condition(hasWork, Math.max(1, at - Date.now()));
      return true;
    }
    if (running.size > 0 || isSending) {
      await condition(hasWork);
      return true;
    }
    return (await condition(hasWork, IDLE_MS)) || !allHandlersFinished();
  }

  function isUnwritten(): boolean {
    return outcomes.length > 0 || changes > writtenChanges;
  }

  function isIdle(): boolean {
    return running.size === 0 && !isSending && allHandlersFinished();
  }

  // What the owner requests.

  async function disableEndpoint(): Promise<void> {
    await untilWritten();
    health = disabled(health, Date.now());
    changes++;
  }

  async function enableEndpoint(): Promise<void> {
    await untilWritten();
    assertExists();
    health = enabled(health);
    await writeChange();
    assertExists();
  }

  async function resendDeliveries(selection: Resend): Promise<number> {
    await untilWritten();
    assertActive();
    const queued = await activities.resend(endpointId, selection, [...running]);
    const [only, ...others] = 'deliveryIds' in selection ? selection.deliveryIds : [];
    if (only !== undefined && others.length === 0 && queued > 0 && !running.has(only)) first.add(only);
    isWoken = true;
    return queued;
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
    if (result.kind === 'posted') countAttempt(result.ok, epoch);
    const ok = result.kind === 'posted' && result.ok;
    conclude(test, { state: ok ? 'delivered' : 'failed', nextAt: null });
    await writeChange();
    assertExists();
    if (result.kind === 'unsent') throw refusal('endpoint_disabled', 'The webhook endpoint is disabled.');
    return result.attemptId;
  }

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
}
