import type { CDPSession, Page } from 'puppeteer';
import { Cluster } from 'puppeteer-cluster';
import concurrency from 'puppeteer-cluster/dist/concurrency/ConcurrencyImplementation.js';
import type { FilteringProxy } from '../../egress/proxy.ts';
import { untilAborted } from '../../platform/untilAborted.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { NetworkContext } from '../runtime/context.ts';
import type { Ads } from './ads.ts';
import type { Boundary } from './boundary.ts';
import { BrowserSlot, type BrowserSlotOptions } from './browserSlot.ts';
import type { IsolatedWorld } from './isolatedWorld.ts';
import { type BrowserMetrics, createMetrics } from './metrics.ts';
import type { PageSession } from './pageSession.ts';
import { tryFor } from './tryFor.ts';

/** The browser page of one call, and the proxy of that call, through which all connections of the page go. */
export interface RenderPage {
  page: Page;
  client: CDPSession;
  world: IsolatedWorld;
  proxy: FilteringProxy;
  metrics: BrowserMetrics;
}

export type Limits = Pick<NetworkContext, 'egress' | 'signal' | 'deadline'>;

/** A pool of browsers that are started before calls arrive. Each browser runs one call at a time. */
export interface Browsers extends AsyncDisposable {
  readonly boundary: Boundary;
  /** Detects requests for ads and trackers; null when no filter lists are installed. */
  readonly ads: Ads | null;
  readonly metrics: BrowserMetrics;
  /** Returns the number of free browsers that can run a call at once, because its page is prepared. */
  countReady(): number;
  /**
   * Runs `work` on a new page in the next free browser.
   *
   * @throws BrowserLost when the page crashed or the browser exited; the abort reason of `limits.signal`; TimeoutError
   *   at `limits.deadline`; ServiceError tool_unavailable when no browser became free before the deadline; any error of
   *   `work`
   */
  run<T>(limits: Limits, work: (renderPage: RenderPage) => Promise<T>): Promise<T>;
}

/**
 * Thrown when the page crashed or its browser exited. The reason is `memory` if the browser was killed at its memory
 * limit.
 */
export class BrowserLost extends Error {
  override readonly name = 'BrowserLost';
  readonly reason: 'memory' | 'crashed';
  constructor(reason: 'memory' | 'crashed') {
    super(`the browser was lost: ${reason}`);
    this.reason = reason;
  }
}

/**
 * Limits of one call's proxy: concurrent connections, bytes received over all of them, and idle time of a connection.
 */
const TUNNELS = 256;
const BYTES = 200_000_000;
const IDLE_MS = 30_000;
/**
 * The longest timeout that setTimeout supports. It disables puppeteer-cluster's own timeout, because each call has a
 * deadline.
 */
const NEVER_MS = 2 ** 31 - 1;

/**
 * How long to wait for the browser's exit after a render has failed. A crashed browser's processes exit one by one, so
 * an error may be noticed before the exit that caused it.
 */
const LOST_MS = 3_000;
const NO_BROWSER = 'No browser was available before the deadline of the call.';

export interface BrowsersOptions extends Omit<BrowserSlotOptions, 'metrics'> {
  /** Number of browsers, which is also the largest number of concurrent calls. */
  slots: number;
  ads: Ads | null;
}

export async function createBrowsers(options: BrowsersOptions): Promise<Browsers> {
  const metrics = createMetrics();
  const slots = Array.from({ length: options.slots }, () => new BrowserSlot({ ...options, metrics }));
  const free = [...slots];
  const sessions = new WeakMap<Page, PageSession>();
  /**
   * Sessions whose call was aborted or lost its page. The browser may still be busy with that page, so it is replaced.
   */
  const discarded = new WeakSet<PageSession>();

  /**
   * Lets puppeteer-cluster use the slots above, because the package's own implementations neither start browsers in
   * advance nor replace them after some calls. The package documents this base class as experimental and does not
   * export it, so package.json pins the exact version, and test/browser/pool.test.ts asserts that the cluster's queue
   * uses these browsers. When a later version exports the class, import it from the package instead.
   */
  class WarmBrowsers extends concurrency.default {
    async init(): Promise<void> {}
    async close(): Promise<void> {}
    async workerInstance() {
      return {
        jobInstance: async () => {
          // The cluster has as many workers as there are slots, so `free` is not empty. If no free slot has a session
          // ready, the slot that was released first is taken.
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
    // `lost` may reject before anything awaits it; this handler prevents an unhandled rejection.
    lost.catch(() => undefined);
    using proxy = await egress.proxy({
      signal,
      deadline,
      entry: chromium.entry,
      tunnels: TUNNELS,
      bytes: BYTES,
      idleMs: IDLE_MS,
    });
    const running = job({ page, client, world, proxy, metrics });
    try {
      return await untilAborted(Promise.race([running, lost]), signal);
    } catch (error) {
      if (error instanceof ServiceError || signal.aborted) throw error;
      // A crash of the browser may first show as an error of the render, so wait briefly for the browser's exit.
      const isLost = await tryFor(
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
    countReady: () => free.filter(({ isReady }) => isReady).length,
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
          // A worker accepts no more calls than it has browsers, so a call that is still queued at its deadline waits
          // for a browser that failed to start.
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
