import type { Site } from '../helpers/browser.ts';
import type { Stack, startOwnServers } from '../helpers/stack.ts';
import { benchBatches, benchBatchSize, benchBesideBatch, benchCallbacks, HASH, PICTURE } from './batches.ts';
import { benchBrowser } from './browser.ts';
import { benchCalls } from './calls.ts';
import { benchCapacity } from './capacity.ts';
import { benchFairness } from './fairness.ts';
import type { Goal } from './goals.ts';
import { benchHashes } from './hashes.ts';
import { benchHistory } from './history.ts';
import { benchImages } from './images.ts';
import { benchLedger } from './ledger.ts';
import { benchLinks } from './links.ts';
import { benchMcp } from './mcp.ts';
import { benchMemory } from './memory.ts';
import { benchModel } from './model.ts';
import { benchNetwork, type NetworkTarget } from './network.ts';
import { benchOffice } from './office.ts';
import { benchPages } from './pages.ts';
import { benchPing } from './ping.ts';
import { benchSite } from './site.ts';
import type { Sizes } from './sizes.ts';
import { benchStart } from './start.ts';
import { benchWebhooks } from './webhooks.ts';

/** The servers that the sections measure. */
export interface Subjects {
  stack: Stack;
  /** The servers of the stack, which other stacks of the sections use too. */
  servers: Awaited<ReturnType<typeof startOwnServers>>;
  target: NetworkTarget;
  pages: Site;
}

/**
 * The sections of the benchmark by name. Each returns its table.
 *
 * @param goals to which each section adds its own
 */
export const createSections = (
  { stack, servers, target, pages }: Subjects,
  sizes: Sizes,
  goals: Goal[],
): Record<keyof Sizes, () => Promise<object>> => ({
  memory: async () => {
    const { idle, loaded } = await benchMemory(stack, sizes.memory);
    goals.push({ figure: 'idle memory without Chromium, MB', value: idle.sum ?? Number.NaN, atMost: 700 });
    return { 'idle MB': idle, 'after calls MB': loaded };
  },
  calls: async () =>
    (await benchCalls(stack, sizes.calls)).map(({ concurrency, bare, call, latency, throughput }) => {
      if (concurrency === 1) goals.push({ figure: 'call / bare workflow, p50', value: latency, atMost: 0.9 });
      if (concurrency === 32)
        goals.push({ figure: 'call / bare workflow, /s at 32 concurrent', value: throughput, atLeast: 1.3 });
      return {
        concurrency,
        'bare workflow p50 ms': bare.p50,
        'hash-text p50 ms': call.p50,
        'p50 ratio': latency,
        'bare /s': bare.perSecond,
        'hash-text /s': call.perSecond,
        '/s ratio': throughput,
      };
    }),
  batches: async () => {
    const { calls, rows, ratio } = await benchBatches(stack, HASH, sizes.batches);
    const { concurrency } = sizes.batches;
    goals.push({
      figure: `rows of a batch / calls at ${concurrency} concurrent, /s of hash-text`,
      value: ratio,
      atLeast: 8,
    });
    return { 'hash-text': { 'calls /s': calls, 'rows /s': rows, ratio } };
  },
  browserBatches: async () => {
    const { calls, rows, ratio } = await benchBatches(stack, PICTURE, sizes.browserBatches);
    const { concurrency } = sizes.browserBatches;
    goals.push({
      figure: `rows of a batch / calls at ${concurrency} concurrent, /s of ${PICTURE.tool}`,
      value: ratio,
      atLeast: 1,
    });
    return { [PICTURE.tool]: { 'calls /s': calls, 'rows /s': rows, ratio } };
  },
  batchSize: async () => {
    const [few, many] = await benchBatchSize(stack, sizes.batchSize);
    if (few === undefined || many === undefined) throw new Error('no figures');
    const beside = `${many.rows} rows / of ${few.rows}`;
    goals.push(
      { figure: `memory of a batch of ${beside}`, value: many.memory / few.memory, atMost: 1.2 },
      {
        figure: `history events of the queue of a batch of ${many.rows} rows`,
        value: many.events,
        atMost: 2500,
      },
    );
    return Object.fromEntries(
      [few, many].map(({ rows, memory, events }) => [
        `${rows} rows`,
        { 'memory MB': memory, 'history events': events },
      ]),
    );
  },
  besideBatch: async () => {
    const { idle, busy, ratio } = await benchBesideBatch(stack, sizes.besideBatch);
    goals.push({ figure: 'calls beside a batch of another account / alone, p95', value: ratio, atMost: 1.5 });
    return { 'hash-text': { 'idle p95 ms': idle, 'p95 ms beside a batch': busy, ratio } };
  },
  callbacks: async () => {
    const { p50, p95 } = await benchCallbacks(stack, sizes.callbacks);
    goals.push({ figure: 'callback after the end of its job, p95 ms', value: p95, atMost: 1000 });
    return { callbacks: { 'p50 ms': p50, 'p95 ms': p95 } };
  },
  mcp: async () =>
    (await benchMcp(stack, sizes.mcp)).map(({ era, http, mcp, overhead }) => {
      goals.push({ figure: `hash-text through MCP (${era}), p50 ms above HTTP`, value: overhead, atMost: 5 });
      return {
        clients: era,
        'HTTP p50 ms': http,
        'MCP p50 ms': mcp,
        'p50 ms above HTTP': overhead,
      };
    }),
  site: async () =>
    (await benchSite(stack, sizes.site)).map(({ path, performance, firstPaint }) => {
      goals.push({ figure: `Lighthouse performance of ${path}`, value: performance, atLeast: 95 });
      if (path.startsWith('/docs/tools/'))
        goals.push({ figure: 'first contentful paint of a tool page, ms', value: firstPaint, atMost: 1000 });
      return { page: path, performance, 'first contentful paint ms': firstPaint };
    }),
  capacity: async () => {
    const { rows, idle, memory } = await benchCapacity(stack, servers, target, sizes.capacity);
    const sum = (sums: Record<string, number>) => Object.values(sums).reduce((all, one) => all + one, 0);
    const [hash] = rows;
    if (hash !== undefined)
      goals.push(
        { figure: 'MongoDB operations of hash-text', value: sum(hash.operations), atMost: 12 },
        { figure: 'Temporal history events of hash-text', value: hash.events, atMost: 13 },
      );
    return {
      ...Object.fromEntries(
        rows.map(({ tool, pool, perSecond, p50, cpu, operations, storedBytes, historyBytes, ...row }) => [
          `${tool} (${pool})`,
          {
            '/s at 4 concurrent': perSecond,
            'p50 ms': p50,
            'API CPU ms': cpu.api,
            'orchestrator CPU ms': cpu.orchestrator,
            'worker CPU ms': cpu[pool],
            'MongoDB CPU ms': cpu.mongod,
            'Temporal CPU ms': cpu.temporal,
            'MongoDB operations': sum(operations),
            'MongoDB writes': sum({ ...operations, query: 0, command: 0, getmore: 0 }),
            'MongoDB bytes': storedBytes,
            'Temporal events': row.events,
            'Temporal bytes': historyBytes,
            'Temporal actions': row.actions,
          },
        ]),
      ),
      'idle, CPU ms per s': idle.cpu,
      'idle, MongoDB operations per s': idle.operations,
      'memory MB': memory,
    };
  },
  model: async () => {
    const { one, two, ratio, ...figures } = await benchModel(servers, sizes.model);
    goals.push({
      figure: 'calls /s with two of each, measured / predicted',
      value: ratio,
      atLeast: 0.8,
      atMost: 1.2,
    });
    return {
      'one of each, CPU ms per call': one,
      'two of each, CPU ms per call': two,
      'two of each': { ...figures, ratio },
    };
  },
  fairness: async () =>
    (await benchFairness(servers, sizes.fairness)).map(
      ({ pool, flood, flooders, concurrency, idle, longestJob, limit, ...row }) => {
        const floodName = `${flood}, ${flooders} x ${concurrency} concurrent`;
        goals.push({
          figure: `${pool} p95 ms during a flood of ${floodName}`,
          value: row.p95,
          atMost: limit,
        });
        goals.push({
          figure: `${pool} answers of 503 during a flood of ${floodName}`,
          value: row.unavailable,
          atMost: 0,
        });
        return {
          pool,
          flood: floodName,
          'idle p95 ms': idle,
          'longest job ms': longestJob,
          'p50 ms': row.p50,
          'p95 ms': row.p95,
          'max ms': row.max,
          'allowed p95 ms': limit,
          calls: row.calls,
          refused: row.refused,
          '503': row.unavailable,
          'flood /s': row.floodPerSecond,
        };
      },
    ),
  start: async () => {
    const { first, second } = await benchStart(sizes.start);
    goals.push({ figure: 'second start, s', value: second, atMost: 8 });
    return { 'first start s': first, 'second start s': second };
  },
  ledger: async () => {
    const rows = await benchLedger(stack.mongodbUri, sizes.ledger);
    for (const { accounts, concurrency, isGoal, pairsPerSecond: value } of rows) {
      const where = accounts === 1 ? 'one account' : 'many accounts';
      const figure = `reserve and settle on ${where}, ${concurrency} at a time, pairs/s`;
      if (isGoal) goals.push({ figure, value, atLeast: 3000 });
    }
    return rows.map(({ isGoal: _, ...row }) => row);
  },
  hashes: async () => benchHashes(sizes.hashes),
  network: async () => {
    const { http, scrapes, vetMicroseconds } = await benchNetwork(stack, target, sizes.network);
    return {
      ...Object.fromEntries(
        http.map(({ targetMs, ...row }) => [`http-request to a target of ${targetMs} ms`, row]),
      ),
      'concurrent web-scrapes of 1 MB: event loop delay ms': scrapes,
      'vet of a literal µs': { p50: vetMicroseconds },
    };
  },
  ping: async () =>
    (await benchPing(sizes.ping)).map(({ method, avgMs, maxMs }) => {
      goals.push({ figure: `ping of loopback by a busy worker (${method}), ms`, value: avgMs, atMost: 1 });
      return { method, 'largest average ms': avgMs, 'longest ms': maxMs };
    }),
  links: async () => {
    const { ours, linkinator, latency } = await benchLinks(sizes.links);
    return { 'ours ms': ours.p50, 'linkinator ms': linkinator.p50, ratio: latency };
  },
  webhooks: async () => {
    const { perSecond, half, isolation } = await benchWebhooks(stack, sizes.webhooks);
    goals.push(
      { figure: 'webhooks delivered, /s', value: perSecond, atLeast: 300 },
      { figure: 'webhook p99 with / without a hanging endpoint', value: isolation, atMost: 1.2 },
    );
    return {
      'deliveries /s': perSecond,
      'first attempt p50 ms': half.p50,
      'first attempt p99 ms': half.p99,
      'p99 ratio with a hanging endpoint': isolation,
    };
  },
  images: async () => {
    const { rows, tooLarge } = await benchImages(sizes.images);
    return {
      ...Object.fromEntries(
        rows.map(({ work, library, libraryMs, ours, ratio }) => [
          work,
          { library, 'library p50 ms': libraryMs, 'ours p50 ms': ours, ratio },
        ]),
      ),
      ...Object.fromEntries(
        tooLarge.map(({ tool, ...cost }) => [`${tool}, refusal of 7,000 x 6,000 pixels`, cost]),
      ),
    };
  },
  office: async () =>
    (await benchOffice(sizes.office)).map(({ calls, cold, unoserver, ours }) => {
      const latency = ours.p50 / unoserver.p50;
      const throughput = ours.perSecond / unoserver.perSecond;
      goals.push(
        calls === 'four at once'
          ? { figure: 'word-to-pdf / unoserver, /s four at once', value: throughput, atLeast: 2 }
          : { figure: `word-to-pdf / unoserver, p50 ${calls}`, value: latency, atMost: 0.6 },
      );
      return {
        'word-to-pdf': calls,
        'cold soffice p50 ms': cold.p50,
        'unoserver p50 ms': unoserver.p50,
        'ours p50 ms': ours.p50,
        'ours / cold': ours.p50 / cold.p50,
        'p50 ratio to unoserver': latency,
        '/s ratio to unoserver': throughput,
      };
    }),
  browser: async () => {
    const { rows, feed, configurations } = await benchBrowser(stack, pages, sizes.browser);
    goals.push({ figure: 'screenshot of an endless feed, p50 ms', value: feed.p50, atMost: 15_000 });
    for (const { page, concurrency, latency, throughput } of rows)
      goals.push(
        concurrency === 1
          ? { figure: `screenshot / bare puppeteer, p50 (${page})`, value: latency, atMost: 1.1 }
          : {
              figure: `screenshot / bare puppeteer, /s at ${concurrency} concurrent (${page})`,
              ...{ value: throughput, atLeast: 1 },
            },
      );
    return [
      ...rows.map(
        ({ page, concurrency, bare, script, windows, competitors, empty, ours, latency, ...throughput }) => ({
          screenshot: `${page}, ${concurrency} concurrent`,
          'bare puppeteer p50 ms': bare.p50,
          'with windows p50 ms': windows.p50,
          'capture-website p50 ms': competitors?.['capture-website'].p50,
          'browserless p50 ms': competitors?.browserless.p50,
          'empty call p50 ms': empty.p50,
          'ours p50 ms': ours.p50,
          'p50 ratio': latency,
          'bare /s': bare.perSecond,
          'ours /s': ours.perSecond,
          '/s ratio': throughput.throughput,
          'one script /s': script?.perSecond,
          'ours / one script': throughput.throughputByScript,
          'with windows /s': windows.perSecond,
          'ours / with windows': throughput.throughputByWindows,
        }),
      ),
      { 'endless feed p50 ms': feed.p50 },
      ...Object.entries(configurations).map(([screenshot, configuration]) => ({ screenshot, configuration })),
    ];
  },
  pages: async () =>
    (await benchPages(stack, sizes.pages)).map(({ page, p50, p95, byEmpty }) => {
      goals.push({ figure: `dashboard page ${page}, p95 ms`, value: p95, atMost: 50 });
      return { page, 'p50 ms': p50, 'p95 ms': p95, 'p50 ratio to an empty account': byEmpty };
    }),
  // The last section, because it makes the database large.
  history: async () => benchHistory(stack, sizes.history),
});
