import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../../helpers/egress.ts';
import { until } from '../../helpers/until.ts';
import { type Observation, PREFIX, read } from './callers.ts';
import { HELD_KIND, HUGE_KIND, type Kind, SMALL_KIND } from './kinds.ts';
import type { ObservedStack } from './observedStack.ts';
import type { Owner } from './owners.ts';

/** Bytes of a response that a caller reads before its connection ends. */
const READ_BYTES = 65_536;
/** Number of unread responses that exceed the memory that an API process has for responses. */
const UNREAD = 16;

interface Received {
  socket: Socket;
  bytes(): Buffer;
}

/** Resolves when the connection has ended. Unlike `once` of Node, it does not reject when the server resets it. */
const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });

/** Reads the response to a call of `HUGE_KIND`; null if it is incomplete. */
function responseOf(received: Received, id: string): Observation['response'] {
  const bytes = received.bytes();
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.subarray(0, Math.max(0, end)).toString('latin1').split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const response = new Response(null, { status: Number(statusLine.split(' ')[1] ?? 200), headers });
  const body = bytes.subarray(end + 4);
  if (end < 0 || body.length < Number(response.headers.get('Content-Length'))) return null;
  return read(response, body.toString(), { kind: HUGE_KIND, id, through: 'http' });
}

/** Makes calls without an Idempotency-Key on connections that end in different ways, and observes them. */
export function createEndings({ stack, target }: ObservedStack, { account, observations }: Owner) {
  const api = new URL(stack.baseUrl);

  const requestFor = (kind: Kind, id: string, headers: readonly string[] = []): string => {
    const body = JSON.stringify(kind.input(id, target.origin));
    return [
      `POST /api/v1/tools/${kind.tool} HTTP/1.1`,
      `Host: ${api.host}`,
      `Authorization: Bearer ${account.toolsKey}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...headers,
      '',
      body,
    ].join('\r\n');
  };

  async function send(requests: string, port = Number(api.port)): Promise<Received> {
    const chunks: Buffer[] = [];
    const socket = connect({ host: api.hostname, port, allowHalfOpen: true });
    socket.on('error', () => undefined).on('end', () => socket.end());
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(socket, 'connect');
    socket.write(requests);
    return { socket, bytes: () => Buffer.concat(chunks) };
  }

  /** Stops reading once the response has begun. */
  async function begin(received: Received): Promise<void> {
    while (received.bytes().length < READ_BYTES && !received.socket.closed)
      await Promise.race([once(received.socket, 'data'), closed(received.socket)]);
    received.socket.pause();
  }

  function observe(kind: Kind, id: string, response: Observation['response'] = null): void {
    observations.push({
      accountId: account.accountId,
      keyPrefix: account.toolsKey.slice(0, PREFIX),
      id,
      kind,
      key: null,
      through: 'http',
      api: 'api',
      hungUp: true,
      isLost: response === null,
      endedAt: Date.now(),
      response,
    });
  }

  return {
    /** The caller resets the connection after the first bytes of the response. */
    async reset(id: string): Promise<void> {
      const received = await send(requestFor(HUGE_KIND, id));
      await begin(received);
      received.socket.resetAndDestroy();
      observe(HUGE_KIND, id);
    },

    /** The caller closes its side as soon as the request is sent, which counts as a disconnect. */
    async halfCloseEarly(id: string): Promise<void> {
      const { socket } = await send(requestFor(HUGE_KIND, id));
      socket.end();
      await closed(socket);
      observe(HUGE_KIND, id);
    },

    /** The caller closes its side after the first bytes of the response, and reads on to the end. */
    async halfClose(id: string): Promise<void> {
      const received = await send(requestFor(HUGE_KIND, id));
      await begin(received);
      received.socket.end();
      received.socket.resume();
      await closed(received.socket);
      observe(HUGE_KIND, id, responseOf(received, id));
    },

    /** The connection ends while a call runs; another one waits behind it on the same connection. */
    async pipelined(id: string): Promise<void> {
      const held = `${id}-held`;
      const { socket } = await send(requestFor(HELD_KIND, held) + requestFor(SMALL_KIND, id));
      await until('the target has the request', async () => target.held.has(held));
      // A call that is sent later has its result, so that the one behind the held call has had the time to run.
      const response = await account.call(SMALL_KIND.tool, SMALL_KIND.input(`${id}-later`, target.origin));
      const later = read(response, await response.text(), {
        kind: SMALL_KIND,
        id: `${id}-later`,
        through: 'http',
      });
      observe(SMALL_KIND, `${id}-later`, later);
      socket.resetAndDestroy();
      observe(HELD_KIND, held);
      observe(SMALL_KIND, id);
    },

    /** Callers stop reading, so that the API closes connections to free memory. */
    async evicted(id: string): Promise<void> {
      const ids = Array.from({ length: UNREAD }, (_, index) => `${id}-${index}`);
      const all = await Promise.all(
        ids.map(async (it) => ({
          id: it,
          received: await send(requestFor(HUGE_KIND, it, ['Connection: close'])),
        })),
      );
      await Promise.all(all.map(({ received }) => begin(received)));
      await Promise.all(
        all.map(async ({ id: it, received }) => {
          received.socket.resume();
          await closed(received.socket);
          observe(HUGE_KIND, it, responseOf(received, it));
        }),
      );
    },

    /** A proxy drops the connection to the API while it passes the response on. */
    async dropped(id: string): Promise<void> {
      const proxy = createServer((inner) => {
        const outer = connect(Number(api.port), api.hostname);
        outer
          .on('error', () => undefined)
          .on('data', (chunk: Buffer) => {
            if (!inner.write(chunk)) outer.pause();
          });
        inner.on('error', () => undefined).pipe(outer);
        inner.on('close', () => outer.destroy());
      });
      try {
        const received = await send(requestFor(HUGE_KIND, id), await listen(proxy));
        await begin(received);
        received.socket.destroy();
        observe(HUGE_KIND, id);
      } finally {
        proxy.close();
      }
    },
  };
}
