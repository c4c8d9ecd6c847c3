import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chromium, type ChromiumOptions, startChromium } from './chromium.ts';
import type { BrowserMetrics } from './metrics.ts';
import { openPageSession, type PageSession } from './pageSession.ts';
import { tryFor } from './tryFor.ts';

export interface BrowserSlotOptions extends ChromiumOptions {
  /** A browser is replaced after a random number of calls in this range. */
  jobs: readonly [least: number, most: number];
  metrics: BrowserMetrics;
}

const ENDING_MS = 1_000;
const RETRY_MS = 500;
const RETRY_MAX_MS = 30_000;

/**
 * Keeps one browser running and lends it to one call at a time. Replaces the browser after a number of calls, and when
 * it crashes, hangs or exceeds its memory limit.
 */
export class BrowserSlot implements AsyncDisposable {
  readonly #options: BrowserSlotOptions;
  #current: Promise<Chromium>;
  #spare: Promise<Chromium> | null = null;
  #session: Promise<PageSession>;
  #ready: PageSession | null = null;
  #jobsLeft: number;
  #closed = false;
  #starting: Promise<Chromium> | null = null;
  readonly #alive = new Set<Chromium>();

  constructor(options: BrowserSlotOptions) {
    this.#options = options;
    this.#jobsLeft = this.#lifetime();
    this.#current = this.#start();
    this.#session = this.#prepare();
  }

  #lifetime(): number {
    const [least, most] = this.#options.jobs;
    return randomInt(least, most + 1);
  }

  /**
   * Starts a browser. Retries with exponential backoff until a browser starts or the slot is closed, without a time
   * limit of its own: each waiting call has a deadline.
   */
  async #start(): Promise<Chromium> {
    const { metrics, log } = this.#options;
    for (let wait = RETRY_MS; !this.#closed; wait = Math.min(2 * wait, RETRY_MAX_MS)) {
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

  async #prepare(): Promise<PageSession> {
    for (;;) {
      const chromium = await this.#current;
      try {
        if (chromium.ended === null) {
          this.#ready = await openPageSession(chromium);
          return this.#ready;
        }
      } catch {
        this.#options.metrics.browsers.hung += 1;
      }
      if (this.#closed) return new Promise(() => undefined);
      this.#replace(chromium);
    }
  }

  /** Kills the old browser and switches to the spare browser, or starts a new one. */
  #replace(old: Chromium): void {
    void old.kill();
    this.#current = this.#spare ?? this.#start();
    this.#spare = null;
    this.#jobsLeft = this.#lifetime();
  }

  /** Whether `acquire` can return a session without waiting for a browser. */
  get isReady(): boolean {
    return this.#ready?.chromium.ended === null;
  }

  /**
   * Resolves with a session that no call has used. Never rejects: the promise stays pending while no browser starts.
   */
  async acquire(): Promise<PageSession> {
    for (;;) {
      const session = await this.#session;
      this.#ready = null;
      if (session.chromium.ended === null && (await session.answers())) return session;
      await this.#count(session.chromium);
      this.#replace(session.chromium);
      this.#session = this.#prepare();
    }
  }

  /** Counts a lost browser in the metric for the reason of its loss. */
  async #count(chromium: Chromium): Promise<void> {
    const { browsers } = this.#options.metrics;
    // A crashed browser's processes exit one by one. `ended` is set when the main process exits, so wait for that
    // briefly.
    await tryFor(chromium.exited, ENDING_MS);
    if (chromium.ended === 'crashed') browsers.crashed += 1;
    else if (chromium.ended === 'memory') browsers.overMemory += 1;
    else browsers.hung += 1;
  }

  /**
   * Takes back the session of a finished call. The next `acquire` waits until the browser context of that session is
   * closed and a new session is prepared.
   *
   * @param reusable false to replace the browser
   */
  release(session: PageSession, reusable: boolean): void {
    this.#session = this.#follow(session, reusable);
  }

  async #follow(session: PageSession, reusable: boolean): Promise<PageSession> {
    const { chromium } = session;
    const { browsers } = this.#options.metrics;
    this.#jobsLeft -= 1;
    const closed = reusable && chromium.ended === null && (await session.close());
    if (!closed) {
      if (reusable || chromium.ended !== null) await this.#count(chromium);
      else browsers.discarded += 1;
      this.#replace(chromium);
    } else if (this.#jobsLeft <= 0 && (await this.#spareIsReady())) {
      browsers.recycled += 1;
      this.#replace(chromium);
    }
    return this.#prepare();
  }

  /** Whether the spare browser has started; starts one if there is none. The old browser stays in use until then. */
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
