import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import type { Limits } from '../../egress/clock.ts';
import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { startDns } from '../helpers/dns.ts';
import { blockEventLoop, codeOf, listen, soon } from '../helpers/egress.ts';
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
  return (limits: Limits) => guard.request(target, { ...limits, maxBytes: 5_000_000 });
}

test.serial(
  'a target that does not respond is target_timeout although the event loop was blocked',
  async (t) => {
    const limits = soon(DEADLINE_MS);
    const request = await serving(t, () => blockBeyond(limits.deadline));
    t.is(await codeOf(() => request(limits)), 'target_timeout');
  },
);

test.serial('the time limit of a whole call does not hide that a target is silent', async (t) => {
  const { deadline } = soon(DEADLINE_MS);
  const call = new AbortController();
  const request = await serving(t, () => {
    blockBeyond(deadline);
    call.abort(new Error('the whole call has taken too long'));
  });
  t.is(await codeOf(() => request({ signal: call.signal, deadline })), 'target_timeout');
});

test.serial('a body whose reader uses up the time is deadline_exceeded', async (t) => {
  const request = await serving(t, (send) => send());
  const limits = soon(DEADLINE_MS);
  const response = await request(limits);
  const read = async () => {
    for await (const _ of response.body)
      await until('the deadline has passed', async () => Date.now() > limits.deadline + 500);
  };
  t.is(await codeOf(read), 'deadline_exceeded');
});

test.serial('a request whose deadline has passed before it starts is deadline_exceeded', async (t) => {
  const request = await serving(t, (send) => send());
  t.is(await codeOf(() => request(soon(-1))), 'deadline_exceeded');
});

test.serial('a silent DNS server is target_timeout although the event loop was blocked', async (t) => {
  // Before the 2.5 s after which a query is repeated.
  const limits = soon(2_000);
  const server = await startDns(() => {
    blockBeyond(limits.deadline);
    return null;
  });
  t.teardown(() => server.close());
  const resolver = createResolver({ servers: [server] });
  t.is(await codeOf(() => resolver.lookup('www.example.test', 'A', limits)), 'target_timeout');
});
