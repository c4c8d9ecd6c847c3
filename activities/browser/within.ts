import { setTimeout as sleep } from 'node:timers/promises';

/** What a piece of work gives, or undefined when it fails or takes longer: for steps that a picture can do without. */
export async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const timer = new AbortController();
  const late = sleep(Math.max(0, ms), undefined, { signal: timer.signal }).catch(() => undefined);
  try {
    return await Promise.race([work.catch(() => undefined), late]);
  } finally {
    timer.abort();
  }
}
