import { setImmediate as tick } from 'node:timers/promises';
import type { Random } from '../helpers/random.ts';
import type { Intercept } from './intercept.ts';

interface Waiting {
  actor: string;
  label: string;
  run(): Promise<void>;
}

/**
 * Runs the database operations of several actors one at a time, in an order derived from a seed. Each actor has a
 * priority, which changes at random steps, so that an operation may run long after the other actors have given up on it
 * (probabilistic concurrency testing: Burckhardt et al., ASPLOS 2010).
 */
export class Scheduler {
  readonly #random: Random;
  readonly #redrawPercent: number;
  readonly #waiting: Waiting[] = [];
  readonly #priorities = new Map<string, number>();
  readonly #lifetimes = new Map<string, number>();
  readonly #running = new Set<string>();
  readonly #errors: unknown[] = [];
  /** The operations that have run, for messages about failures. */
  readonly history: string[] = [];

  /** @param redrawPercent percentage of steps after which the priority of an actor changes */
  constructor(random: Random, redrawPercent: number) {
    this.#random = random;
    this.#redrawPercent = redrawPercent;
  }

  /** Returns an intercept for `interceptStore` that delays the operations of this actor until they are scheduled. */
  intercept(actor: string): Intercept {
    return (name, run) =>
      new Promise((resolve, reject) => {
        this.#waiting.push({ actor, label: `${actor}: ${name}`, run: () => run().then(resolve, reject) });
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

  /** Simulates that the actor's process dies after this many of its operations: later operations never run. */
  killAfter(actor: string, steps: number): void {
    this.#lifetimes.set(actor, steps);
  }

  #isAlive(actor: string): boolean {
    return (this.#lifetimes.get(actor) ?? 1) > 0;
  }

  #age(actor: string): void {
    const left = this.#lifetimes.get(actor);
    if (left === undefined) return;
    this.#lifetimes.set(actor, left - 1);
    if (left > 1) return;
    this.#running.delete(actor);
    this.history.push(`${actor} dies`);
  }

  #priority(actor: string): number {
    const known = this.#priorities.get(actor);
    if (known !== undefined && this.#random.integer(1, 100) > this.#redrawPercent) return known;
    const drawn = this.#random.integer(0, 1_000_000);
    this.#priorities.set(actor, drawn);
    return drawn;
  }

  #next(): Waiting | undefined {
    const alive = this.#waiting.filter(({ actor }) => this.#isAlive(actor));
    const ranks = new Map(
      [...new Set(alive.map(({ actor }) => actor))].map((it) => [it, this.#priority(it)]),
    );
    const best = Math.max(...ranks.values());
    const candidates = alive.filter(({ actor }) => ranks.get(actor) === best);
    const chosen = candidates.length === 0 ? undefined : this.#random.pick(candidates);
    if (chosen !== undefined) this.#waiting.splice(this.#waiting.indexOf(chosen), 1);
    return chosen;
  }

  /**
   * Runs the simulated processes, interleaving them one operation at a time, until each of them has finished or was crashed
   * on purpose. @throws the first error of a simulated process
   */
  async play(): Promise<void> {
    for (;;) {
      await tick(); // lets the actor register the operation that follows the last one
      const next = this.#next();
      if (next !== undefined) {
        this.history.push(next.label);
        await next.run();
        this.#age(next.actor);
      } else if (this.#running.size === 0) break;
      else throw new Error(`${[...this.#running.keys()]} are blocked outside the schedule`);
    }
    if (this.#errors.length > 0) throw this.#errors[0];
  }
}
