import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { machineEnv } from './host.mjs';
import { OwnedProcess } from './process.ts';
import type { Log } from './start-error.ts';
import { tethered } from './tether.ts';

/**
 * Settings of the Temporal server (common/dynamicconfig/constants.go in its source):
 * - `transferProcessorMaxPollRPS`: with the default value, each transfer of a task waits up to 50 ms.
 * - `numTaskqueueReadPartitions`, `numTaskqueueWritePartitions`: with several partitions of a task queue, a task can
 *   wait in one partition while the only worker polls another.
 * - `namespaceCacheRefreshInterval`: a new namespace becomes visible after this interval (default 2 s).
 * - `UpdateAckInterval`: a history queue keeps finished tasks until it acknowledges them, and scans all of them for
 *   each new task. With the default of 30 s, a busy server used 30 ms of CPU time per call instead of 22 ms.
 * - `enableFairness`: makes the server use the fairness keys of tasks. docker/temporal/dynamicconfig.yaml sets it for
 *   production.
 */
export const DYNAMIC_CONFIG = [
  'history.transferProcessorMaxPollRPS=5000',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  'system.namespaceCacheRefreshInterval="250ms"',
  'history.transferProcessorUpdateAckInterval="3s"',
  'history.visibilityProcessorUpdateAckInterval="3s"',
  'history.timerProcessorUpdateAckInterval="3s"',
  'matching.enableFairness=true',
];

/** Size in bytes to which SQLite truncates the write-ahead log after a checkpoint. */
const WAL_KEPT_BYTES = 16_000_000;
/**
 * Size in bytes above which the write-ahead log counts as stuck. The Temporal server has one SQLite connection and runs
 * a checkpoint every 1,000 pages (4 MB). In modernc.org/sqlite before 1.44, a cancelled query may leave its statement
 * open. The open statement blocks all checkpoints, and an `interrupt` makes every later statement fail. Only a new
 * connection helps, so the server is restarted.
 */
const WAL_STUCK_BYTES = 256_000_000;

const PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL', `journal_size_limit=${WAL_KEPT_BYTES}`];

/** A namespace that exists on every Temporal server. */
const SYSTEM_NAMESPACE = 'temporal-system';
/** Time limits of a health check in milliseconds, for connecting and for reading. */
const CONNECT_MS = 2_000;
const READ_MS = 2_000;

interface TemporalOptions {
  program: string;
  dataDir: string;
  /** Ports of the Temporal server: its gRPC API, its HTTP API, its metrics and its UI. */
  ports: Record<'grpc' | 'http' | 'metrics' | 'ui', number>;
  /** Called after each start and restart, when the server is ready. */
  onReady(): void;
  /** URL to which the Temporal UI posts encrypted payloads for decoding. */
  codecUrl: string;
  log: Log;
  supervise: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Checks that the Temporal server can read its database. Many other requests succeed from memory even when the database
 * is broken.
 */
async function checkDatabase(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_MS, interceptors: [] });
  try {
    await connection.withDeadline(Date.now() + READ_MS, () =>
      connection.workflowService.describeNamespace({ namespace: SYSTEM_NAMESPACE }),
    );
  } finally {
    await connection.close();
  }
}

/**
 * Checks the size of the write-ahead log.
 *
 * @throws when it is so large that something must be blocking its checkpoints
 */
async function checkWal(database: string): Promise<void> {
  const { size } = await stat(`${database}-wal`);
  if (size > WAL_STUCK_BYTES)
    throw new Error(`its write-ahead log has grown to ${Math.round(size / 1e6)} MB`);
}

async function waitUntilReady(address: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await checkDatabase(address);
    } catch (error) {
      if (signal.aborted) throw new Error(String(signal.reason), { cause: error });
      await sleep(100);
    }
  }
}

/** Creates the process of a Temporal development server with its UI and a SQLite database file. */
export function createTemporal(options: TemporalOptions): OwnedProcess<void> {
  const { program, dataDir, ports, codecUrl } = options;
  const address = `127.0.0.1:${ports.grpc}`;
  const database = join(dataDir, 'temporal.sqlite');
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(ports.grpc)];
  args.push('--http-port', String(ports.http), '--metrics-port', String(ports.metrics));
  args.push('--ui-ip', '127.0.0.1', '--ui-port', String(ports.ui), '--ui-codec-endpoint', codecUrl);
  args.push('--db-filename', database, '--log-level', 'warn', '--log-format', 'json');
  for (const pragma of PRAGMAS) args.push('--sqlite-pragma', pragma);
  for (const value of DYNAMIC_CONFIG) args.push('--dynamic-config-value', value);
  return new OwnedProcess({
    ...options,
    name: 'temporal',
    command: () => ({ ...tethered(program, args), env: machineEnv() }),
    ready: async (_child, signal) => {
      await waitUntilReady(address, signal);
      options.onReady();
    },
    checkHealth: () => Promise.all([checkDatabase(address), checkWal(database)]),
    readyMs: 60_000,
    graceMs: 10_000,
    logDir: join(dataDir, 'logs'),
    showOutput: false,
    thirdParty: true,
  });
}
