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

const PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL'];

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

async function answers(address: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      const connection = await Connection.connect({ address, connectTimeout: '2s' });
      await connection.close();
      return;
    } catch (error) {
      if (signal.aborted) throw new Error(String(signal.reason), { cause: error });
      await sleep(100);
    }
  }
}

/** The Temporal development server with its UI, on a database file. */
export function createTemporal(options: TemporalOptions): OwnedProcess<void> {
  const { program, dataDir, ports, codecUrl } = options;
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(ports.grpc)];
  args.push('--http-port', String(ports.http), '--metrics-port', String(ports.metrics));
  args.push('--ui-ip', '127.0.0.1', '--ui-port', String(ports.ui), '--ui-codec-endpoint', codecUrl);
  args.push('--db-filename', join(dataDir, 'temporal.sqlite'), '--log-level', 'warn', '--log-format', 'json');
  for (const pragma of PRAGMAS) args.push('--sqlite-pragma', pragma);
  for (const value of DYNAMIC_CONFIG) args.push('--dynamic-config-value', value);
  return new OwnedProcess({
    ...options,
    name: 'temporal',
    command: () => ({ ...tethered(program, args), env: machineEnv() }),
    ready: async (_child, signal) => {
      await answers(`127.0.0.1:${ports.grpc}`, signal);
      options.onReady();
    },
    readyMs: 60_000,
    graceMs: 10_000,
    logDir: join(dataDir, 'logs'),
    showOutput: false,
    foreign: true,
  });
}
