/** Settles like `work`, or rejects as soon as the signal aborts, without stopping the work. @throws the signal's reason */
export function untilAborted<O>(work: Promise<O>, signal: AbortSignal): Promise<O> {
  const { promise, resolve, reject } = Promise.withResolvers<O>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}
