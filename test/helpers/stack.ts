import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { prepareNamespace } from '../../dev/namespace.ts';
import {
  defaultPools,
  type Server,
  type Servers,
  type Service,
  startServers,
  startService,
} from '../../dev/stack.ts';

export interface Stack extends Service {
  /** With a database of its own. */
  mongodbUri: string;
  temporalAddress: string;
  /** Of its own. */
  namespace: string;
  /** A temporary folder of its own. */
  dataDir: string;
  /** What its processes were given: for `readEnv`, or to run the operator commands with. */
  env: Record<string, string>;
}

type Addresses = Pick<Servers, 'mongodbUri' | 'temporalAddress'> & Partial<Pick<Servers, 'ports'>>;

const log = (line: string) => process.stderr.write(`${line}\n`);

// The test run was killed: end, so that the channels to the processes we started close, and they end too.
process.once('disconnect', () => process.exit(1));

const makeFolder = (parent = tmpdir()) => mkdtemp(join(parent, 'utility-tools-test-'));
const removeFolder = (folder: string) => rm(folder, { recursive: true, force: true });

/**
 * A MongoDB and a Temporal for one test alone, which may kill and start them.
 *
 * @param parent folder for their data. Default: that of temporary files
 */
export async function startOwnServers(
  parent?: string,
): Promise<Servers & { mongod: Server; temporal: Server }> {
  await using owned = new AsyncDisposableStack();
  const dataDir = owned.adopt(await makeFolder(parent), removeFolder);
  const servers = owned.adopt(await startServers({ dataDir, log }), (it) => it.stop());
  const { mongod, temporal } = servers;
  if (mongod === null || temporal === null) throw new Error('startServers was given no address');
  const running = owned.move();
  return { ...servers, mongod, temporal, stop: () => running.disposeAsync() };
}

/** Servers of this process, for a test file that runs alone; the last user stops them. */
const shared: { servers: ReturnType<typeof startOwnServers> | null; users: number } = {
  servers: null,
  users: 0,
};

/** The servers of `npm test`, or ones of our own. */
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

function freshDatabase(uri: string): string {
  const fresh = new URL(uri);
  fresh.pathname = `/${freshName()}`;
  return fresh.href;
}

async function dropDatabase(uri: string): Promise<void> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5_000 });
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}

/** A database of its own on the shared MongoDB. */
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

/** A namespace of its own on the shared Temporal server. */
export async function startNamespace() {
  const { temporalAddress, leave } = await useServers();
  const namespace = freshName();
  await prepareNamespace(temporalAddress, namespace);
  return { temporalAddress, namespace, stop: leave };
}

export interface StackOptions {
  /** API processes. Default 1. */
  apis?: number;
  /** Default: the orchestrator and every pool that has a tool. */
  pools?: readonly string[];
  /** Over the defaults of a test: no limits, free ports, warnings only. */
  env?: Record<string, string>;
  /** Default: the shared ones. These are not stopped with the stack. */
  servers?: Addresses;
}

/** The whole service on a database and a namespace of its own. Start it in `test.before`, stop it in `test.after.always`. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  await using owned = new AsyncDisposableStack();
  const servers = options.servers ?? owned.adopt(await useServers(), (it) => it.leave());
  const dataDir = owned.adopt(await makeFolder(), removeFolder);
  const { temporalAddress } = servers;
  const mongodbUri = freshDatabase(servers.mongodbUri);
  const namespace = freshName();
  await prepareNamespace(temporalAddress, namespace);
  // Servers of the test's own may be down by then, and their data goes with them.
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
    // No test reaches the Internet: nothing listens here.
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
