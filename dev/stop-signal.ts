/** Returns a signal that aborts on SIGINT, SIGTERM or SIGHUP, or when the parent process or the terminal is gone. */
export function stopSignal(onStop: () => void): AbortSignal {
  const stop = new AbortController();
  const request = () => {
    // Later requests are ignored, so that a second Ctrl-C does not interrupt the shutdown.
    if (stop.signal.aborted) return;
    onStop();
    stop.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, request);
  process.once('disconnect', request);
  // Output fails once the terminal is gone. Handling the error lets the shutdown continue.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', request);
  return stop.signal;
}
