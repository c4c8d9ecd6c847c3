import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chromium, type ChromiumOptions, startChromium } from './chromium.ts';
import { type Desk, openDesk } from './desk.ts';
import type { BrowserMetrics } from './metrics.ts';
import { within } from './within.ts';

export interface SeatOptions extends ChromiumOptions {
  /** A browser is replaced after so many jobs, from … to. */
  jobs: readonly [least: number, most: number];
  metrics: BrowserMetrics;
}

const ENDING_MS = 1_000;
const RETRY_MS = 500;
const RETRY_MOST_MS = 30_000;

/** One browser that is always there: warm, replaced in good time, and started again when it is lost. */
export class Seat implements AsyncDisposable {
  readonly #options: SeatOptions;
  #current: Promise<Chromium>;
  #spare: Promise<Chromium> | null = null;
  #desk: Promise<Desk>;
  #ready: Desk | null = null;
  #jobsLeft: number;
  #closed = false;
  #starting: Promise<Chromium> | null = null;
  readonly #alive = new Set<Chromium>();

  constructor(options: SeatOptions) {
    this.#options = options;
    this.#jobsLeft = this.#lifetime();
    this.#current = this.#start();
    this.#desk = this.#prepare();
  }

  #lifetime(): number {
    const [least, most] = this.#options.jobs;
    return randomInt(least, most + 1);
  }

  /** Tries until it is closed: who waits has a deadline of its own. */
  async #start(): Promise<Chromium> {
    const { metrics, log } = this.#options;
    for (let wait = RETRY_MS; !this.#closed; wait = Math.min(2 * wait, RETRY_MOST_MS)) {
      try {
        this.#starting = startChromium(this.#options);
        const chromium = await this.#starting;
        metrics.browsers.started += 1;
        this.#alive.add(chromium);
        void chromium.gone.then(() => this.#alive.delete(chromium));
        return chromium;
      } catch (error) {
        metrics.browsers.failed += 1;
        log(`Chromium does not start: ${error instanceof Error ? error.message : error}`);
        await sleep(wait, undefined, { ref: false });
      }
    }
    return new Promise(() => undefined);
  }

  async #prepare(): Promise<Desk> {
    for (;;) {
      const chromium = await this.#current;
      try {
        if (chromium.ended === null) {
          this.#ready = await openDesk(chromium);
          return this.#ready;
        }
      } catch {
        this.#options.metrics.browsers.hung += 1;
      }
      if (this.#closed) return new Promise(() => undefined);
      this.#replace(chromium);
    }
  }

  /** The next browser takes over: the spare one where there is one. */
  #replace(old: Chromium): void {
    void old.kill();
    this.#current = this.#spare ?? this.#start();
    this.#spare = null;
    this.#jobsLeft = this.#lifetime();
  }

  /** A page can be had without waiting. */
  get isReady(): boolean {
    return this.#ready?.chromium.ended === null;
  }

  /** A page that no job has used. Never rejects; pending for as long as no browser starts. */
  async take(): Promise<Desk> {
    for (;;) {
      const desk = await this.#desk;
      this.#ready = null;
      if (desk.chromium.ended === null && (await desk.answers())) return desk;
      await this.#count(desk.chromium);
      this.#replace(desk.chromium);
      this.#desk = this.#prepare();
    }
  }

  /** Of a browser that answers no more. */
  async #count(chromium: Chromium): Promise<void> {
    const { browsers } = this.#options.metrics;
    // It may be about to end: its processes do so one after the other.
    await within(chromium.exited, ENDING_MS);
    if (chromium.ended === 'crashed') browsers.crashed += 1;
    else if (chromium.ended === 'memory') browsers.overMemory += 1;
    else browsers.hung += 1;
  }

  /**
   * Takes the page back. Whoever comes while it is being cleared away waits for the next one.
   *
   * @param sound false when its browser is not to be trusted any more
   */
  giveBack(desk: Desk, sound: boolean): void {
    this.#desk = this.#follow(desk, sound);
  }

  async #follow(desk: Desk, sound: boolean): Promise<Desk> {
    const { chromium } = desk;
    const { browsers } = this.#options.metrics;
    this.#jobsLeft -= 1;
    const closed = sound && chromium.ended === null && (await desk.close());
    if (!closed) {
      if (sound || chromium.ended !== null) await this.#count(chromium);
      else browsers.discarded += 1;
      this.#replace(chromium);
    } else if (this.#jobsLeft <= 0 && (await this.#spareIsReady())) {
      browsers.recycled += 1;
      this.#replace(chromium);
    }
    return this.#prepare();
  }

  /** The old browser works until the new one is there, so that nobody waits. */
  async #spareIsReady(): Promise<boolean> {
    this.#spare ??= this.#start();
    const notYet = Symbol('not yet');
    return (await Promise.race([this.#spare, Promise.resolve(notYet)])) !== notYet;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([this.#starting]);
    await Promise.all([...this.#alive].map((chromium) => chromium.kill()));
  }
}
