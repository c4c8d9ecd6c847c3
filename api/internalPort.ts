import { pollerChecks, queuesOf, temporalCheck } from '../platform/healthChecks.ts';
import { createInternalServer } from '../platform/internalServer.ts';
import { drain, listen } from '../platform/listen.ts';
import { observeReadiness } from '../platform/metricsRegistry.ts';
import { createReadiness, type Readiness } from '../platform/readiness.ts';
import { createVault, type Vault } from '../platform/secrets/vault.ts';
import { mongodbCheck } from '../store/mongo/probe.ts';
import { type Outages, watchOutages } from './calls/outages.ts';
import type { ApiCore } from './core.ts';

/** The health of the API and of its servers, and the port at which other processes ask for it. */
export interface InternalPort {
  /** URL of the port. */
  internalUrl: string;
  /** URL at which workers reach the vault of this process. */
  vaultUrl: string;
  vault: Vault;
  /** The task queues that need a worker. */
  queues: readonly string[];
  /** Determines whether the API is ready, for `/readyz`. */
  readiness(): Promise<Readiness>;
  outages: Outages;
}

/** Starts to watch MongoDB and Temporal, and listens on the internal port. */
export async function openInternalPort(core: ApiCore): Promise<InternalPort> {
  const { env, log, registry, store, client, keyring, metrics, open } = core;
  const queues = queuesOf(registry);
  const servers = { ...mongodbCheck(store), ...temporalCheck(client) };
  const readiness = createReadiness({ ...servers, ...pollerChecks(client, queues) });
  observeReadiness(metrics, readiness);
  const outages = open.adopt(watchOutages(servers, log), (it) => it.stop());
  const vault = createVault(keyring);
  const server = createInternalServer({ readiness, vault, metrics: () => metrics.metrics() });
  const internalUrl = await listen(open.adopt(server, drain), env.HOST, env.INTERNAL_PORT);
  core.addPort(internalUrl);
  const vaultUrl = env.INTERNAL_ADVERTISE ?? internalUrl;
  return { internalUrl, vaultUrl, vault, queues, readiness, outages };
}
