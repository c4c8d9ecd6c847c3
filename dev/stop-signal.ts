/** For whoever wants to stop the same way: a signal of the user, or the process that started us is gone. */
export function stopSignal(onStop: () => void): AbortSignal {
  const stop = new AbortController();
  const request = () => {
    // Only the first one counts: a second Ctrl-C must not cut short the stop that the first one began.
    if (stop.signal.aborted) return;
    onStop();
    stop.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, request);
  process.once('disconnect', request);
  // Where the terminal is gone, what we print has nowhere to go; the stop goes on all the same.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', request);
  return stop.signal;
}
