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

/** A mongod or temporal process started here. */
export type Server = Pick<OwnedProcess<void>, 'pid' | 'kill' | 'start'>;

export interface Servers {
  /** URI with database and replica set. */
  mongodbUri: string;
  /** host:port */
  temporalAddress: string;
  /** null if the Temporal server was not started here. */
  temporalUiUrl: string | null;
  /** null if not started here; the same for `temporal`. */
  mongod: Server | null;
  temporal: Server | null;
  ports: ServerPorts;
  /** Sets the API that decodes payloads for the UI. */
  setApiUrl(baseUrl: string): void;
  stop(): Promise<void>;
}

export interface ServersOptions {
  /** Absolute path of the folder for databases, logs and the ports of the last start. */
  dataDir: string;
  mongodbUri?: string | null;
  temporalAddress?: string | null;
  log: Log;
  /** Restart servers that end unexpectedly or fail their health checks. Default false. */
  supervise?: boolean;
  /** Cancels the start and stops everything that was started. */
  signal?: AbortSignal;
}

type PortName = 'mongod' | 'temporal' | 'temporalHttp' | 'temporalMetrics' | 'temporalUi' | 'ui';

/** Chooses ports, preferring those of the last start so that saved addresses stay valid. */
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
 * Starts MongoDB and Temporal, each unless its address is given.
 *
 * @throws StartError when one cannot be found, reached or started; the other is then stopped
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const { dataDir, log, signal, supervise = false } = options;
  const common = { dataDir, log, signal, supervise };
  const ports = await createPortChooser(dataDir);
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
    const port = await ports.choose('mongod');
    mongod = createMongod({ ...common, program, port, database: DATABASE });
    mongodbUri = mongodbUriAt(port, DATABASE);
  }
  if (!temporalAddress) {
    const program = await findTemporal(log, signal);
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
      current: () => {
        // Temporal's internal services listen on random ports that cannot be configured.
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
