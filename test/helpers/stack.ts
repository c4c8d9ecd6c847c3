import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { prepareNamespace } from '../../dev/namespace.ts';
import { freePort } from '../../dev/ports.ts';
import {
  defaultPools,
  type Server as ServerProcess,
  type Servers,
  type Service,
  startServers,
  startService,
} from '../../dev/stack.ts';
import { onParentExit } from '../../platform/onParentExit.ts';

export interface Stack extends Service {
  /** URI of a database that only this stack uses. */
  mongodbUri: string;
  temporalAddress: string;
  /** A Temporal namespace that only this stack uses. */
  namespace: string;
  /** A temporary folder that only this stack uses. */
  dataDir: string;
  /** The environment variables of the stack's processes, for `readEnv` or for the operator commands. */
  env: Record<string, string>;
}

type Addresses = Pick<Servers, 'mongodbUri' | 'temporalAddress'> & Partial<Pick<Servers, 'ports'>>;

const log = (line: string) => process.stderr.write(`${line}\n`);

// The test run was killed. Exiting closes the IPC channels to the child processes, which makes them exit too.
onParentExit(() => process.exit(1));

const makeFolder = (parent = tmpdir()) => mkdtemp(join(parent, 'utility-tools-test-'));
const removeFolder = (folder: string) => rm(folder, { recursive: true, force: true });

/**
 * Starts a MongoDB and a Temporal server for one test, which may kill and restart them.
 *
 * @param parent folder for their data. Default: the folder for temporary files
 */
export async function startOwnServers(
  parent?: string,
): Promise<Servers & { mongod: ServerProcess; temporal: ServerProcess }> {
  await using owned = new AsyncDisposableStack();
  const dataDir = owned.adopt(await makeFolder(parent), removeFolder);
  const servers = owned.adopt(await startServers({ dataDir, log }), (it) => it.stop());
  const { mongod, temporal } = servers;
  if (mongod === null || temporal === null) throw new Error('startServers did not start both servers');
  const running = owned.move();
  return { ...servers, mongod, temporal, stop: () => running.disposeAsync() };
}

/** The servers that this process has started, for a test file that runs alone. The last user stops them. */
const shared: { servers: ReturnType<typeof startOwnServers> | null; users: number } = {
  servers: null,
  users: 0,
};

/** Returns the servers of `npm test`, or starts servers if this test file runs alone. */
async function useServers(): Promise<Addresses & { leave(): Promise<void> }> {
  const { TEST_MONGODB_URI: mongodbUri, TEST_TEMPORAL_ADDRESS: temporalAddress } = process.env;
  if (mongodbUri && temporalAddress) return { mongodbUri, temporalAddress, leave: async () => undefined };
  shared.users += 1;
  shared.servers ??= startOwnServers();
  const servers = await shared.servers;
  return {
    ...servers,
    async leave() {
      shared.users -= 1;
      if (shared.users > 0) return;
      shared.servers = null;
      await servers.stop();
    },
  };
}

const freshName = (): string => `test-${randomUUID()}`;

/** Replaces the database of a URI, which may list several hosts and is then no URL. */
const freshDatabase = (uri: string): string =>
  uri.replace(/^(mongodb:\/\/[^/]+)\/[^?]*/, `$1/${freshName()}`);

async function dropDatabase(uri: string): Promise<void> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5_000 });
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}

/** Creates a database on the MongoDB server that test files share. */
export async function startDatabase(): Promise<{ mongodbUri: string; stop(): Promise<void> }> {
  const servers = await useServers();
  const mongodbUri = freshDatabase(servers.mongodbUri);
  return {
    mongodbUri,
    async stop() {
      await dropDatabase(mongodbUri);
      await servers.leave();
    },
  };
}

/** Creates a namespace on the Temporal server that test files share. */
export async function startNamespace() {
  const { temporalAddress, leave } = await useServers();
  const namespace = freshName();
  await prepareNamespace(temporalAddress, namespace);
  return { temporalAddress, namespace, stop: leave };
}

/**
 * The parts of a shared stack that test files may use. They may not kill or restart its processes, and each file
 * creates its own accounts.
 */
export type SharedStack = Pick<
  Stack,
  | 'baseUrl'
  | 'baseUrls'
  | 'internalUrl'
  | 'mongodbUri'
  | 'temporalAddress'
  | 'namespace'
  | 'dataDir'
  | 'env'
  | 'stop'
>;

/**
 * The loopback address on which tests start the servers that tools call. The shared stacks forbid all other loopback
 * addresses, so that tests can also request a forbidden one.
 */
export const TARGET_HOST = '127.77.0.1';

/**
 * Makes a server listen on an address that the shared stack allows. Returns host:port. The port is also free on
 * 127.0.0.1, because the service forbids its own ports on all loopback addresses.
 */
export async function listenAsTarget(server: Server): Promise<string> {
  const port = await freePort();
  await once(server.listen(port, TARGET_HOST), 'listening');
  return `${TARGET_HOST}:${port}`;
}

export interface StackOptions {
  /** Number of API processes. Default 1. */
  apis?: number;
  /** Default: the orchestrator and every pool that has a tool. */
  pools?: readonly string[];
  /** Overrides the environment defaults of the tests, which are: no limits, free ports, log level `warn`. */
  env?: Record<string, string>;
  /** Default: the shared servers. The stack does not stop servers that are given in this option. */
  servers?: Addresses;
}

/**
 * Starts the whole service with a new database and namespace. Start it in `test.before`, stop it in
 * `test.after.always`.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  await using owned = new AsyncDisposableStack();
  const servers = options.servers ?? owned.adopt(await useServers(), (it) => it.leave());
  const dataDir = owned.adopt(await makeFolder(), removeFolder);
  const { temporalAddress } = servers;
  const mongodbUri = freshDatabase(servers.mongodbUri);
  const namespace = freshName();
  await prepareNamespace(temporalAddress, namespace);
  // Servers that the test started may be stopped already, and their data is deleted with them.
  if (options.servers === undefined) owned.defer(() => dropDatabase(mongodbUri));
  const env = {
    NODE_ENV: 'test',
    PORT: '0',
    INTERNAL_PORT: '0',
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'warn',
    DATA_DIR: dataDir,
    MONGODB_URI: mongodbUri,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: namespace,
    // The feeds are unavailable: no server listens at this address, because tests do not use the Internet.
    GOLD_FEED_URL: 'http://127.0.0.1:9',
    FX_FEED_URL: 'http://127.0.0.1:9',
    ...options.env,
  };
  const pools = options.pools ?? (await defaultPools());
  const logDir = join(dataDir, 'logs');
  const service = owned.adopt(
    await startService({
      env,
      pools,
      logDir,
      log,
      apis: options.apis ?? 1,
      serverPorts: servers.ports,
    }),
    (it) => it.stop(),
  );
  const running = owned.move();
  return {
    ...service,
    mongodbUri,
    temporalAddress,
    namespace,
    dataDir,
    env,
    stop: () => running.disposeAsync(),
  };
}
