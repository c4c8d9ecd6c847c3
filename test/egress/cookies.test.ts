import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { createGuard, type Guard } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { listen, soon } from '../helpers/egress.ts';

const run = promisify(execFile);

/** A redirect: the cookies that it sets, and the host and path to which it leads. */
type Hop = [setCookie: readonly string[], to: string];

/**
 * Starts a server for every host name, which answers the first requests with these redirects. Returns a function that reads
 * the Cookie headers of the requests since the last call.
 */
async function startChain(t: ExecutionContext, hops: readonly Hop[]) {
  let seen: (string | null)[] = [];
  const server = createServer((request, response) => {
    const hop = hops[seen.length];
    seen.push(request.headers.cookie ?? null);
    if (hop === undefined) return void response.end('end');
    const [cookies, to] = hop;
    const [, host = '', path = ''] = /^([^/]+)(.*)$/.exec(to) ?? [];
    response.writeHead(302, { 'Set-Cookie': [...cookies], Location: `http://${host}:${port}${path}` }).end();
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
  const take = () => {
    const taken = seen;
    seen = [];
    return taken;
  };
  return { guard, port, take };
}

async function get(guard: Guard, url: string, headers: [string, string][] = []): Promise<void> {
  const target = guard.parseTarget(url, { kind: 'url', pointer: '/url' });
  using response = await guard.fetch(target, { ...soon(), headers, maxBytes: 1000 });
  await response.bytes();
}

/** curl orders the cookies of one path differently than browsers. */
const unordered = (cookies: string | null): string[] | undefined => cookies?.split('; ').sort();

const SELF = 'www.example.com/';
const CHAINS: [what: string, hops: readonly Hop[]][] = [
  ['a cookie, and a redirect to itself', [[['seen=1'], SELF]]],
  [
    'several cookies, one replaced',
    [
      [['a=1', 'b=2'], SELF],
      [['a=3', 'c="x y"'], SELF],
    ],
  ],
  [
    'attributes in any case',
    [[['a=1; PATH=/; HttpOnly; SameSite=Lax', 'b=2;path=/x;Expires=Thu, 01 Jan 2099 00:00:00 GMT'], SELF]],
  ],
  [
    'a path',
    [
      [['a=1; Path=/app', 'b=2'], 'www.example.com/app'],
      [[], 'www.example.com/apple'],
      [[], 'www.example.com/app/x?y=/'],
    ],
  ],
  [
    'the path of the request',
    [
      [[], 'www.example.com/one/two?q=/z'],
      [['a=1'], 'www.example.com/one/three'],
      [[], SELF],
    ],
  ],
  [
    'longer paths first',
    [[['a=1; Path=/', 'b=2; Path=/app', 'c=3; Path=/app/x'], 'www.example.com/app/x/y']],
  ],
  [
    'a deleted cookie',
    [
      [['a=1', 'b=2', 'c=3'], SELF],
      [['a=; Max-Age=0', 'b=; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], SELF],
    ],
  ],
  ['no dates', [[['a=1; Expires=0', 'b=2; expires=-1', 'c=3; Expires=Session', 'd=4; Expires=2020'], SELF]]],
  ['Max-Age before Expires', [[['a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], SELF]]],
  [
    'another host',
    [
      [['a=1'], 'login.example.com/'],
      [['b=2'], SELF],
    ],
  ],
  [
    'a domain',
    [
      [['a=1; Domain=example.com', 'b=2; Domain=.example.com'], 'login.example.com/'],
      [[], 'example.com/'],
      [[], 'badexample.com/'],
    ],
  ],
  [
    'the domain of another host',
    [
      [['a=1; Domain=example.org', 'b=2; Domain=login.example.com', 'c=3; Domain=com'], 'login.example.com/'],
      [[], 'www.example.org/'],
    ],
  ],
  [
    'an address',
    [
      [[], '127.0.0.1/'],
      [['a=1', 'b=2; Domain=0.0.1'], '127.0.0.1/x'],
    ],
  ],
  ['a Secure cookie over http', [[['a=1; Secure', 'b=2'], SELF]]],
  ['name prefixes', [[['__Host-a=1; Path=/', '__Secure-b=2', 'c=3'], SELF]]],
  ['values with equals signs and bytes beyond ASCII', [[['a=b=c', 'd=caf\u00c3\u00a9', 'e='], SELF]]],
];
for (const [what, hops] of CHAINS)
  test(`within one chain of redirects, the cookies are those that curl sends: ${what}`, async (t) => {
    const { guard, port, take } = await startChain(t, hops);
    await get(guard, `http://www.example.com:${port}/`);
    const ours = take();
    const options = ['-sS', '-L', '-b', 'none', '-o', '/dev/null', '--resolve', `*:${port}:127.0.0.1`];
    await run('curl', [...options, `http://www.example.com:${port}/`]);
    t.deepEqual(ours.map(unordered), take().map(unordered));
    t.is(ours.length, hops.length + 1);
  });

test('cookies with longer paths come first, and then those that were set first, as in browsers', async (t) => {
  const { guard, port, take } = await startChain(t, [
    [['a=1', 'b=2', 'c=3; Path=/app', 'd=4'], 'www.example.com/app'],
    [['b=5; Path=/', 'e=6'], 'www.example.com/app'],
  ]);
  await get(guard, `http://www.example.com:${port}/`);
  t.deepEqual(take(), [null, 'c=3; a=1; b=2; d=4', 'c=3; a=1; b=5; d=4; e=6']);
});

test('a Cookie header of the caller is kept, and cookies do not outlive their chain', async (t) => {
  const { guard, port, take } = await startChain(t, [[['a=1'], SELF]]);
  await get(guard, `http://www.example.com:${port}/`, [['Cookie', 'own=1']]);
  t.deepEqual(take(), ['own=1', 'own=1']);
  await get(guard, `http://www.example.com:${port}/`);
  t.deepEqual(take(), [null, 'a=1']);
  await get(guard, `http://www.example.com:${port}/`);
  t.is(take()[0], null);
});
