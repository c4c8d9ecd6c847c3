import { MongoBulkWriteError, MongoServerError } from 'mongodb';
import type { Random } from '../helpers/random.ts';
import type { Intercept } from './intercept.ts';

/**
 * Percentage of database operations at which the process crashes, half of the time before the operation and half after
 * it.
 */
const CRASHES = 3;
const ENOUGH_ATTEMPTS = 50;

class Crash extends Error {}

/** The error of the driver if the connection of a bulk write is lost: that of a write that failed in part, without failures. */
const lostBulkWrite = (): Error =>
  Object.assign(
    Object.setPrototypeOf(new MongoServerError({ message: 'lost' }), MongoBulkWriteError.prototype),
    { writeErrors: [], result: { getWriteConcernError: () => undefined } },
  );

/** Creates an intercept for `interceptStore` that lets random operations fail, as if the process or its connection had been lost. */
export const crashing =
  (random: Random): Intercept =>
  async (name, run) => {
    const lost = () => (name.endsWith('.bulkWrite') ? lostBulkWrite() : new Crash());
    const fate = random.integer(1, 200);
    if (fate <= CRASHES) throw lost();
    const result = await run();
    if (fate > 200 - CRASHES) throw lost();
    return result;
  };

/** Repeats a step until it succeeds, like Temporal's retry policy. @throws the error of the last of 50 attempts */
export async function retryUntilDone<T>(step: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (attempt === ENOUGH_ATTEMPTS) throw error;
    }
  }
}
