import { connect, createServer } from 'node:net';
import test from 'ava';
import type { Dial } from '../../egress/connect.ts';
import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { reply, startDns } from '../helpers/dns.ts';
import { codeOf, listen, soon } from '../helpers/egress.ts';

const TRIES = 10_000;
const AT_ONCE = 50;
const PUBLIC = '93.184.215.14';

test('a DNS server that changes its answer at every query never causes a connection to a private address', async (t) => {
  let queries = 0;
  const dns = await startDns((query) => {
    if (query.question.type !== 'A') return reply(query, []);
    queries += 1;
    const data = queries % 2 === 1 ? PUBLIC : '127.0.0.1';
    return reply(query, [{ type: 'A', name: query.question.name, ttl: 0, data }]);
  });
  t.teardown(() => dns.close());
  let caught = 0;
  const canary = createServer((socket) => {
    caught += 1;
    socket.destroy();
  });
  const inside = await listen(canary);
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  });
  const outside = await listen(server);
  t.teardown(() => {
    canary.close();
    server.close();
  });

  const dialled: string[] = [];
  const dial: Dial = (address) => {
    dialled.push(address);
    const socket = connect(address === PUBLIC ? outside : inside, '127.0.0.1');
    return Object.defineProperty(socket, 'remoteAddress', { value: address });
  };
  const resolver = createResolver({ servers: [dns] });
  const guard = createGuard({ resolver, dial, ownPorts: [] });
  const target = guard.parseTarget('http://rebind.example.com/', { kind: 'url', pointer: '/url' });
  const outcomes: Record<string, number> = {};
  let left = TRIES;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) {
        const code = await codeOf(async () => {
          const socket = await guard.connect(await guard.vet(target, soon()), soon());
          socket.destroy();
        });
        outcomes[code] = (outcomes[code] ?? 0) + 1;
      }
    }),
  );
  t.log(outcomes, { queries });
  t.deepEqual(new Set(dialled), new Set([PUBLIC]));
  t.is(caught, 0);
  t.is((outcomes.ok ?? 0) + (outcomes.target_refused ?? 0), TRIES);
  t.is(dialled.length, outcomes.ok ?? 0);
  t.true((outcomes.target_refused ?? 0) > 0);
});
