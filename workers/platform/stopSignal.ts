/**
 * Milliseconds that a process has to shut down after its parent process has exited. Longer than a parent waits before
 * it kills its children (dev/service.ts).
 */
const ORPHAN_MS = 15_000;

/**
 * Returns a signal that aborts on SIGINT, SIGTERM or the exit of the parent process, which closes the IPC channel.
 *
 * A process without a parent also ends if its shutdown does not: the servers that the parent started died with it, so
 * requests to them can wait until their timeouts, and nobody else would kill the process.
 */
export function stopSignal(orphanMs = ORPHAN_MS): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  process.once('disconnect', () => {
    stop();
    setTimeout(() => process.exit(1), orphanMs).unref();
  });
  return stopping.signal;
}
