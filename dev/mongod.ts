import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Document, MongoClient, MongoServerError } from 'mongodb';
import { probeDatabase } from '../store/mongo/probe.ts';
import { machineEnv } from './host.mjs';
import { OwnedProcess } from './process.ts';
import type { Log } from './start-error.ts';
import { tethered } from './tether.ts';

export const REPLICA_SET = 'rs0';
/** Time limit in milliseconds for each step of a health check. */
const PROBE_MS = 4_000;
/** MongoDB's error codes NotYetInitialized and AlreadyInitialized. */
const NOT_YET_INITIALIZED = 94;
const ALREADY_INITIALIZED = 23;

interface MongodOptions {
  program: string;
  dataDir: string;
  port: number;
  /** Name of the service's database, in which the health check writes and reads. */
  database: string;
  log: Log;
  supervise: boolean;
  signal?: AbortSignal | undefined;
}

export const mongodbUriAt = (port: number, database: string): string =>
  `mongodb://127.0.0.1:${port}/${database}?replicaSet=${REPLICA_SET}`;

async function replicaSetConfig(admin: { command(command: Document): Promise<Document> }) {
  try {
    const { config } = await admin.command({ replSetGetConfig: 1 });
    return config;
  } catch (error) {
    if (error instanceof MongoServerError && error.code === NOT_YET_INITIALIZED) return null;
    throw error;
  }
}

/**
 * Makes the MongoDB server the only member of its replica set. Reconfigures the replica set if the server's port has
 * changed.
 */
async function ensureReplicaSet(client: MongoClient, host: string): Promise<void> {
  const admin = client.db('admin');
  const config = await replicaSetConfig(admin);
  if (config === null) {
    await admin
      .command({ replSetInitiate: { _id: REPLICA_SET, members: [{ _id: 0, host }] } })
      .catch((error) => {
        if (!(error instanceof MongoServerError && error.code === ALREADY_INITIALIZED)) throw error;
      });
  } else if (config.members[0].host !== host) {
    const members = [{ ...config.members[0], host }];
    await admin.command({
      replSetReconfig: { ...config, members, version: config.version + 1 },
      force: true,
    });
  }
}

async function isPrimary(host: string): Promise<boolean> {
  const limits = { serverSelectionTimeoutMS: 1_000, socketTimeoutMS: 10_000 };
  const client = new MongoClient(`mongodb://${host}/`, { directConnection: true, ...limits });
  try {
    await ensureReplicaSet(client, host);
    const { isWritablePrimary } = await client.db('admin').command({ hello: 1 });
    return isWritablePrimary === true;
  } finally {
    await client.close();
  }
}

/** Writes to the database and reads from it, as the service does, on a new connection. @throws when that fails */
async function checkReadsAndWrites(port: number, database: string): Promise<void> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/`, {
    directConnection: true,
    serverSelectionTimeoutMS: PROBE_MS,
  });
  try {
    await probeDatabase(client.db(database), PROBE_MS);
  } finally {
    await client.close();
  }
}

async function waitForPrimary(port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      if (await isPrimary(`127.0.0.1:${port}`)) return;
    } catch (error) {
      // Errors are expected until the server listens and has recovered. `signal` ends the wait.
      if (signal.aborted) throw error;
    }
    await sleep(50);
  }
}

/**
 * Seconds after which MongoDB ends an open transaction; it looks for such transactions at intervals of half that time. A
 * process that is killed leaves its transactions open, and writes to the same documents wait for them. The default is 60.
 */
const TRANSACTION_SECONDS = 15;

/** Returns the command-line arguments of `mongod` for one member of the replica set. */
export function mongodArgs(dbPath: string, address: string, port: number): string[] {
  const args = ['--dbpath', dbPath, '--bind_ip', address, '--port', String(port), '--replSet', REPLICA_SET];
  args.push('--nounixsocket', '--wiredTigerCacheSizeGB', '0.5', '--oplogSize', '990', '--quiet');
  args.push('--setParameter', `transactionLifetimeLimitSeconds=${TRANSACTION_SECONDS}`);
  // Nothing reads the diagnostic data.
  return [...args, '--setParameter', 'diagnosticDataCollectionEnabled=false'];
}

/**
 * Creates the process of a MongoDB replica set with one member, because change streams and transactions require a
 * replica set.
 */
export function createMongod(options: MongodOptions): OwnedProcess<void> {
  const { program, dataDir, port, database } = options;
  const dbPath = join(dataDir, 'mongodb');
  // At shutdown, a single member has no other member to wait for.
  const single = ['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100'];
  const args = [...mongodArgs(dbPath, '127.0.0.1', port), ...single];
  return new OwnedProcess({
    ...options,
    name: 'mongod',
    command: () => ({ ...tethered(program, args), env: machineEnv() }),
    ready: async (_child, signal) => waitForPrimary(port, signal),
    checkHealth: () => checkReadsAndWrites(port, database),
    readyMs: 60_000,
    graceMs: 15_000,
    logDir: join(dataDir, 'logs'),
    showOutput: false,
    thirdParty: true,
    prepare: () => mkdir(dbPath, { recursive: true, mode: 0o700 }),
  });
}
