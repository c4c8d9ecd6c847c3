import type { Logger } from 'pino';
import type { Registry as Metrics } from 'prom-client';
import { type Env, readEnv } from '../schemas/env.ts';
import { loadRegistry, type Registry } from '../schemas/registry.ts';
import { createLog } from './log.ts';
import { createRegistry } from './metricsRegistry.ts';
import { stopSignal } from './stopSignal.ts';
import { startTracing, type Tracing } from './tracing.ts';

/** What every process of the service has. Disposing of it closes, in reverse order, everything that the process opened. */
export interface Core extends AsyncDisposable {
  readonly env: Env;
  /** The tools. */
  readonly registry: Registry;
  readonly log: Logger;
  /** Logs an error of work that no request waits for. */
  onError(error: unknown): void;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  /** Whether spans are exported. */
  readonly isTraced: boolean;
  /** Aborts when the process must stop. */
  readonly stopping: AbortSignal;
  /** Owns what the process opens. */
  readonly open: AsyncDisposableStack;
}

/**
 * Reads the environment and opens what every process has.
 *
 * @param name name of the process in logs, metrics and traces
 * @throws EnvError
 */
export async function openCore(name: string): Promise<Core> {
  const env = readEnv();
  const stopping = stopSignal();
  const registry = await loadRegistry();
  const log = createLog(env, name, registry);
  const open = new AsyncDisposableStack();
  const tracing = open.adopt(await startTracing(env, name, log), (it) => it.stop());
  return {
    env,
    registry,
    log,
    onError: (error) => log.error({ err: error }, 'a background operation failed'),
    metrics: createRegistry(name),
    tracing,
    isTraced: env.OTEL_EXPORTER_OTLP_ENDPOINT !== null,
    stopping,
    open,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
