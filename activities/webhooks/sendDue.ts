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
/** Maximum number of deliveries that a look takes, of which at most `atOnce` are attempted at the same time. */
const MOST_TAKEN = 50;
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

/** A delivery to attempt, and its event. */
interface Due {
  delivery: DeliveryDoc;
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

  async function attempt(endpoint: WebhookEndpointDoc, { delivery, event }: Due): Promise<AttemptResult> {
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

    async function send(endpoint: WebhookEndpointDoc, due: Due): Promise<void> {
      const { delivery } = due;
      await attempt(endpoint, due)
        .then((result) => conclude(delivery, result))
        .catch((error: unknown) => void errors.push(error));
      running.delete(delivery._id);
    }

    /** Finds what is due, at most `take` deliveries. */
    async function takeDue(requested: string[], take: number): Promise<Due[]> {
      const { due } = await findDue(store, {
        endpointId,
        now: Date.now(),
        running: [...except, ...running.keys()],
        first: requested,
        take,
      });
      if (due.length === 0) return [];
      // Attempts that a worker recorded which was killed before it could write their outcome. They are not repeated, and count
      // whatever state the endpoint has now.
      const recorded = await attempts.findAll(due.map(idOf));
      for (const delivery of due) {
        const known = recorded.get(idOf(delivery));
        if (known !== undefined) await conclude(delivery, resultOf(known));
      }
      const others = due.filter((delivery) => !recorded.has(idOf(delivery)));
      if (!mayTake() || others.length === 0) return [];
      const rows = await store.events.find({ _id: { $in: others.map(({ eventId }) => eventId) } }).toArray();
      const events = new Map(rows.map((event) => [event._id, event]));
      return others.map((delivery) => ({ delivery, event: events.get(delivery.eventId) }));
    }

    /** Claims deliveries beside those that are being attempted, and attempts them, unless the endpoint refuses further ones. */
    async function claim(group: readonly Due[]): Promise<void> {
      const claimed = [...running.keys(), ...group.map(({ delivery }) => delivery._id)];
      // Reads the endpoint after the deliveries, so that none gets an older URL or secret than there was when it became due.
      const endpoint = await claimDeliveries(store, sender, claimed);
      isRefused = endpoint === null;
      if (endpoint === null) return;
      for (const due of group) running.set(due.delivery._id, send(endpoint, due));
    }

    /** Attempts deliveries as places become free, until the time of the next look. @returns how many attempts were started */
    async function sendTaken(taken: readonly Due[]): Promise<number> {
      if (taken.length === 0) return 0;
      let isOver = false;
      const over = sleep(SHORTEST_LOOK_MS).then(() => {
        isOver = true;
      });
      let started = 0;
      while (started < taken.length && !isOver && mayTake()) {
        const group = taken.slice(started, started + atOnce - running.size);
        if (group.length > 0) await claim(group);
        else await Promise.race([over, ...running.values()]);
        started += group.length;
      }
      return started;
    }

    await beginSending(store, sender, new Date(Date.now() + GONE_MS));
    const takingEnd = Date.now() + TAKING_MS;
    let requested = first;
    let idleSince = Date.now();
    let lookMs = SHORTEST_LOOK_MS;
    let take = atOnce;
    while (mayTake() && Date.now() < takingEnd) {
      const lookedAt = Date.now();
      const started = await takeDue(requested, take)
        .then(sendTaken)
        .catch((error) => {
          errors.push(error);
          return 0;
        });
      requested = [];
      if (running.size > 0) idleSince = Date.now();
      else if (Date.now() - idleSince >= IDLE_MS) break;
      const mayBeMore = started === take;
      // Of a receiver that takes long, no more is read than it can take until the next look.
      take = Math.min(MOST_TAKEN, Math.max(atOnce, 2 * started));
      lookMs = started > 0 ? SHORTEST_LOOK_MS : Math.min(2 * lookMs, LONGEST_LOOK_MS);
      // Without a free place, the next look follows the end of an attempt.
      if (running.size >= atOnce) await Promise.race(running.values());
      else if (!mayBeMore) await sleep(Math.max(0, lookedAt + lookMs - Date.now()));
    }
    await Promise.all(running.values());
    if (errors.length > 0) throw errors[0];
    await endSending(store, sender);
    return ended;
  };
}
