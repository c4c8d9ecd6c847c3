import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chromium, type ChromiumOptions, startChromium } from './chromium.ts';
import type { BrowserMetrics } from './metrics.ts';
import { openPageSession, type PageSession } from './pageSession.ts';
import { within } from './within.ts';

export interface BrowserSlotOptions extends ChromiumOptions {
  /** A browser is replaced after so many jobs, from … to. */
  jobs: readonly [least: number, most: number];
  metrics: BrowserMetrics;
}

const ENDING_MS = 1_000;
const RETRY_MS = 500;
const RETRY_MAX_MS = 30_000;

/** One browser that is always there: warm, replaced in good time, and started again when it is lost. */
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

  /** Tries until it is closed: who waits has a deadline of its own. */
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
