import { onParentExit } from './onParentExit.ts';

/**
 * Milliseconds that a process has to shut down after its parent process has exited. Longer than a parent waits before
 * it kills its children (dev/service.ts).
 */
const ORPHAN_MS = 15_000;

/** A process was told to stop before it had started. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

/**
 * Returns a signal that aborts on SIGINT, SIGTERM or the exit of the parent process, which closes the IPC channel.
 *
 * A process whose parent has exited is ended after `orphanMs` milliseconds even if its shutdown has not finished. The servers
 * that the parent started have ended too, so the shutdown can wait for them, and no other process would kill this one. Its
 * exit does not wait for threads, which can compute for minutes or wait for a server.
 */
export function stopSignal(orphanMs = ORPHAN_MS): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  onParentExit(() => {
    stop();
    process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
    setTimeout(() => process.exit(), orphanMs).unref();
  });
  return stopping.signal;
}
