import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { machineEnv } from './host.mjs';
import { OwnedProcess } from './process.ts';
import type { Log } from './start-error.ts';
import { tethered } from './tether.ts';

/**
 * - `transferProcessorMaxPollRPS`: at the default each hop between tasks waits up to 50 ms.
 * - Partitions: with more than one, the polls of a single worker and the tasks meet late.
 * - `namespaceCacheRefreshInterval`: a new namespace is visible after this interval (default 2 s).
 * - `UpdateAckInterval`: a history queue keeps finished tasks until it acknowledges them and scans all of them for each
 *   new task. At the default of 30 s a busy server used 30 ms of CPU a call instead of 22.
 * - `useNewMatcher`, `enableFairness`: without them the server ignores the fairness keys of tasks. docker/temporal/dynamicconfig.yaml
 *   has the same two for production.
 *
 * Keys: common/dynamicconfig/constants.go of the server.
 */
const DYNAMIC_CONFIG = [
  'history.transferProcessorMaxPollRPS=5000',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  'system.namespaceCacheRefreshInterval="250ms"',
  'history.transferProcessorUpdateAckInterval="3s"',
  'history.visibilityProcessorUpdateAckInterval="3s"',
  'history.timerProcessorUpdateAckInterval="3s"',
  'matching.useNewMatcher=true',
  'matching.enableFairness=true',
];

/** Bytes that the write-ahead log keeps on the disk when it begins again after a checkpoint. */
const LOG_KEPT = 16_000_000;
/**
 * Bytes of a write-ahead log that no checkpoint ends any more. The server has one connection to SQLite and checkpoints on
 * it every 1,000 pages (4 MB). A query that is cancelled at the wrong moment may leave its statement open there
 * (modernc.org/sqlite before 1.44): a reader that never ends, behind which no checkpoint can go, and with which one
 * `interrupt` fails every later statement. Only a new connection helps, hence a restart.
 */
const LOG_TOO_LONG = 256_000_000;

const PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL', `journal_size_limit=${LOG_KEPT}`];

/** Every Temporal server makes it for itself. */
const OWN_NAMESPACE = 'temporal-system';
/** Milliseconds. */
const CONNECT_MS = 2_000;
const READ_MS = 2_000;

export interface TemporalOptions {
  program: string;
  dataDir: string;
  /** Of the frontend's gRPC, its HTTP API, the server's metrics, and the UI. */
  ports: Record<'grpc' | 'http' | 'metrics' | 'ui', number>;
  /** It serves, from a start or after it died. */
  onReady(): void;
  /** Where the UI sends encrypted payloads to be read. */
  codecUrl: string;
  log: Log;
  supervise: boolean;
  signal?: AbortSignal | undefined;
}

/** Reads from its database, as every call does. It answers much else from memory when its database is gone. */
async function canRead(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_MS, interceptors: [] });
  try {
    await connection.withDeadline(Date.now() + READ_MS, () =>
      connection.workflowService.describeNamespace({ namespace: OWN_NAMESPACE }),
    );
  } finally {
    await connection.close();
  }
}

/** @throws when checkpoints have not ended the write-ahead log for too long */
async function checkLog(database: string): Promise<void> {
  const { size } = await stat(`${database}-wal`);
  if (size > LOG_TOO_LONG) throw new Error(`its write-ahead log is ${Math.round(size / 1e6)} MB long`);
}

async function answers(address: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await canRead(address);
    } catch (error) {
      if (signal.aborted) throw new Error(String(signal.reason), { cause: error });
      await sleep(100);
    }
  }
}

/** The Temporal development server with its UI, on a database file. */
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
      await answers(address, signal);
      options.onReady();
    },
    useful: () => Promise.all([canRead(address), checkLog(database)]),
    readyMs: 60_000,
    graceMs: 10_000,
    logDir: join(dataDir, 'logs'),
    showOutput: false,
    foreign: true,
  });
}
