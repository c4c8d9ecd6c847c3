import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer as createTlsServer, connect as startTls } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { createGuard, type Guard } from '../../egress/guard.ts';
import { createReader } from '../../egress/http1/reader.ts';
import { splitRecords } from '../../egress/tlsRecords.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { closing, codeOf, guardFor, listen } from '../helpers/egress.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('http-request');
const certificate = await makeCertificate(['IP:127.0.0.1']);

/** More than what a reader takes before it pauses its socket. */
const SIZE = 300_000;

async function started(t: ExecutionContext, server: Server): Promise<number> {
  closing(t, server);
  return listen(server);
}

const trusting = (port: number): Guard =>
  createGuard({
    resolver: { addresses: () => Promise.reject(new Error('unexpected lookup')) },
    allow: [parseAllow(`127.0.0.1:${port}`)],
    ownPorts: [],
    ca: [certificate.cert],
  });

for (const scheme of ['http', 'https'] as const)
  test.serial(`what arrived before a reset is read, although the socket was paused: ${scheme}`, async (t) => {
    const server = scheme === 'http' ? createServer() : createTlsServer(certificate);
    const port = await started(t, server);
    const accepted = once(server, 'connection');
    const secured = once(server, 'secureConnection');
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined);
    const [raw]: Socket[] = await accepted;
    let [near, far]: (Socket | undefined)[] = [socket, raw];
    if (scheme === 'https') {
      near = startTls({ socket: splitRecords(socket).stream, rejectUnauthorized: false });
      [far] = await secured;
      far?.on('error', () => undefined);
    }
    if (near === undefined || far === undefined || raw === undefined) return t.fail();
    const reader = createReader(near);
    far.write(Buffer.alloc(SIZE));
    while (socket.bytesRead < SIZE) await nextTurn();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    raw.resetAndDestroy();
    await closed;
    let size = 0;
    t.is(
      await codeOf(async () => {
        for (let chunk = await reader.some(Infinity); chunk !== null; chunk = await reader.some(Infinity))
          size += chunk.length;
      }),
      'target_failed',
    );
    t.is(size, SIZE);
  });

for (const scheme of ['http', 'https'] as const)
  test.serial(
    `a large response to a request that the server refuses by its head is read whole: ${scheme}`,
    async (t) => {
      const refuse = (socket: Socket): void => {
        socket.on('error', () => undefined);
        const head = `HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: ${SIZE}\r\n\r\n`;
        socket.once('data', () => {
          socket.pause();
          socket.write(head + 'x'.repeat(SIZE), () => socket.destroy());
        });
      };
      const server = scheme === 'http' ? createServer(refuse) : createTlsServer(certificate, refuse);
      const port = await started(t, server);
      const egress = trusting(port);
      const input = { url: `${scheme}://127.0.0.1:${port}/`, method: 'POST', body: 'x'.repeat(999_999) };
      for (let round = 0; round < 10; round++)
        t.like(await tool.call(input, { egress }), { statusCode: 413, body: 'x'.repeat(SIZE) });
    },
  );

test.serial(
  'a body without a length is returned although the server, which has not read the request, resets the connection',
  async (t) => {
    const server = createServer((socket) =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 413 Content Too Large\r\n\r\ntoo big', () => socket.resetAndDestroy()),
      ),
    );
    const port = await started(t, server);
    const call = (input: Record<string, unknown>) =>
      tool.call({ url: `http://127.0.0.1:${port}/`, ...input }, { egress: guardFor(port) });
    for (let round = 0; round < 20; round++)
      t.like(await call({ method: 'POST', body: 'x'.repeat(999_999) }), {
        statusCode: 413,
        body: 'too big',
        warnings: ['connection_reset'],
      });
    t.is(await codeOf(() => call({})), 'target_failed', 'nothing explains the reset');
  },
);

for (const scheme of ['http', 'https'] as const)
  for (const [what, head, body, part] of [
    ['a length', 'Content-Length: 1000', 'too big', 'too big'],
    ['chunks', 'Transfer-Encoding: chunked', '7\r\ntoo big\r\n100\r\nmore', 'too bigmore'],
  ] as const)
    test.serial(
      `a refusal that a reset cuts off is returned as far as it arrived: ${what}, ${scheme}`,
      async (t) => {
        let status = '';
        const refuse = (socket: Socket, raw = socket): void => {
          socket.on('error', () => undefined);
          socket.once('data', () =>
            socket.write(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${body}`, () => raw.resetAndDestroy()),
          );
        };
        const server = scheme === 'http' ? createServer(refuse) : createTlsServer(certificate);
        if (scheme === 'https')
          server.on('connection', (raw: Socket) =>
            server.once('secureConnection', (secure: Socket) => refuse(secure, raw)),
          );
        const port = await started(t, server);
        const egress = trusting(port);
        const call = (input: Record<string, unknown>) =>
          tool.call({ url: `${scheme}://127.0.0.1:${port}/`, ...input }, { egress });
        const post = { method: 'POST', body: 'x'.repeat(999_999) };
        status = '413 Content Too Large';
        for (let round = 0; round < 10; round++)
          t.like(await call(post), { statusCode: 413, body: part, warnings: ['connection_reset'] });
        t.is(await codeOf(() => call({})), 'target_failed', 'nothing explains the reset');
        status = '200 OK';
        t.is(await codeOf(() => call(post)), 'target_failed', 'a result that is cut off');
      },
    );
