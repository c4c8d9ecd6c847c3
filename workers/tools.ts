import { availableParallelism } from 'node:os';
import type { BrowserMetrics } from '../activities/browser/metrics.ts';
import { createDecoders } from '../activities/decoders/pool.ts';
import { openResources } from '../activities/runtime/resources.ts';
import { createThreads } from '../activities/runtime/threads.ts';
import { createGateway } from '../egress/gateway.ts';
import { createResolver } from '../egress/resolver.ts';
import { POOL_TABLE, type Pool } from '../schemas/pools.ts';
import { createResults, mongodbPieces } from '../store/calls/results.ts';
import { createFileContents } from '../store/files/fileContents.ts';
import { createLinks } from '../store/files/links.ts';
import type { WorkerCore } from './core.ts';
import { createFastLane } from './fastLane.ts';
import { gatewayPieces } from './gatewayClient.ts';
import { observeBrowsers, observeTools } from './metrics.ts';
import { laneSlots, type PoolOptions, toolWorker } from './pools.ts';
import { noQuotes, openQuotes } from './quotes.ts';
import { createVaultClient } from './vaultClient.ts';

/** Creates the worker of a tool pool, with the programs that its tools keep running. */
export async function createTools(core: WorkerCore, pool: Pool): Promise<PoolOptions> {
  const { env, log, registry, metrics, keyring, store, open } = core;
  const { GATEWAY_URL } = env;
  const resolver = createResolver({ servers: env.DNS_SERVERS });
  const gateway = GATEWAY_URL === null ? null : createGateway(GATEWAY_URL);
  const egress = core.createGuard({ resolver, allow: env.EGRESS_ALLOW, gateway });
  const onFault = (feed: string, error: unknown) =>
    log.warn({ feed, err: error }, 'a quote feed could not be refreshed; the last good quotes stay in use');
  const quotes = store === null ? noQuotes : openQuotes(env, store, resolver, onFault);
  const pieces = GATEWAY_URL === null ? mongodbPieces(core.requireStore()) : gatewayPieces(GATEWAY_URL);
  const decoders = open.adopt(
    createDecoders({
      memoryBytes: POOL_TABLE[pool].jobMemory * 2 ** 30,
      programs: env.PROGRAMS_DIR,
      log: (line) => log.warn(line),
    }),
    (it) => it.close(),
  );
  const operator = {
    env,
    log: (line: string) => log.warn(line),
    observeBrowsers: (figures: BrowserMetrics) => observeBrowsers(metrics, figures),
  };
  const tools = [...registry.values()].filter((tool) => tool.pool === pool).map(({ name }) => name);
  const slots = laneSlots(pool, env.WORKER_SLOTS);
  const { first, further, fast } = slots;
  const services = {
    observe: observeTools(metrics, first + further + fast),
    log,
    results: createResults(pieces, keyring),
    files: createFileContents(pieces, keyring),
    links: createLinks(pieces, keyring),
    openVault: createVaultClient(keyring),
    resources: open.use(await openResources(tools, operator)),
    // Slow tools hold at most `first + further` threads, so that some are left for fast ones.
    threads: open.adopt(
      createThreads(POOL_TABLE[pool].thread ? 1 : 0, first + further + availableParallelism()),
      (it) => it.close(),
    ),
    offload: decoders.offload,
    context: { resolver, egress, quotes: open.adopt(quotes, (it) => it.close()) },
  };
  const fastLane = fast > 0 ? await createFastLane(core, pool) : null;
  return toolWorker(pool, registry, services, slots, fastLane);
}
