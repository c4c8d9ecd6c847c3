import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkMongodb, withDatabase } from './external-mongodb.ts';
import { listeningPorts } from './listening-ports.ts';
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

/** A MongoDB or Temporal server that this process has started. */
export type Server = Pick<OwnedProcess<void>, 'pid' | 'kill' | 'start'>;

export interface Servers {
  /** MongoDB URI with the names of the database and the replica set. */
  mongodbUri: string;
  /** Address of the Temporal server, as host:port. */
  temporalAddress: string;
  /** URL of the Temporal UI; null if this process did not start the Temporal server. */
  temporalUiUrl: string | null;
  /** The MongoDB server and the Temporal server; each is null if this process did not start it. */
  mongod: Server | null;
  temporal: Server | null;
  ports: ServerPorts;
  /** Sets the base URL of the API, which decodes payloads for the Temporal UI. */
  setApiUrl(baseUrl: string): void;
  stop(): Promise<void>;
}

interface ServersOptions {
  /** Absolute path of the folder for databases, logs and the ports that the last start used. */
  dataDir: string;
  mongodbUri?: string | null;
  temporalAddress?: string | null;
  log: Log;
  /** Whether to restart servers that exit unexpectedly or fail their health checks. Default: false. */
  supervise?: boolean;
  /** Signal that cancels the start when it aborts. Servers that were already started are then stopped. */
  signal?: AbortSignal;
}

type PortName = 'mongod' | 'temporal' | 'temporalHttp' | 'temporalMetrics' | 'temporalUi' | 'ui';

/** Chooses ports for the servers. Prefers the ports of the last start, so that saved addresses stay valid. */
async function createPortChooser(dataDir: string) {
  const file = join(dataDir, 'ports.json');
  const ports: Partial<Record<PortName, number>> = await readFile(file, 'utf8').then(JSON.parse, () => ({}));
  const chosen = new Set<number>();
  return {
    chosen: () => [...chosen],
    choose: async (name: PortName) => {
      const port = await freePort(ports[name]);
      ports[name] = port;
      chosen.add(port);
      return port;
    },
    save: () => writeFile(file, `${JSON.stringify(ports)}\n`),
  };
}

/**
 * Starts a MongoDB server and a Temporal server, each unless the options contain the address of one.
 *
 * @throws StartError when a server cannot be found, reached or started; the other server has then been stopped
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const { dataDir, log, signal, supervise = false } = options;
  const common = { dataDir, log, signal, supervise };
  const ports = await createPortChooser(dataDir);
  await using owned = new AsyncDisposableStack();
  let mongodbUri = options.mongodbUri ?? '';
  let temporalAddress = options.temporalAddress ?? '';
  let mongod: OwnedProcess<void> | null = null;
  let temporal: OwnedProcess<void> | null = null;
  let ui: UiProxy | null = null;
  const listeners = new Set<() => void>();

  if (mongodbUri !== '') {
    mongodbUri = withDatabase(mongodbUri, DATABASE);
    await checkMongodb(mongodbUri);
  }
  // Both programs are fetched at the same time.
  const [mongodProgram, temporalProgram] = await Promise.all([
    mongodbUri === '' ? findMongod(log, signal) : null,
    temporalAddress === '' ? findTemporal(log, signal) : null,
  ]);
  if (mongodProgram !== null) {
    const port = await ports.choose('mongod');
    mongod = createMongod({ ...common, program: mongodProgram, port, database: DATABASE });
    mongodbUri = mongodbUriAt(port, DATABASE);
  }
  if (temporalProgram !== null) {
    const temporalPorts = {
      grpc: await ports.choose('temporal'),
      http: await ports.choose('temporalHttp'),
      metrics: await ports.choose('temporalMetrics'),
      ui: await ports.choose('temporalUi'),
    };
    ui = await startUiProxy(await ports.choose('ui'));
    ui.setUiPort(temporalPorts.ui);
    owned.defer(ui.stop);
    const onReady = () => {
      for (const listener of listeners) listener();
    };
    const codecUrl = `${ui.url}/codec`;
    temporal = createTemporal({
      ...common,
      program: temporalProgram,
      ports: temporalPorts,
      codecUrl,
      onReady,
    });
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
      current: () => {
        // Temporal's internal services listen on random ports that cannot be configured, so ports are also read from
        // the kernel.
        const listening = processes.flatMap(({ pid }) => (pid === undefined ? [] : listeningPorts(pid)));
        return [...new Set([...ports.chosen(), ...listening])];
      },
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    setApiUrl: (baseUrl) => ui?.setApiUrl(baseUrl),
    stop: () => running.disposeAsync(),
  };
}
