import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { reply, startDns } from '../helpers/dns.ts';
import { blockEventLoop, codeOf, listen, soon } from '../helpers/egress.ts';

const SIZE = 3_000_000;

/**
 * Starts a server that responds after this many milliseconds. Returns a function that sends a request to it with a
 * deadline.
 */
async function serving(t: ExecutionContext, afterMs: number) {
  const server = createServer(async (_, response) => {
    await sleep(afterMs);
    response.end(Buffer.alloc(SIZE));
  });
  const port = await listen(server);
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const guard = createGuard({
    resolver: { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) },
    allow: [parseAllow(`127.0.0.1:${port}`)],
    ownPorts: [],
  });
  const target = guard.parseTarget(`http://127.0.0.1:${port}/`, { kind: 'url', pointer: '/url' });
  return (ms: number) => guard.request(target, { ...soon(ms), maxBytes: 5_000_000 });
}

test.serial('a response is read although the event loop was blocked beyond the deadline', async (t) => {
  const request = await serving(t, 200);
  const responding = request(1_500);
  setTimeout(blockEventLoop, 100, 2_000);
  const response = await responding;
  t.is((await response.bytes()).length, SIZE);
});

test.serial(
  'a target that does not respond is target_timeout although the event loop was blocked',
  async (t) => {
    const request = await serving(t, 60_000);
    const responding = request(1_500);
    setTimeout(blockEventLoop, 100, 2_000);
    t.is(await codeOf(() => responding), 'target_timeout');
  },
);

test.serial('a body whose reader takes longer than the deadline is complete', async (t) => {
  const request = await serving(t, 0);
  const response = await request(1_500);
  let length = 0;
  for await (const chunk of response.body) {
    if (length === 0) await sleep(2_500);
    length += chunk.length;
  }
  t.is(length, SIZE);
});

test.serial('a request whose deadline has passed before it starts is deadline_exceeded', async (t) => {
  const request = await serving(t, 0);
  t.is(await codeOf(() => request(-1)), 'deadline_exceeded');
});

test.serial('a name is resolved although the event loop was blocked beyond the deadline', async (t) => {
  const server = await startDns(async (query) => {
    await sleep(200);
    return reply(query, [{ type: 'A', name: query.question.name, ttl: 60, data: '192.0.2.1' }]);
  });
  t.teardown(() => server.close());
  const looking = createResolver({ servers: [server] }).lookup('www.example.test', 'A', soon(1_000));
  setTimeout(blockEventLoop, 100, 1_500);
  t.is((await looking).status, 'answer');
});
