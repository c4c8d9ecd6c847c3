import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { machineEnv } from '../../../dev/host.mjs';
import { OwnedProcess } from '../../../dev/process.ts';
import { run } from '../../../dev/programs/run.ts';
import { tethered } from '../../../dev/tether.ts';
import { temporalServer, temporalSqlTool } from '../../provision/items/temporalServer.ts';
import { until } from '../until.ts';
import { isListening, startBalancer } from './balancer.ts';
import { POSTGRESQL_PORT, POSTGRESQL_USER, startPostgresql } from './postgresql.ts';

/** The services of a Temporal server, with their ports. */
const SERVICES = {
  frontend: { grpcPort: 7233, membershipPort: 6933, httpPort: 7243 },
  history: { grpcPort: 7234, membershipPort: 6934 },
  matching: { grpcPort: 7235, membershipPort: 6935 },
  worker: { grpcPort: 7239, membershipPort: 6939 },
} as const;
export const TEMPORAL_SERVICES = ['frontend', 'history', 'matching', 'worker'] as const;
type ServiceName = (typeof TEMPORAL_SERVICES)[number];

/** Databases with the names of their embedded schemas. */
const DATABASES = { temporal: 'temporal', temporal_visibility: 'visibility' };
const COPIES = 2;
const READY_MS = 90_000;
const SQL_LIMITS = { idleMs: 60_000, totalMs: 120_000 };
const root = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

interface TemporalCluster {
  /** Address of a load balancer in front of all frontends. */
  temporalAddress: string;
  /** The processes of each service, each on an address of its own. */
  processes: Readonly<Record<ServiceName, readonly OwnedProcess<unknown>[]>>;
}

/** Addresses on loopback that no other process of the tests uses: 127.1.0.0 to 127.223.255.0, by the process id. */
function addresses(): { of(index: number): string } {
  const [high, low] = [1 + (Math.floor(process.pid / 256) % 223), process.pid % 256];
  return { of: (index) => `127.${high}.${low}.${index}` };
}

/** Configuration of a process; JSON is YAML. Schema: common/config/config.go of the server. */
function configOf(address: string, database: string): object {
  const store = (databaseName: string) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${database}:${POSTGRESQL_PORT}`,
      connectProtocol: 'tcp',
      user: POSTGRESQL_USER,
      maxConns: 10,
      maxIdleConns: 10,
    },
  });
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      numHistoryShards: 4,
      defaultStore: 'default',
      visibilityStore: 'visibility',
      datastores: { default: store('temporal'), visibility: store('temporal_visibility') },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: address } },
    services: Object.fromEntries(
      Object.entries(SERVICES).map(([name, ports]) => [name, { rpc: { ...ports, bindOnIP: address } }]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `${address}:${SERVICES.frontend.grpcPort}`,
        },
      },
    },
    dynamicConfigClient: { filepath: root('docker/temporal/dynamicconfig.yaml'), pollInterval: '60s' },
  };
}

async function createSchemas(database: string, log: (line: string) => void): Promise<void> {
  const program = await temporalSqlTool.get(log);
  for (const [name, schema] of Object.entries(DATABASES)) {
    const sql = (...args: string[]) => {
      const target = ['--plugin', 'postgres12', '--ep', database, '-p', String(POSTGRESQL_PORT)];
      const options = [...target, '-u', POSTGRESQL_USER, '--pw', 'none', '--db', name, ...args];
      return run(program, options, { env: machineEnv(), ...SQL_LIMITS });
    };
    await sql('create');
    await sql('setup-schema', '-v', '0.0');
    await sql('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
}

/** Resolves when a frontend answers with data that the other services have. */
async function answers(address: string): Promise<boolean> {
  const connection = await Connection.connect({ address, connectTimeout: 2_000, interceptors: [] });
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.describeNamespace({ namespace: 'temporal-system' }),
    );
    return true;
  } finally {
    await connection.close();
  }
}

/**
 * Starts Temporal with PostgreSQL and two processes of each service, with the version and dynamic configuration of
 * production. It ends with `open`. Needs root.
 */
export async function startTemporalCluster(
  open: AsyncDisposableStack,
  log: (line: string) => void,
): Promise<TemporalCluster> {
  const program = await temporalServer.get(log);
  const loopback = addresses();
  const database = loopback.of(1);
  await startPostgresql(open, database, log);
  await createSchemas(database, log);
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-temporal-')), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const frontends: string[] = [];
  let used = 1;
  const createProcess = (service: ServiceName, copy: number) => {
    used += 1;
    const address = loopback.of(used);
    if (service === 'frontend') frontends.push(address);
    const name = `${service}-${copy}`;
    const config = join(folder, name);
    return new OwnedProcess({
      name,
      command: () => ({
        ...tethered(program, [
          '--root',
          folder,
          '--config',
          name,
          '--env',
          'test',
          'start',
          '--service',
          service,
        ]),
        env: machineEnv(),
      }),
      async prepare() {
        await mkdir(config, { recursive: true });
        await writeFile(join(config, 'test.yaml'), JSON.stringify(configOf(address, database)));
      },
      ready: (_child, signal) =>
        until(`${name} is ready`, async () => {
          signal.throwIfAborted();
          return isListening(address, SERVICES[service].membershipPort);
        }),
      readyMs: READY_MS,
      graceMs: 1_000,
      logDir: join(folder, 'logs'),
      showOutput: false,
      thirdParty: true,
      log,
      supervise: false,
    });
  };
  const copies = (service: ServiceName) =>
    Array.from({ length: COPIES }, (_, copy) => createProcess(service, copy + 1));
  const processes = {
    frontend: copies('frontend'),
    history: copies('history'),
    matching: copies('matching'),
    worker: copies('worker'),
  };
  const all = Object.values(processes).flat();
  open.defer(async () => {
    await Promise.all(all.map((it) => it.kill('SIGKILL')));
  });
  // The processes start one after the other: each writes the cluster's metadata, and exits if another one writes it at the
  // same time.
  for (const it of all) await it.start();
  await Promise.all(
    frontends.map((host) =>
      until(
        `the frontend at ${host} answers`,
        () => answers(`${host}:${SERVICES.frontend.grpcPort}`).catch(() => false),
        READY_MS,
      ),
    ),
  );
  return {
    temporalAddress: await startBalancer(open, frontends, SERVICES.frontend.grpcPort),
    processes,
  };
}
