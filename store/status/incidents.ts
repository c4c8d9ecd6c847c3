import { randomUUID } from 'node:crypto';
import {
  COMPONENTS,
  type Component,
  type ComponentState,
  type ComponentStates,
} from '../../schemas/status.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import type { IncidentDoc } from './statusDocs.ts';

/** Number of failed checks from which an outage is an incident. A single failure can be a restart. */
const MIN_FAILURES = 2;
/** Maximum number of updates of an incident; older ones are dropped. */
const MAX_UPDATES = 20;
/** Number of incidents that are shown. */
const SHOWN = 30;

/** Timeout of the list in milliseconds. The status page is sent without it when MongoDB is away. */
const READ_TIMEOUT_MS = 2000;

/** The incidents of the status page. */
export interface Incidents {
  /**
   * Opens, continues and closes incidents after the checks of one minute. Only the process that recorded the minute calls
   * this. An incident ends after two successful checks in a row, at the time of the first. Unknown states change nothing.
   */
  advance(at: Date, states: ComponentStates): Promise<void>;
  /** The newest incidents. */
  list(): Promise<IncidentDoc[]>;
  find(id: string): Promise<IncidentDoc | null>;
  /**
   * Adds an operator's text to an incident.
   *
   * @param update its reference identifies the text, so that a form that is sent twice adds it once
   * @returns false if there is no such incident
   */
  update(id: string, update: { reference: string; text: string }): Promise<boolean>;
}

export function createIncidents({ incidents }: Pick<Store, 'incidents'>): Incidents {
  const find = (id: string) => incidents.findOne({ _id: id });

  async function fail(component: Component, at: Date): Promise<void> {
    try {
      await incidents.updateOne(
        { component, open: true },
        {
          $inc: { failures: 1 },
          $unset: { okSince: '' },
          $setOnInsert: { _id: `inc_${randomUUID()}`, startedAt: at, endedAt: null, updates: [] },
        },
        { upsert: true },
      );
    } catch (error) {
      // The unique index permits one open incident per component; another process has just opened it.
      if (!isDuplicate(error)) throw error;
    }
  }

  return {
    async advance(at, states) {
      const inState = (state: ComponentState) =>
        COMPONENTS.filter((component) => states[component] === state);
      for (const component of inState('failed')) await fail(component, at);
      const recovering = { component: { $in: inState('ok') }, open: true } as const;
      await incidents.deleteMany({ ...recovering, failures: { $lt: MIN_FAILURES } });
      await incidents.updateMany({ ...recovering, okSince: { $exists: true } }, [
        { $set: { endedAt: '$okSince' } },
        { $unset: ['open', 'okSince'] },
      ]);
      await incidents.updateMany({ ...recovering, okSince: { $exists: false } }, { $set: { okSince: at } });
    },

    list: () =>
      incidents
        .find(
          { failures: { $gte: MIN_FAILURES } },
          { sort: { startedAt: -1 }, limit: SHOWN, timeoutMS: READ_TIMEOUT_MS },
        )
        .toArray(),

    find,

    async update(id, { reference, text }) {
      const update = { reference, at: new Date(), text };
      const { matchedCount } = await incidents.updateOne(
        { _id: id, 'updates.reference': { $ne: reference } },
        { $push: { updates: { $each: [update], $slice: -MAX_UPDATES } } },
      );
      return matchedCount > 0 || (await find(id)) !== null;
    },
  };
}
