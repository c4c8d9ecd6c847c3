import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/** A timer of a virtual clock. */
interface Timer {
  at: number;
  /** Orders timers that are due at the same time. */
  order: number;
  owner: string;
  everyMs: number | null;
  fire(): void;
}

interface Context {
  clock: VirtualClock;
  owner: string;
  /** Time that the code sees instead of the clock's, such as that of a workflow task. */
  frozenAt?: number;
}

const contexts = new AsyncLocalStorage<Context>();

/**
 * A clock that stands still until its owner fires the next timer. In functions that run on it, the timers, the dates and
 * the timeouts of Node.js are those of this clock; everywhere else they stay real.
 */
export class VirtualClock {
  #now: number;
  #order = 0;
  readonly #timers = new Set<Timer>();
  readonly #timeouts = new Set<AbortController>();

  /** @param now milliseconds since the Unix epoch at which the clock starts */
  constructor(now: number) {
    this.#now = now;
  }

  get now(): number {
    return this.#now;
  }

  /** Runs a function, and everything that it starts, on this clock. @param owner process to which its timers belong */
  run<T>(owner: string, fn: () => T): T {
    return contexts.run({ clock: this, owner }, fn);
  }

  /** Runs a function for which the clock shows this time. */
  runAt<T>(owner: string, frozenAt: number, fn: () => T): T {
    return contexts.run({ clock: this, owner, frozenAt }, fn);
  }

  /** Calls `callback` after this many milliseconds, or again and again. */
  set(owner: string, ms: number, callback: () => void, repeats = false): Timer {
    const fire = AsyncLocalStorage.bind(callback);
    // Node.js makes a delay of less than a millisecond a millisecond.
    const delay = ms >= 1 && ms < 2 ** 31 ? ms : 1;
    const timer = {
      at: this.#now + delay,
      order: this.#order++,
      owner,
      everyMs: repeats ? delay : null,
      fire,
    };
    this.#timers.add(timer);
    return timer;
  }

  /** Returns a signal that aborts after this many milliseconds. */
  timeout(owner: string, ms: number): AbortSignal {
    const controller = new AbortController();
    this.#timeouts.add(controller);
    this.set(owner, ms, () => {
      this.#timeouts.delete(controller);
      controller.abort(new DOMException('The operation timed out', 'TimeoutError'));
    });
    return controller.signal;
  }

  /**
   * Ends the time: no timer fires any more, and all signals abort, because Node.js keeps signals that others depend on in
   * memory until they do.
   */
  stop(): void {
    this.#timers.clear();
    for (const controller of this.#timeouts) controller.abort();
    this.#timeouts.clear();
    this.#timers.clear();
  }

  clear(timer: Timer): void {
    this.#timers.delete(timer);
  }

  /** Removes the timers of a process that has died. */
  clearAll(owner: string): void {
    for (const timer of this.#timers) if (timer.owner === owner) this.#timers.delete(timer);
  }

  #next(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers)
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order))
        next = timer;
    return next;
  }

  /** Moves the clock to the next timer and fires it. Returns its owner, or null if there is no timer. */
  fireNext(): string | null {
    const timer = this.#next();
    if (timer === undefined) return null;
    this.#now = Math.max(this.#now, timer.at);
    if (timer.everyMs === null) this.#timers.delete(timer);
    else {
      timer.at += timer.everyMs;
      timer.order = this.#order++;
    }
    timer.fire();
    return timer.owner;
  }
}

/** What `setTimeout` and `setInterval` return on a virtual clock. */
class Handle {
  readonly #clock: VirtualClock;
  readonly #timer: Timer;
  constructor(clock: VirtualClock, timer: Timer) {
    this.#clock = clock;
    this.#timer = timer;
  }
  unref(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  cancel(): void {
    this.#clock.clear(this.#timer);
  }
}

const real = {
  Date,
  setTimeout,
  setInterval,
  clearTimeout,
  sleep: timersPromises.setTimeout,
  timeout: AbortSignal.timeout.bind(AbortSignal),
  performanceNow: performance.now.bind(performance),
};

type Callback = (...args: unknown[]) => void;

const timerFunction =
  (original: (callback: Callback, ms?: number, ...args: unknown[]) => unknown, repeats: boolean) =>
  (callback: Callback, ms = 1, ...args: unknown[]): unknown => {
    const context = contexts.getStore();
    if (context === undefined) return original(callback, ms, ...args);
    const { clock, owner } = context;
    return new Handle(
      clock,
      clock.set(owner, ms, () => callback(...args), repeats),
    );
  };

function clear(timer: unknown): void {
  if (timer instanceof Handle) timer.cancel();
  else Reflect.apply(real.clearTimeout, undefined, [timer]);
}

function sleep(ms = 1, value?: unknown, options: { signal?: AbortSignal } = {}): Promise<unknown> {
  const context = contexts.getStore();
  if (context === undefined) return real.sleep(ms, value, options);
  const { clock, owner } = context;
  const { signal } = options;
  return new Promise((resolve, reject) => {
    const abort = () => {
      clock.clear(timer);
      reject(new DOMException('The operation was aborted', 'AbortError'));
    };
    const timer = clock.set(owner, ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    });
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

function timeout(ms: number): AbortSignal {
  const context = contexts.getStore();
  if (context === undefined) return real.timeout(ms);
  return context.clock.timeout(context.owner, ms);
}

/** Returns the time of the virtual clock on which the caller runs; null: it runs on none. */
function virtualNow(): number | null {
  const context = contexts.getStore();
  return context === undefined ? null : (context.frozenAt ?? context.clock.now);
}

const dateNow = (): number => virtualNow() ?? real.Date.now();

const VirtualDate: DateConstructor = new Proxy(real.Date, {
  construct(target, args, newTarget) {
    const now = args.length === 0 ? virtualNow() : null;
    return Reflect.construct(
      target,
      now === null ? args : [now],
      newTarget === VirtualDate ? target : newTarget,
    );
  },
  get: (target, key) => (key === 'now' ? dateNow : Reflect.get(target, key)),
});

Object.assign(globalThis, {
  Date: VirtualDate,
  setTimeout: timerFunction(real.setTimeout, false),
  setInterval: timerFunction(real.setInterval, true),
  clearTimeout: clear,
  clearInterval: clear,
});
Object.assign(AbortSignal, { timeout });
Object.assign(performance, { now: () => virtualNow() ?? real.performanceNow() });
Object.assign(timersPromises, { setTimeout: sleep });
syncBuiltinESMExports();
