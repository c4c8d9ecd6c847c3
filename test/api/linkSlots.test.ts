import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import Router from '@koa/router';
import test from 'ava';
import Koa from 'koa';
import { linkRoutes } from '../../api/files/linkRoutes.ts';
import type { State } from '../../api/http/context.ts';
import { createPageLimit } from '../../api/http/pageLimit.ts';
import { ERRORS, ServiceError } from '../../schemas/errors.ts';
import { FILE_PIECE_BYTES } from '../../store/files/fileContents.ts';
import { until } from '../helpers/until.ts';

/** Pieces of a file that is larger than what the operating system takes for a client that reads nothing. */
const PIECES = 64;
const SLOTS = 8;

test('a client that reads nothing holds one of four downloads of its file, and no slot of the process', async (t) => {
  let reading = 0;
  let most = 0;
  const pageLimit = createPageLimit({ rate: 100, burst: 100 });
  const app = new Koa<State>();
  const router = new Router<State>();
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      ctx.status = error instanceof ServiceError ? ERRORS[error.code].status : 500;
    }
  });
  linkRoutes(router, {
    pageLimit,
    waitMs: 500,
    isLive: async () => true,
    links: {
      open: () => ({
        content: { id: randomUUID(), pieces: PIECES },
        sizeBytes: PIECES * FILE_PIECE_BYTES,
        type: 'application/pdf',
        name: 'a.pdf',
        expiresAt: 0,
      }),
      async *read(_callId, { content }) {
        for (let piece = 0; piece < content.pieces; piece++) {
          most = Math.max(most, ++reading);
          await new Promise((resolve) => setImmediate(resolve));
          reading--;
          yield Buffer.alloc(FILE_PIECE_BYTES);
        }
      },
    },
  });
  const server = createServer(app.use(router.routes()).callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const open = (callId: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) =>
      get({ port, path: `/api/v1/links/${callId}?token=a`, agent: false }, resolve).on('error', reject),
    );
  const stalled = await Promise.all(['a', 'b', 'c'].flatMap((id) => [1, 2, 3, 4].map(() => open(id))));
  for (const { statusCode } of stalled) t.is(statusCode, 200);
  t.true(stalled.length > SLOTS, 'more than the process has slots');
  t.is((await open('a')).statusCode, 429);
  t.true(most <= SLOTS, `${most} pieces were read at the same time`);
  const [first] = stalled;
  first?.destroy();
  await until('its slot is free', async () => {
    const response = await open('a');
    response.destroy();
    return response.statusCode === 200;
  });
  let received = 0;
  for await (const chunk of await open('d')) received += Buffer.from(chunk).length;
  t.is(received, PIECES * FILE_PIECE_BYTES);
});
