import type { CDPSession, Page } from 'puppeteer';
import { Cluster } from 'puppeteer-cluster';
import concurrency from 'puppeteer-cluster/dist/concurrency/ConcurrencyImplementation.js';
import { untilAborted } from '../../egress/clock.ts';
import type { FilteringProxy } from '../../egress/proxy.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { NetworkContext } from '../runtime/context.ts';
import type { Ads } from './ads.ts';
import type { Boundary } from './boundary.ts';
import { BrowserSlot, type BrowserSlotOptions } from './browserSlot.ts';
import type { IsolatedWorld } from './isolatedWorld.ts';
import { type BrowserMetrics, createMetrics } from './metrics.ts';
import type { PageSession } from './pageSession.ts';
import { within } from './within.ts';

/** The page of one call. All its connections go through the proxy of the call. */
export interface RenderPage {
  page: Page;
  client: CDPSession;
  world: IsolatedWorld;
  proxy: FilteringProxy;
  metrics: BrowserMetrics;
}

export type Limits = Pick<NetworkContext, 'egress' | 'signal' | 'deadline'>;

/** Warm browsers; each runs one call at a time. */
export interface Browsers extends AsyncDisposable {
  readonly boundary: Boundary;
  /** null without filter lists. */
  readonly ads: Ads | null;
  readonly metrics: BrowserMetrics;
  /**
   * Runs work on an unused page in the next free browser.
   *
   * @throws BrowserLost; the signal's reason; TimeoutError at the deadline; ServiceError tool_unavailable when no browser
   *   was free until then; what the work throws
   */
  run<T>(limits: Limits, work: (renderPage: RenderPage) => Promise<T>): Promise<T>;
}

/** The page crashed, or its browser ended. */
export class BrowserLost extends Error {
  override readonly name = 'BrowserLost';
  readonly reason: 'memory' | 'crashed';
  constructor(reason: 'memory' | 'crashed') {
    super(`the browser was lost: ${reason}`);
    this.reason = reason;
  }
}

/** Limits of the proxy of one call. */
const TUNNELS = 256;
const BYTES = 200_000_000;
const IDLE_MS = 30_000;
/** Disables the cluster's timeout: calls have their own deadlines. */
const NEVER_MS = 2 ** 31 - 1;

/** How long after an error the exit of a crashed browser may be noticed: its processes end one after the other. */
const LOST_MS = 3_000;
const NO_BROWSER = 'No browser could be had in time.';

export interface BrowsersOptions extends Omit<BrowserSlotOptions, 'metrics'> {
  /** Number of browsers, and so of concurrent calls. */
  slots: number;
  ads: Ads | null;
}

export async function createBrowsers(options: BrowsersOptions): Promise<Browsers> {
  const metrics = createMetrics();
  const slots = Array.from({ length: options.slots }, () => new BrowserSlot({ ...options, metrics }));
  const free = [...slots];
  const sessions = new WeakMap<Page, PageSession>();
  /** Sessions whose work was cut off: their browser may still be busy with the page and is replaced. */
  const discarded = new WeakSet<PageSession>();

  /**
   * The cluster's own implementations neither keep browsers warm nor replace them. The package documents its base class
   * as experimental and does not export it, so package.json pins the exact version, and test/browser/pool.test.ts shows
   * that its queue uses these browsers. To drop the import, import the class from the package once it is exported.
   */
  class WarmBrowsers extends concurrency.default {
    async init(): Promise<void> {}
    async close(): Promise<void> {}
    async workerInstance() {
      return {
        jobInstance: async () => {
          // There are as many slots as workers. If no slot is ready, takes the one that was released first.
          const ready = free.findIndex(({ isReady }) => isReady);
          const [slot] = free.splice(Math.max(0, ready), 1);
          if (slot === undefined) throw new Error('more workers than slots');
          const session = await slot.acquire();
          sessions.set(session.page, session);
          return {
            resources: { page: session.page },
            close: async () => {
              slot.release(session, !discarded.has(session));
              free.push(slot);
            },
          };
        },
        close: async () => {},
        repair: async () => {},
      };
    }
  }
  const cluster: Cluster<undefined, void> = await Cluster.launch({
    concurrency: WarmBrowsers,
    maxConcurrency: options.slots,
    timeout: NEVER_MS,
  });

  async function work<T>(
    session: PageSession,
    limits: Limits,
    job: (renderPage: RenderPage) => Promise<T>,
  ): Promise<T> {
    const { page, client, world, chromium } = session;
    const { egress, signal, deadline } = limits;
    const lost = session.lost.then((): never => {
      throw new BrowserLost(chromium.ended === 'memory' ? 'memory' : 'crashed');
    });
    // May reject before anything awaits it; this prevents an unhandled rejection.
    lost.catch(() => undefined);
    using proxy = await egress.proxy({
      signal,
      deadline,
      path: chromium.socket,
      tunnels: TUNNELS,
      bytes: BYTES,
      idleMs: IDLE_MS,
    });
    const running = job({ page, client, world, proxy, metrics });
    try {
      return await untilAborted(Promise.race([running, lost]), signal);
    } catch (error) {
      if (error instanceof ServiceError || signal.aborted) throw error;
      // The error may be the first sign of a crash.
      const isLost = await within(
        session.lost.then(() => true),
        Math.min(LOST_MS, deadline - Date.now()),
      );
      throw isLost === true ? new BrowserLost(chromium.ended === 'memory' ? 'memory' : 'crashed') : error;
    }
  }

  return {
    boundary: options.boundary,
    ads: options.ads,
    metrics,
    run: <T>({ egress, signal, deadline }: Limits, job: (renderPage: RenderPage) => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const ended = AbortSignal.any([signal, AbortSignal.timeout(Math.max(0, deadline - Date.now()))]);
        const queuedAt = performance.now();
        metrics.queued += 1;
        let queued = true;
        const leaveQueue = () => {
          if (queued) metrics.queued -= 1;
          queued = false;
        };
        const onEnd = () => {
          // Callers never outnumber browsers; one that is still queued waits for a browser that failed to start.
          const unavailable = queued && !signal.aborted;
          leaveQueue();
          reject(unavailable ? new ServiceError('tool_unavailable', { detail: NO_BROWSER }) : ended.reason);
        };
        ended.addEventListener('abort', onEnd, { once: true });
        if (ended.aborted) onEnd();
        cluster
          .execute(async ({ page }) => {
            const session = sessions.get(page);
            if (ended.aborted || session === undefined) return;
            leaveQueue();
            metrics.phases.queue.count += 1;
            metrics.phases.queue.totalMs += performance.now() - queuedAt;
            metrics.jobs += 1;
            metrics.running += 1;
            try {
              resolve(await work(session, { egress, signal: ended, deadline }, job));
            } catch (error) {
              if (ended.aborted || error instanceof BrowserLost) discarded.add(session);
              reject(error);
            } finally {
              metrics.running -= 1;
              ended.removeEventListener('abort', onEnd);
            }
          })
          .catch(reject);
      }),
    async [Symbol.asyncDispose]() {
      await cluster.close();
      await Promise.all(slots.map((slot) => slot[Symbol.asyncDispose]()));
    },
  };
}
