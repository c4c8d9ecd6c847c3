import { setImmediate } from 'node:timers/promises';
import type { Random } from '../helpers/random.ts';
import type { Intercept } from './intercept.ts';

interface Waiting {
  actor: string;
  label: string;
  /** Whether the operation must not run yet, because the network or the database has stalled it. */
  isStalled: boolean;
  run(): Promise<void>;
}

/** The clock of a schedule in which time passes. */
export interface ScheduleClock {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  set(owner: string, ms: number, callback: () => void): unknown;
  clearAll(owner: string): void;
  fireNext(): string | null;
}

/** How time passes in a schedule. */
export interface Timing {
  clock: ScheduleClock;
  /** Percentage of steps at which the next timer fires although operations are waiting. */
  timerPercent: number;
  /** How many of 1,000 operations stall, and how many of 1,000 operations stall their whole process. */
  stallPermille: number;
}

/** Milliseconds of a stall: about those after which a request, a step of the ledger, a lease and a call run out of time. */
const STALLS_MS = [1500, 11_000, 13_000, 35_000, 110_000];
const CLOCK = 'clock';

/** The process of an actor: the part of the name before a slash. */
const processOf = (actor: string): string => actor.split('/', 1)[0] ?? actor;

/**
 * Runs the database operations of several actors one at a time, in an order derived from a seed. Each actor has a
 * priority, which changes at random steps, so that an operation may run long after the other actors have given up on it
 * (probabilistic concurrency testing: Burckhardt et al., ASPLOS 2010).
 */
export class Scheduler {
  readonly #random: Random;
  readonly #redrawPercent: number;
  readonly #timing: Timing | null;
  readonly #waiting: Waiting[] = [];
  readonly #priorities = new Map<string, number>();
  readonly #lifetimes = new Map<string, number>();
  readonly #stalledUntil = new Map<string, number>();
  readonly #running = new Set<string>();
  readonly #errors: unknown[] = [];
  readonly #deathListeners: ((process: string) => void)[] = [];
  #isCalm = false;
  /** The operations that have run, for messages about failures. */
  readonly history: string[] = [];

  /**
   * @param redrawPercent percentage of steps after which the priority of an actor changes
   * @param timing missing: the schedule has no timers
   */
  constructor(random: Random, redrawPercent: number, timing: Timing | null = null) {
    this.#random = random;
    this.#redrawPercent = redrawPercent;
    this.#timing = timing;
  }

  /** Whether operations now run in the order in which they were requested, and none stalls. */
  get isCalm(): boolean {
    return this.#isCalm;
  }

  /** Ends all stalls for good, and forgets the deaths that have not happened yet. */
  calm(): void {
    this.#isCalm = true;
    this.#stalledUntil.clear();
    for (const process of this.#lifetimes.keys()) if (this.#isAlive(process)) this.#lifetimes.delete(process);
    for (const waiting of this.#waiting) waiting.isStalled = false;
  }

  /** Returns an intercept for `interceptStore` that delays the operations of this actor until they are scheduled. */
  intercept(actor: string): Intercept {
    return (name, run) =>
      new Promise((resolve, reject) => {
        const waiting = {
          actor,
          label: `${actor}: ${name}`,
          isStalled: false,
          run: () => run().then(resolve, reject),
        };
        this.#waiting.push(waiting);
        this.#stall(waiting);
      });
  }

  #stall(waiting: Waiting): void {
    if (this.#timing === null || this.#isCalm) return;
    const { clock, stallPermille } = this.#timing;
    const process = processOf(waiting.actor);
    const fate = this.#random.integer(1, 1000);
    let until = this.#stalledUntil.get(process) ?? 0;
    if (fate <= stallPermille || fate > 1000 - stallPermille)
      until = Math.max(until, clock.now + this.#random.pick(STALLS_MS));
    if (fate > 1000 - stallPermille) this.#stalledUntil.set(process, until);
    if (until <= clock.now) return;
    waiting.isStalled = true;
    clock.set(CLOCK, until - clock.now, () => {
      waiting.isStalled = false;
    });
  }

  /** Adds an actor, whose `steps` start when the actor is first scheduled. */
  start(actor: string, steps: () => Promise<void>): void {
    const first = this.intercept(actor)('begin', async () => undefined);
    this.#running.add(actor);
    first
      .then(steps)
      .catch((error: unknown) => this.#errors.push(error))
      .finally(() => this.#running.delete(actor));
  }

  /** Simulates that the process dies after this many of its operations: later operations never run. */
  killAfter(process: string, steps: number): void {
    this.#lifetimes.set(process, steps);
  }

  /** Calls back when a process has died. */
  onDeath(listener: (process: string) => void): void {
    this.#deathListeners.push(listener);
  }

  #isAlive(process: string): boolean {
    return (this.#lifetimes.get(process) ?? 1) > 0;
  }

  #age(process: string): void {
    const left = this.#lifetimes.get(process);
    if (left === undefined) return;
    this.#lifetimes.set(process, left - 1);
    if (left > 1) return;
    for (const actor of this.#running) if (processOf(actor) === process) this.#running.delete(actor);
    this.#timing?.clock.clearAll(process);
    this.history.push(`${process} dies`);
    for (const listener of this.#deathListeners) listener(process);
  }

  #priority(actor: string): number {
    const known = this.#priorities.get(actor);
    if (known !== undefined && this.#random.integer(1, 100) > this.#redrawPercent) return known;
    const drawn = this.#random.integer(0, 1_000_000);
    this.#priorities.set(actor, drawn);
    return drawn;
  }

  #choose(ready: readonly Waiting[]): Waiting | undefined {
    if (this.#isCalm) return ready[0];
    const ranks = new Map(
      [...new Set(ready.map(({ actor }) => actor))].map((it) => [it, this.#priority(it)]),
    );
    const best = Math.max(...ranks.values());
    const candidates = ready.filter(({ actor }) => ranks.get(actor) === best);
    return candidates.length === 0 ? undefined : this.#random.pick(candidates);
  }

  #next(): Waiting | undefined {
    const ready = this.#waiting.filter(
      ({ actor, isStalled }) => !isStalled && this.#isAlive(processOf(actor)),
    );
    if (ready.length > 0 && this.#isTimersTurn()) return undefined;
    const chosen = this.#choose(ready);
    if (chosen !== undefined) this.#waiting.splice(this.#waiting.indexOf(chosen), 1);
    return chosen;
  }

  #isTimersTurn(): boolean {
    return (
      this.#timing !== null && !this.#isCalm && this.#random.integer(1, 100) <= this.#timing.timerPercent
    );
  }

  /**
   * Runs the simulated processes, interleaving them one operation at a time, until each of them has finished or was crashed
   * on purpose, or until the condition holds. Timers fire when no operation is waiting, and now and then before.
   *
   * @throws the first error of a simulated process
   */
  async play(until: () => boolean = () => false): Promise<void> {
    for (;;) {
      await setImmediate(); // lets the actor register the operation that follows the last one
      if (this.#errors.length > 0) throw this.#errors[0];
      if (until()) return;
      const next = this.#next();
      if (next !== undefined) {
        this.history.push(next.label);
        await next.run();
        this.#age(processOf(next.actor));
      } else if (this.#timing?.clock.fireNext() == null) {
        if (this.#running.size === 0) return;
        throw new Error(`${[...this.#running.keys()]} are blocked outside the schedule`);
      }
    }
  }
}
