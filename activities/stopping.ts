/** What a job on a thread can ask. */
export interface Stop {
  /** Whether nobody waits for its output any more. */
  readonly asked: boolean;
}

/** @param flag of a `Stopping`, as it came to the thread */
export const stopOf = (flag: Int32Array): Stop => ({
  get asked() {
    return Atomics.load(flag, 0) !== 0;
  },
});

/** Asks a job to stop when a signal aborts, and insists on it a while later. */
export class Stopping implements Disposable {
  /** In shared memory, because a thread at work hears no message. */
  readonly flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #kill = new AbortController();
  readonly #signal: AbortSignal;
  readonly #graceMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(signal: AbortSignal, graceMs: number) {
    this.#signal = signal;
    this.#graceMs = graceMs;
    signal.addEventListener('abort', this.ask, { once: true });
    if (signal.aborted) this.ask();
  }

  /** Aborts when the thread is to be ended. */
  get kill(): AbortSignal {
    return this.#kill.signal;
  }

  readonly ask = (): void => {
    Atomics.store(this.flag, 0, 1);
    if (this.#graceMs === 0) this.#kill.abort(this.#signal.reason);
    else this.#timer ??= setTimeout(() => this.#kill.abort(this.#signal.reason), this.#graceMs);
  };

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.ask);
    clearTimeout(this.#timer);
  }
}
