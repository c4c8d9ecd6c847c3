import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chromium, type ChromiumOptions, startChromium } from './chromium.ts';
import { type Desk, openDesk } from './desk.ts';
import type { BrowserMetrics } from './metrics.ts';

export interface SeatOptions extends ChromiumOptions {
  /** A browser is replaced after so many jobs, from … to. */
  jobs: readonly [least: number, most: number];
  metrics: BrowserMetrics;
  log(line: string): void;
}

const RETRY_MS = 500;
const RETRY_MOST_MS = 30_000;

/** One browser that is always there: warm, replaced in good time, and started again when it is lost. */
export class Seat implements AsyncDisposable {
  readonly #options: SeatOptions;
  #current: Promise<Chromium>;
  #spare: Promise<Chromium> | null = null;
  #desk: Promise<Desk>;
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
        if (chromium.ended === null) return await openDesk(chromium);
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

  /** A page that no job has used. Never rejects; pending for as long as no browser starts. */
  async take(): Promise<Desk> {
    for (;;) {
      const desk = await this.#desk;
      if (desk.chromium.ended === null) {
        if (await desk.answers()) return desk;
        this.#options.metrics.browsers.hung += 1;
      } else this.#count(desk.chromium);
      this.#replace(desk.chromium);
      this.#desk = this.#prepare();
    }
  }

  #count({ ended }: Chromium): void {
    const { browsers } = this.#options.metrics;
    if (ended === 'crashed') browsers.crashed += 1;
    if (ended === 'memory') browsers.overMemory += 1;
  }

  /**
   * Takes the page back, so that the next one can be had.
   *
   * @param sound false when its browser is not to be trusted any more
   */
  async giveBack(desk: Desk, sound: boolean): Promise<void> {
    const { chromium } = desk;
    const { metrics } = this.#options;
    this.#jobsLeft -= 1;
    const closed = sound && chromium.ended === null && (await desk.close());
    if (!closed) {
      this.#count(chromium);
      if (chromium.ended === null) metrics.browsers.hung += 1;
      this.#replace(chromium);
      await chromium.kill();
    } else if (this.#jobsLeft <= 0 && (await this.#spareIsReady())) {
      metrics.browsers.recycled += 1;
      this.#replace(chromium);
    }
    this.#desk = this.#prepare();
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
