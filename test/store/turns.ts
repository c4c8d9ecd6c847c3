import { setImmediate as tick } from 'node:timers/promises';
import type { Random } from '../helpers/random.ts';
import type { Intercept } from './intercept.ts';

interface Waiting {
  actor: string;
  label: string;
  run(): Promise<void>;
}

/**
 * Lets several actors take turns, one database operation at a time, in an order that a seed decides. Each actor has a
 * priority, which is drawn anew now and then: so an operation may land long after the rest of what its actor set out
 * to do was given up by everybody else (probabilistic concurrency testing: Burckhardt et al., ASPLOS 2010).
 */
export class Turns {
  readonly #random: Random;
  readonly #restlessness: number;
  readonly #waiting: Waiting[] = [];
  readonly #priorities = new Map<string, number>();
  readonly #lifetimes = new Map<string, number>();
  readonly #running = new Set<string>();
  readonly #errors: unknown[] = [];
  /** Every turn so far, for the message of a failure. */
  readonly history: string[] = [];

  /** @param restlessness percent of turns after which an actor's priority changes */
  constructor(random: Random, restlessness: number) {
    this.#random = random;
    this.#restlessness = restlessness;
  }

  /** For `interceptStore`: operations of this actor wait for their turn. */
  intercept(actor: string): Intercept {
    return (name, run) =>
      new Promise((resolve, reject) => {
        this.#waiting.push({ actor, label: `${actor}: ${name}`, run: () => run().then(resolve, reject) });
      });
  }

  /** Adds an actor; its steps begin when it gets its first turn. */
  start(actor: string, steps: () => Promise<void>): void {
    const first = this.intercept(actor)('begin', async () => undefined);
    this.#running.add(actor);
    first
      .then(steps)
      .catch((error: unknown) => this.#errors.push(error))
      .finally(() => this.#running.delete(actor));
  }

  /** The actor's process dies after so many of its turns: nothing that it still wanted to do happens. */
  killAfter(actor: string, turns: number): void {
    this.#lifetimes.set(actor, turns);
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
    if (known !== undefined && this.#random.integer(1, 100) > this.#restlessness) return known;
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

  /** Plays until every actor that lives is done. @throws what an actor throws */
  async play(): Promise<void> {
    for (;;) {
      await tick(); // what the last turn set free asks for its next turns
      const next = this.#next();
      if (next !== undefined) {
        this.history.push(next.label);
        await next.run();
        this.#age(next.actor);
      } else if (this.#running.size === 0) break;
      else throw new Error(`${[...this.#running.keys()]} wait for something that is nobody's turn`);
    }
    if (this.#errors.length > 0) throw this.#errors[0];
  }
}
