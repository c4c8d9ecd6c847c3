import { untilAborted } from '../../platform/untilAborted.ts';

/** A counting semaphore whose waiters can be aborted. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /**
   * Takes a slot. Waits for a free one in order of arrival.
   *
   * @throws the signal's abort reason; no slot is taken then
   */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    try {
      await untilAborted(promise, signal);
    } catch (error) {
      const at = this.#waiting.indexOf(resolve);
      // The slot was granted at the same moment as the signal aborted, so give it back.
      if (at < 0) this.give();
      else this.#waiting.splice(at, 1);
      throw error;
    }
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
