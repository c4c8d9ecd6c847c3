import type { ServerContext } from '@modelcontextprotocol/server';

/** Milliseconds until the first progress notification, and between two of them. */
const PROGRESS_MS = 2000;

/**
 * Sends progress notifications while a request runs, if the client has requested them with a progress token.
 * `progress` is the number of seconds since the start; the total is not known. Disposing the returned object stops
 * the notifications.
 */
export function reportProgress({ _meta, notify }: ServerContext['mcpReq']): Disposable {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { [Symbol.dispose]: () => undefined };
  const started = performance.now();
  const timer = setInterval(() => {
    const progress = Math.round((performance.now() - started) / 1000);
    // If the notification cannot be sent, the client has disconnected, which cancels the call elsewhere.
    notify({
      method: 'notifications/progress',
      params: { progressToken, progress, message: `Running for ${progress} s` },
    }).catch(() => undefined);
  }, PROGRESS_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
