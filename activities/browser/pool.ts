import type { CDPSession, Page } from 'puppeteer';
import { Cluster } from 'puppeteer-cluster';
import concurrency from 'puppeteer-cluster/dist/concurrency/ConcurrencyImplementation.js';
import type { FilteringProxy } from '../../egress/proxy.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { NetworkContext } from '../context.ts';
import type { Ads } from './ads.ts';
import type { Boundary } from './boundary.ts';
import type { Desk } from './desk.ts';
import { type BrowserMetrics, createMetrics } from './metrics.ts';
import { Seat, type SeatOptions } from './seat.ts';
import { within } from './within.ts';
import type { World } from './world.ts';

/** What a job works with: a page of its own whose only way out is a proxy of its own. */
export interface Tab {
  page: Page;
  client: CDPSession;
  world: World;
  proxy: FilteringProxy;
  metrics: BrowserMetrics;
}

export type Limits = Pick<NetworkContext, 'egress' | 'signal' | 'deadline'>;

/** Warm browsers, one job at a time each. */
export interface Browsers extends AsyncDisposable {
  readonly boundary: Boundary;
  /** null where there are no lists to know them by. */
  readonly ads: Ads | null;
  readonly metrics: BrowserMetrics;
  /**
   * Runs a job on a page that nothing has touched, in the next browser that is free.
   *
   * @throws BrowserLost; the signal's reason; TimeoutError at the deadline; ServiceError tool_unavailable when no browser
   *   was free until then; what the work throws
   */
  run<T>(limits: Limits, work: (tab: Tab) => Promise<T>): Promise<T>;
}

/** The page took its tab or its whole browser down. */
export class BrowserLost extends Error {
  override readonly name = 'BrowserLost';
  readonly reason: 'memory' | 'crashed';
  constructor(reason: 'memory' | 'crashed') {
    super(`the browser was lost: ${reason}`);
    this.reason = reason;
  }
}

/** Of one job. */
const TUNNELS = 256;
const BYTES = 200_000_000;
const IDLE_MS = 30_000;
/** The cluster's own time-out: jobs have deadlines of their own. */
const NEVER_MS = 2 ** 31 - 1;

/** How long after its last word a browser may still be thought alive: its processes end one after the other. */
const LOST_MS = 3_000;
const NO_BROWSER = 'No browser could be had in time.';

export interface BrowsersOptions extends Omit<SeatOptions, 'metrics'> {
  /** Browsers, and so jobs at once. */
  seats: number;
  ads: Ads | null;
}

export async function createBrowsers(options: BrowsersOptions): Promise<Browsers> {
  const metrics = createMetrics();
  const seats = Array.from({ length: options.seats }, () => new Seat({ ...options, metrics }));
  const free = [...seats];
  const desks = new WeakMap<Page, Desk>();
  /** Jobs that ended while their page was still at work, and so must not be followed on the same browser. */
  const unsound = new WeakSet<Desk>();

  /** How the cluster gets its pages: its own ways know neither warm browsers nor their replacement. */
  class WarmBrowsers extends concurrency.default {
    async init(): Promise<void> {}
    async close(): Promise<void> {}
    async workerInstance() {
      return {
        jobInstance: async () => {
          // As many seats as workers. Of those that are not ready the one that was given back first will be next.
          const ready = free.findIndex(({ isReady }) => isReady);
          const [seat] = free.splice(Math.max(0, ready), 1);
          if (seat === undefined) throw new Error('more workers than seats');
          const desk = await seat.take();
          desks.set(desk.page, desk);
          return {
            resources: { page: desk.page },
            close: async () => {
              seat.giveBack(desk, !unsound.has(desk));
              free.push(seat);
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
    maxConcurrency: options.seats,
    timeout: NEVER_MS,
  });

  async function work<T>(desk: Desk, limits: Limits, job: (tab: Tab) => Promise<T>): Promise<T> {
    const { page, client, world, chromium } = desk;
    const { egress, signal, deadline } = limits;
    const ended = new Promise<never>((_, reject) => {
      const onEnd = () => reject(signal.reason);
      signal.addEventListener('abort', onEnd, { once: true });
      void desk.lost.then(() => {
        signal.removeEventListener('abort', onEnd);
        reject(new BrowserLost(chromium.ended === 'memory' ? 'memory' : 'crashed'));
      });
    });
    // It may be over before it is raced with, and is then nobody's to hear of.
    ended.catch(() => undefined);
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
      return await Promise.race([running, ended]);
    } catch (error) {
      if (error instanceof ServiceError || signal.aborted) throw error;
      // It may be the first to hear of a crash.
      const lost = await within(
        desk.lost.then(() => true),
        Math.min(LOST_MS, deadline - Date.now()),
      );
      throw lost === true ? new BrowserLost(chromium.ended === 'memory' ? 'memory' : 'crashed') : error;
    }
  }

  return {
    boundary: options.boundary,
    ads: options.ads,
    metrics,
    run: <T>({ egress, signal, deadline }: Limits, job: (tab: Tab) => Promise<T>) =>
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
          // As many may come as there are browsers: who still waits waits for one that does not start.
          const unavailable = queued && !signal.aborted;
          leaveQueue();
          reject(unavailable ? new ServiceError('tool_unavailable', { detail: NO_BROWSER }) : ended.reason);
        };
        ended.addEventListener('abort', onEnd, { once: true });
        if (ended.aborted) onEnd();
        cluster
          .execute(async ({ page }) => {
            const desk = desks.get(page);
            if (ended.aborted || desk === undefined) return;
            leaveQueue();
            metrics.phases.queue.count += 1;
            metrics.phases.queue.totalMs += performance.now() - queuedAt;
            metrics.jobs += 1;
            metrics.running += 1;
            try {
              resolve(await work(desk, { egress, signal: ended, deadline }, job));
            } catch (error) {
              if (ended.aborted || error instanceof BrowserLost) unsound.add(desk);
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
      await Promise.all(seats.map((seat) => seat[Symbol.asyncDispose]()));
    },
  };
}
