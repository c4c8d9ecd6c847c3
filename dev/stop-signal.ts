import { onParentExit } from '../platform/onParentExit.ts';

/**
 * Returns a signal that aborts on SIGINT, SIGTERM or SIGHUP, or when the parent process exits or the terminal closes.
 */
export function stopSignal(onStop: () => void): AbortSignal {
  const stop = new AbortController();
  const request = () => {
    // Further stop signals are ignored, so that a second Ctrl-C does not interrupt the shutdown.
    if (stop.signal.aborted) return;
    onStop();
    stop.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, request);
  onParentExit(request);
  // Writing output fails after the terminal has closed. Handling that error lets the shutdown continue.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', request);
  return stop.signal;
}
