import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { machineEnv } from '../../dev/host.mjs';
import { freePort } from '../../dev/ports.ts';
import { drain, listen } from '../../platform/listen.ts';
import { stripeMock } from '../provision/items/stripeMock.ts';
import { recordAt } from './json.ts';

const START_MS = 30_000;

/** A request that the Stripe mock received. */
interface StripeRequest {
  path: string;
  idempotencyKey: string | undefined;
  authorization: string | undefined;
  form: URLSearchParams;
}

export interface StripeMock {
  url: string;
  requests: StripeRequest[];
  /**
   * Makes the mock respond to the next request with this status.
   *
   * @param error the member `error` of the body. Default: a body that is not in Stripe's format
   */
  failNext(status: number, error?: Record<string, string>): void;
  /** Changes fields of the mock's example in the next response to a request whose path begins like this. */
  changeNext(path: string, fields: Record<string, unknown>): void;
  stop(): Promise<void>;
}

/**
 * Starts stripe-mock, which validates requests against Stripe's OpenAPI document and responds with examples, behind a
 * proxy that records the requests.
 */
export async function startStripeMock(log: (line: string) => void): Promise<StripeMock> {
  await using owned = new AsyncDisposableStack();
  const program = await stripeMock.get(log);
  const port = await freePort();
  const upstream = `http://127.0.0.1:${port}`;
  const child = spawn(program, ['-http-addr', `127.0.0.1:${port}`], { env: machineEnv(), stdio: 'ignore' });
  const exited = once(child, 'exit');
  owned.defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  for (const end = Date.now() + START_MS; ; await sleep(50))
    try {
      await fetch(upstream);
      break;
    } catch (error) {
      if (Date.now() > end || child.exitCode !== null) throw error;
    }

  const requests: StripeRequest[] = [];
  const failures: { status: number; body: string }[] = [];
  const changes: { path: string; fields: Record<string, unknown> }[] = [];
  const server = owned.adopt(
    createServer(async (request, response) => {
      const body = await buffer(request);
      const { authorization, 'content-type': type = '', 'idempotency-key': key } = request.headers;
      requests.push({
        path: request.url ?? '',
        idempotencyKey: [key].flat()[0],
        authorization,
        form: new URLSearchParams(body.toString()),
      });
      const failure = failures.shift();
      if (failure !== undefined)
        return response.writeHead(failure.status, { 'Content-Type': 'application/json' }).end(failure.body);
      const answer = await fetch(`${upstream}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { Authorization: authorization ?? '', 'Content-Type': type },
        ...(body.length > 0 && { body }),
      });
      response.writeHead(answer.status, { 'Content-Type': 'application/json' });
      const index = changes.findIndex(({ path }) => request.url?.startsWith(path));
      const [change] = index < 0 || !answer.ok ? [] : changes.splice(index, 1);
      if (change === undefined) return response.end(Buffer.from(await answer.arrayBuffer()));
      response.end(JSON.stringify({ ...recordAt(await answer.json()), ...change.fields }));
    }),
    drain,
  );
  const url = await listen(server, '127.0.0.1', 0);
  const running = owned.move();
  return {
    url,
    requests,
    failNext: (status, error) =>
      failures.push({ status, body: JSON.stringify(error === undefined ? {} : { error }) }),
    changeNext: (path, fields) => changes.push({ path, fields }),
    stop: () => running.disposeAsync(),
  };
}
