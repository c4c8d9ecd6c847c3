import type { Random } from '../helpers/random.ts';
import type { Intercept } from './intercept.ts';

/**
 * Percentage of database operations at which the process crashes, half of the time before the operation and half after
 * it.
 */
const CRASHES = 3;
const ENOUGH_ATTEMPTS = 50;

class Crash extends Error {}

/** Creates an intercept for `interceptStore` that lets random operations fail, as if the process had crashed. */
export const crashing =
  (random: Random): Intercept =>
  async (_name, run) => {
    const fate = random.integer(1, 200);
    if (fate <= CRASHES) throw new Crash();
    const result = await run();
    if (fate > 200 - CRASHES) throw new Crash();
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
