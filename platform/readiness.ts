import type { IncomingMessage, ServerResponse } from 'node:http';
import { untilAborted } from './untilAborted.ts';

/** Checks of the dependencies that a process needs, by name. A check fails if it throws or exceeds the time limit. */
export type Checks = Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>>;

export interface Readiness {
  status: 'ready' | 'unready';
  checks: Record<string, 'ok' | 'failed'>;
}

/** Further information in the response of /readyz, such as the method of the ping tool. It does not affect the status. */
export type Details = Readonly<Record<string, string>>;

/** Timeout of the checks in milliseconds. Load balancers that probe /readyz usually wait a few seconds for the response. */
const CHECK_TIMEOUT_MS = 2000;
/** How long a result is reused, in ms, because the checks write to the database and any client may trigger them. */
const CACHE_MS = 2000;

/** Runs all checks concurrently. */
async function runChecks(checks: Checks): Promise<Readiness> {
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const ok = await untilAborted(check(signal), signal).then(
        () => true,
        () => false,
      );
      return [name, ok ? 'ok' : 'failed'] as const;
    }),
  );
  const ready = results.every(([, result]) => result === 'ok');
  return { status: ready ? 'ready' : 'unready', checks: Object.fromEntries(results) };
}

/** Creates the function behind /readyz. Requests within two seconds share one run of the checks. */
export function createReadiness(checks: Checks): () => Promise<Readiness> {
  let run: { at: number; result: Promise<Readiness> } | null = null;
  return () => {
    const now = performance.now();
    if (run === null || now - run.at > CACHE_MS) run = { at: now, result: runChecks(checks) };
    return run.result;
  };
}

/** Answers /livez and /readyz of a process's internal port. @returns false if the request has another path */
export function answerHealth(
  readiness: () => Promise<Readiness & { details?: Details }>,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (request.url !== '/livez' && request.url !== '/readyz') return false;
  const send = (status: number, body: object) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  if (request.url === '/livez') send(200, { status: 'ok' });
  else
    readiness().then(
      (result) => send(result.status === 'ready' ? 200 : 503, result),
      () => response.destroy(),
    );
  return true;
}
