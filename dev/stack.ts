import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkMongodb, withDatabase } from './external.ts';
import { listeningPorts } from './listeners.ts';
import { createMongod, mongodbUriAt } from './mongod.ts';
import { freePort } from './ports.ts';
import type { OwnedProcess } from './process.ts';
import { findMongod } from './programs/mongod.ts';
import { findTemporal } from './programs/temporal.ts';
import type { ServerPorts } from './service.ts';
import type { Log } from './start-error.ts';
import { createTemporal } from './temporal.ts';
import { startUiProxy, type UiProxy } from './ui.ts';

export { defaultPools, type Service, type ServiceOptions, startService } from './service.ts';
export type { Log } from './start-error.ts';

const DATABASE = 'utility_tools';

/** A mongod or temporal that we own. */
export type Server = Pick<OwnedProcess<void>, 'pid' | 'kill' | 'start'>;

export interface Servers {
  /** With database and replica set. */
  mongodbUri: string;
  /** host:port */
  temporalAddress: string;
  /** null where the Temporal server is not ours. */
  temporalUiUrl: string | null;
  /** null where it is not ours; so with `temporal`. */
  mongod: Server | null;
  temporal: Server | null;
  ports: ServerPorts;
  /** From now on the UI reads payloads through this API. */
  serveCodec(baseUrl: string): void;
  stop(): Promise<void>;
}

export interface ServersOptions {
  /** Absolute path; databases, logs and the ports of the last time lie there. */
  dataDir: string;
  mongodbUri?: string | null;
  temporalAddress?: string | null;
  log: Log;
  /** Start a server again that dies. Default false. */
  supervise?: boolean;
  /** Gives up the start; everything started is stopped then. */
  signal?: AbortSignal;
}

type PortName = 'mongod' | 'temporal' | 'temporalHttp' | 'temporalMetrics' | 'temporalUi' | 'ui';

/** The ports of the last start are tried first: addresses that were noted down stay right. */
async function rememberedPorts(dataDir: string) {
  const file = join(dataDir, 'ports.json');
  const ports: Partial<Record<PortName, number>> = await readFile(file, 'utf8').then(JSON.parse, () => ({}));
  const picked = new Set<number>();
  return {
    picked: () => [...picked],
    pick: async (name: PortName) => {
      const port = await freePort(ports[name]);
      ports[name] = port;
      picked.add(port);
      return port;
    },
    save: () => writeFile(file, `${JSON.stringify(ports)}\n`),
  };
}

/**
 * MongoDB and Temporal, each started here unless its address is given.
 *
 * @throws StartError when one cannot be had or does not start; nothing is left running then
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const { dataDir, log, signal, supervise = false } = options;
  const common = { dataDir, log, signal, supervise };
  const ports = await rememberedPorts(dataDir);
  await using owned = new AsyncDisposableStack();
  let { mongodbUri, temporalAddress } = options;
  let mongod: OwnedProcess<void> | null = null;
  let temporal: OwnedProcess<void> | null = null;
  let ui: UiProxy | null = null;
  const listeners = new Set<() => void>();

  if (mongodbUri) {
    mongodbUri = withDatabase(mongodbUri, DATABASE);
    await checkMongodb(mongodbUri);
  } else {
    const program = await findMongod(log, signal);
    const port = await ports.pick('mongod');
    mongod = createMongod({ ...common, program, port, database: DATABASE });
    mongodbUri = mongodbUriAt(port, DATABASE);
  }
  if (!temporalAddress) {
    const program = await findTemporal(log, signal);
    const temporalPorts = {
      grpc: await ports.pick('temporal'),
      http: await ports.pick('temporalHttp'),
      metrics: await ports.pick('temporalMetrics'),
      ui: await ports.pick('temporalUi'),
    };
    ui = await startUiProxy(await ports.pick('ui'));
    ui.showUi(temporalPorts.ui);
    owned.defer(ui.stop);
    const onReady = () => {
      for (const listener of listeners) listener();
    };
    const codecUrl = `${ui.url}/codec`;
    temporal = createTemporal({ ...common, program, ports: temporalPorts, codecUrl, onReady });
    temporalAddress = `127.0.0.1:${temporalPorts.grpc}`;
  }
  const processes = [mongod, temporal].filter((process) => process !== null);
  owned.defer(async () => {
    await Promise.all(processes.map((process) => process.stop()));
  });
  await Promise.all(processes.map((process) => process.start()));
  await ports.save();

  const running = owned.move();
  return {
    mongodbUri,
    temporalAddress,
    temporalUiUrl: ui?.url ?? null,
    mongod,
    temporal,
    ports: {
      now: () => {
        // Temporal's services talk over ports that no option sets, and that are others at each start.
        const found = processes.flatMap(({ pid }) => (pid === undefined ? [] : listeningPorts(pid)));
        return [...new Set([...ports.picked(), ...found])];
      },
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    serveCodec: (baseUrl) => ui?.serveCodec(baseUrl),
    stop: () => running.disposeAsync(),
  };
}
