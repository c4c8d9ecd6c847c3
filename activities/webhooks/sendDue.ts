import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { inBatches } from '../../store/mongo/inBatches.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { attemptId, type DeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { findDue, type Outcome, writeOutcomes } from '../../store/webhooks/endpointState.ts';
import { beginSending, claimDeliveries, endSending, type Sender } from '../../store/webhooks/sending.ts';
import type { DeliveryDoc, EventDoc, WebhookEndpointDoc } from '../../store/webhooks/webhookDocs.ts';
import type { AttemptedDelivery, SendTask } from '../../workflows/webhookEndpoint.ts';
import { type AttemptDelivery, type AttemptResult, resultOf } from './attemptDelivery.ts';

/** Milliseconds in which an activity takes deliveries. Each costs Temporal several requests, however much it delivers. */
const TAKING_MS = 20_000;
/** The activity ends when nothing has been due for this long, in milliseconds. */
const IDLE_MS = 2000;
/** Milliseconds between two looks for due deliveries: the first while there are some; without any, twice as long each time. */
const [SHORTEST_LOOK_MS, LONGEST_LOOK_MS] = [200, 400];
/** Milliseconds after which a sender has certainly ended: more than the timeout of its activity. */
const GONE_MS = 90_000;
/** Maximum number of outcomes in one command. */
const OUTCOMES = 200;

interface SendServices {
  store: Store;
  attempts: Pick<DeliveryAttempts, 'findAll'>;
  attemptDelivery: AttemptDelivery;
  /** Aborts when this process must stop. */
  stopping: AbortSignal;
}

/** A delivery to attempt, and what its attempt needs. */
interface Claimed {
  delivery: DeliveryDoc;
  endpoint: WebhookEndpointDoc;
  event: EventDoc | undefined;
}

const numberOf = ({ attempts }: DeliveryDoc): number => attempts + 1;
const idOf = (delivery: DeliveryDoc): string => attemptId(delivery._id, numberOf(delivery));

/**
 * Creates the activity that delivers to an endpoint that does not fail. Besides what is due it attempts what becomes due meanwhile, so
 * that Temporal is not asked for each delivery. It ends after the first failure, which the workflow counts.
 *
 * An attempt is recorded, and its delivery marked as delivered, before another one takes its place. If the worker is killed, at most
 * the attempts that were running are repeated.
 */
export function createSendDue({ store, attempts, attemptDelivery, stopping }: SendServices) {
  const writeOutcome = inBatches<Outcome>((outcomes) => writeOutcomes(store, outcomes), OUTCOMES);

  /** Claims deliveries for the sender, in addition to those that it attempts. @returns null if it must not attempt them */
  async function claim(
    sender: Sender,
    due: readonly DeliveryDoc[],
    running: Iterable<string>,
  ): Promise<Claimed[] | null> {
    // Reads the endpoint after the deliveries, so that no delivery gets an older URL or secret than there was when it became due.
    const endpoint = await claimDeliveries(store, sender, [...running, ...due.map(({ _id }) => _id)]);
    if (endpoint === null) return null;
    const rows = await store.events.find({ _id: { $in: due.map(({ eventId }) => eventId) } }).toArray();
    const events = new Map(rows.map((event) => [event._id, event]));
    return due.map((delivery) => ({ delivery, endpoint, event: events.get(delivery.eventId) }));
  }

  async function attempt({ delivery, endpoint, event }: Claimed): Promise<AttemptResult> {
    if (event === undefined) throw new Error(`event ${delivery.eventId} does not exist`);
    return attemptDelivery(endpoint, delivery, event, numberOf(delivery));
  }

  const markDelivered = (delivery: DeliveryDoc): Promise<void> =>
    writeOutcome({
      deliveryId: delivery._id,
      attempt: numberOf(delivery),
      tries: delivery.tries + 1,
      state: 'delivered',
      nextAt: null,
    });

  return async ({ endpointId, epoch, atOnce, first, except }: SendTask): Promise<AttemptedDelivery[]> => {
    const cancelled = cancellationSignal();
    const sender: Sender = { id: randomUUID(), endpointId, epoch };
    /** The attempts that are running, by delivery. */
    const running = new Map<string, Promise<void>>();
    /** The attempts that failed, and those that succeeded after one had failed or the endpoint had refused further ones. */
    const ended: AttemptedDelivery[] = [];
    const errors: unknown[] = [];
    let isRefused = false;

    const mayTake = () =>
      !isRefused && ended.length + errors.length === 0 && !stopping.aborted && !cancelled.aborted;

    async function conclude(delivery: DeliveryDoc, result: AttemptResult): Promise<void> {
      const { _id: deliveryId, attempts: before, tries } = delivery;
      if (!result.ok || !mayTake()) ended.push({ deliveryId, attempts: before, tries, ...result });
      if (result.ok) await markDelivered(delivery);
    }

    async function send(claimed: Claimed): Promise<void> {
      const { delivery } = claimed;
      await attempt(claimed)
        .then((result) => conclude(delivery, result))
        .catch((error: unknown) => void errors.push(error));
      running.delete(delivery._id);
    }

    /** Starts attempts of due deliveries. @returns how many were due */
    async function takeDue(requested: string[]): Promise<number> {
      const { due } = await findDue(store, {
        endpointId,
        now: Date.now(),
        running: [...except, ...running.keys()],
        first: requested,
        take: atOnce - running.size,
      });
      if (due.length === 0) return 0;
      // Attempts that a worker recorded which was killed before it could write their outcome. They are not repeated, and count
      // whatever state the endpoint has now.
      const recorded = await attempts.findAll(due.map(idOf));
      for (const delivery of due) {
        const known = recorded.get(idOf(delivery));
        if (known !== undefined) await conclude(delivery, resultOf(known));
      }
      if (!mayTake()) return 0;
      const others = due.filter((delivery) => !recorded.has(idOf(delivery)));
      const claimed = others.length === 0 ? [] : await claim(sender, others, running.keys());
      isRefused = claimed === null;
      for (const each of claimed ?? []) running.set(each.delivery._id, send(each));
      return due.length;
    }

    await beginSending(store, sender, new Date(Date.now() + GONE_MS));
    const takingEnd = Date.now() + TAKING_MS;
    let requested = first;
    let idleSince = Date.now();
    let lookMs = SHORTEST_LOOK_MS;
    while (mayTake() && Date.now() < takingEnd) {
      const taken = await takeDue(requested).catch((error) => {
        errors.push(error);
        return 0;
      });
      requested = [];
      if (running.size > 0) idleSince = Date.now();
      else if (Date.now() - idleSince >= IDLE_MS) break;
      lookMs = taken > 0 ? SHORTEST_LOOK_MS : Math.min(2 * lookMs, LONGEST_LOOK_MS);
      // Without a free place, the next look follows the end of an attempt.
      await (running.size < atOnce ? sleep(lookMs) : Promise.race(running.values()));
    }
    await Promise.all(running.values());
    if (errors.length > 0) throw errors[0];
    await endSending(store, sender);
    return ended;
  };
}
