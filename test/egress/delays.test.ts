import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { type CountdownEnd, startCountdown } from '../../egress/countdown.ts';
import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { reply, startDns } from '../helpers/dns.ts';
import { blockEventLoop, codeOf, listen, soon } from '../helpers/egress.ts';
import { createManualTimers } from '../helpers/manualTimers.ts';
import { until } from '../helpers/until.ts';

const SIZE = 3_000_000;
/** Milliseconds until the deadline of a request: far more than a loaded machine needs to send it. */
const DEADLINE_MS = 3_000;

/** Blocks the event loop until a deadline has passed. @param deadline epoch milliseconds */
const blockBeyond = (deadline: number): void => blockEventLoop(deadline - Date.now() + 500);

/**
 * Starts a server that calls `respond` for each request. Returns a function that sends a request to it with a deadline.
 */
async function serving(t: ExecutionContext, respond: (send: () => void) => void) {
  const server = createServer((_, response) => respond(() => response.end(Buffer.alloc(SIZE))));
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
  const deadline = Date.now() + DEADLINE_MS;
  const request = await serving(t, (send) => {
    blockBeyond(deadline);
    send();
  });
  const response = await request(deadline - Date.now());
  t.is((await response.bytes()).length, SIZE);
});

test.serial(
  'a target that does not respond is target_timeout although the event loop was blocked',
  async (t) => {
    const deadline = Date.now() + DEADLINE_MS;
    const request = await serving(t, () => blockBeyond(deadline));
    t.is(await codeOf(() => request(deadline - Date.now())), 'target_timeout');
  },
);

test.serial('a body whose reader takes longer than the deadline is complete', async (t) => {
  const request = await serving(t, (send) => send());
  const deadline = Date.now() + DEADLINE_MS;
  const response = await request(deadline - Date.now());
  let length = 0;
  for await (const chunk of response.body) {
    if (length === 0) await until('the deadline has passed', async () => Date.now() > deadline + 500);
    length += chunk.length;
  }
  t.is(length, SIZE);
});

test.serial('a request whose deadline has passed before it starts is deadline_exceeded', async (t) => {
  const request = await serving(t, (send) => send());
  t.is(await codeOf(() => request(-1)), 'deadline_exceeded');
});

test.serial('a name is resolved although the event loop was blocked beyond the deadline', async (t) => {
  // Before the 2.5 s after which a query is repeated.
  const deadline = Date.now() + 2_000;
  const server = await startDns((query) => {
    blockBeyond(deadline);
    return reply(query, [{ type: 'A', name: query.question.name, ttl: 60, data: '192.0.2.1' }]);
  });
  t.teardown(() => server.close());
  const resolver = createResolver({ servers: [server] });
  t.is((await resolver.lookup('www.example.test', 'A', soon(deadline - Date.now()))).status, 'answer');
});

/** Starts a countdown of this many milliseconds on a clock that the test controls. */
function counting(ms: number) {
  const timers = createManualTimers();
  const ends: [CountdownEnd, number][] = [];
  const countdown = startCountdown(ms, (end) => ends.push([end, timers.now()]), timers);
  return { timers, ends, countdown };
}

test('a countdown ends when all of its time has passed', async (t) => {
  const { timers, ends } = counting(1_250);
  await timers.advance(1_249);
  t.deepEqual(ends, []);
  await timers.advance(10_000);
  t.deepEqual(ends, [['elapsed', 1_250]]);
});

test('a countdown leaves out the time in which the event loop was blocked, up to ten seconds', async (t) => {
  const { timers, ends } = counting(1_000);
  await timers.advance(450);
  timers.block(5_000);
  await timers.advance(20_000);
  // The timer of 100 ms that was due during the block counts as 100 ms.
  t.deepEqual(ends, [['elapsed', 5_950]]);

  const blocked = counting(1_000);
  await blocked.timers.advance(450);
  blocked.timers.block(11_000);
  await blocked.timers.advance(20_000);
  t.deepEqual(blocked.ends, [['delayed', 11_450]]);
});

test('a countdown does not count while it is paused, and its disposal stops it', async (t) => {
  const { timers, ends, countdown } = counting(1_000);
  await timers.advance(450);
  countdown.pause();
  await timers.advance(5_000);
  t.is(countdown.left, 550);
  countdown.resume();
  await timers.advance(20_000);
  t.is(ends.length, 1);

  const stopped = counting(1_000);
  stopped.countdown[Symbol.dispose]();
  await stopped.timers.advance(20_000);
  t.deepEqual(stopped.ends, []);
});

test('a countdown without time ends as delayed', async (t) => {
  const { timers, ends } = counting(-1);
  await timers.advance(0);
  t.deepEqual(ends, [['delayed', 0]]);
});
