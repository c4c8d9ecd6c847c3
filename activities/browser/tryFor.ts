import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Resolves with the result of `work`, or with undefined when `work` fails or takes longer than `ms`. For steps of a
 * render that may fail.
 */
export async function tryFor<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const timer = new AbortController();
  const late = sleep(Math.max(0, ms), undefined, { signal: timer.signal }).catch(() => undefined);
  try {
    return await Promise.race([work.catch(() => undefined), late]);
  } finally {
    timer.abort();
  }
}
