import type { IncomingMessage } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { failureKind } from '../../egress/failure.ts';
import type { FetchOptions } from '../../egress/fetch.ts';
import type { GuardedResponse } from '../../egress/response.ts';
import { codeOf, type StubNetwork, soon, stubNetwork } from '../helpers/egress.ts';

const URL_KIND = { kind: 'url', pointer: '/url' } as const;

interface Seen {
  method: string;
  host: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Starts a stub network that redirects as a map from `host/path` says and records every request. */
async function redirecting(
  t: ExecutionContext,
  redirects: Record<string, [status: number, location: string]>,
): Promise<{ network: StubNetwork; seen: Seen[] }> {
  const seen: Seen[] = [];
  const network = await stubNetwork({
    async handle(request, response) {
      const { method = '', url: path = '', headers } = request;
      const body = Buffer.concat(await request.toArray()).toString();
      seen.push({ method, host: headers.host ?? '', path, headers, body });
      const redirect = redirects[`${headers.host}${path}`];
      if (redirect !== undefined) response.writeHead(redirect[0], { location: redirect[1] });
      response.end('end');
    },
  });
  t.teardown(network.close);
  return { network, seen };
}

const get = (
  { guard }: StubNetwork,
  url: string,
  options: Partial<FetchOptions> = {},
): Promise<GuardedResponse> =>
  guard.fetch(guard.parseTarget(url, URL_KIND), { ...soon(), maxBytes: 1_000, ...options });

test('redirects are followed and reported', async (t) => {
  const { network } = await redirecting(t, {
    'a.example.com/x/y': [301, '../z?q#there'],
    'a.example.com/z?q': [302, '//b.example.com:8080/'],
    'b.example.com:8080/': [307, 'HTTP://C.example.com#fragment'],
  });
  using response = await get(network, 'http://a.example.com/x/y');
  t.like(response, { url: 'http://c.example.com/', fragment: '#fragment' });
  t.deepEqual(response.redirects, [
    { status: 301, url: 'http://a.example.com/x/y', fragment: '' },
    { status: 302, url: 'http://a.example.com/z?q', fragment: '#there' },
    { status: 307, url: 'http://b.example.com:8080/', fragment: '#there' },
  ]);
  t.is((await response.bytes()).toString(), 'end');
  t.deepEqual(network.lookups, ['a.example.com', 'a.example.com', 'b.example.com', 'c.example.com']);
});

/** Fetch Standard, section HTTP-redirect fetch: which method the request has after a redirect. */
const METHODS: [status: number, method: string, becomes: string][] = [
  ...[301, 302, 303, 307, 308].flatMap((status): [number, string, string][] => [
    [status, 'GET', 'GET'],
    [status, 'HEAD', 'HEAD'],
  ]),
  [301, 'POST', 'GET'],
  [302, 'POST', 'GET'],
  [303, 'POST', 'GET'],
  [307, 'POST', 'POST'],
  [308, 'POST', 'POST'],
  [301, 'PUT', 'PUT'],
  [302, 'DELETE', 'DELETE'],
  [303, 'PUT', 'GET'],
  [307, 'PATCH', 'PATCH'],
];
test('redirects change methods and bodies as browsers do', async (t) => {
  for (const [status, method, becomes] of METHODS) {
    const { network, seen } = await redirecting(t, { 'a.example.com/': [status, '/next'] });
    const body = method === 'GET' || method === 'HEAD' ? null : 'payload';
    using response = await get(network, 'http://a.example.com/', {
      method,
      body,
      headers: [['Content-Type', 'text/plain']],
    });
    t.is(response.status, 200);
    const last = seen.at(-1);
    t.is(last?.method, becomes, `${status} ${method}`);
    t.is(last?.body, becomes === method ? (body ?? '') : '', `${status} ${method}`);
    t.is(last?.headers['content-type'], becomes === method ? 'text/plain' : undefined);
  }
});

test('credentials are only sent to the origin that they were given for', async (t) => {
  const headers = [
    ['Authorization', 'Bearer x'],
    ['cookie', 'a=b'],
    ['Proxy-Authorization', 'Basic x'],
    ['X-Other', 'kept'],
  ] as const;
  const sent = async (location: string): Promise<IncomingMessage['headers'] | undefined> => {
    const { network, seen } = await redirecting(t, { 'a.example.com/': [307, location] });
    using response = await get(network, 'http://a.example.com/', { headers });
    t.is(response.status, 200);
    return seen.at(-1)?.headers;
  };
  t.like(await sent('/same'), { authorization: 'Bearer x', cookie: 'a=b', 'x-other': 'kept' });
  for (const location of ['http://b.example.com/', 'http://a.example.com:8080/']) {
    const other = await sent(location);
    t.like(other, { authorization: undefined, cookie: undefined, 'x-other': 'kept' });
    t.is(other?.['proxy-authorization'], undefined);
  }
});

for (const location of [
  'http://127.0.0.1/',
  'http://[::1]/',
  'http://0x7f.1/',
  'http://localhost/',
  'http://169.254.169.254/latest/meta-data/',
  'http://db.internal/',
  'http://b.example.com:22/',
  'http://user:password@b.example.com/',
  'http://@b.example.com/',
  '//:@b.example.com/',
  'ftp://b.example.com/',
  'javascript:alert(1)',
  'data:text/plain,x',
  'http://',
])
  test(`a redirect to ${location} is refused`, async (t) => {
    const { network } = await redirecting(t, { 'a.example.com/': [302, location] });
    t.is(await codeOf(() => get(network, 'http://a.example.com/')), 'target_refused');
    t.is(network.dialled.length, 1);
  });

test('a redirect to a name that resolves to a private address is refused', async (t) => {
  const network = await stubNetwork({
    resolve: (name) => ({ addresses: [name === 'b.example.com' ? '10.0.0.1' : '8.8.8.8'], chain: [] }),
    handle: (_, response) => response.writeHead(302, { location: 'http://b.example.com/' }).end(),
  });
  t.teardown(network.close);
  t.is(await codeOf(() => get(network, 'http://a.example.com/')), 'target_refused');
  t.deepEqual(network.dialled, ['8.8.8.8:80']);
});

test('the number of redirects is limited', async (t) => {
  const chain = Object.fromEntries(
    Array.from({ length: 11 }, (_, index) => [`a.example.com/${index}`, [302, `/${index + 1}`]] as const),
  );
  const redirects: Record<string, [number, string]> = {};
  for (const [from, [status, to]] of Object.entries(chain)) redirects[from] = [status, to];
  const { network, seen } = await redirecting(t, redirects);
  const error = await t.throwsAsync(() => get(network, 'http://a.example.com/0'));
  t.is(failureKind(error), 'redirects');
  t.is(seen.length, 11);
  using response = await get(network, 'http://a.example.com/1');
  t.is(response.redirects.length, 10);
  t.is(await codeOf(() => get(network, 'http://a.example.com/10', { maxRedirects: 0 })), 'target_failed');
});

test('a redirect without a Location header, or with an empty one, is a response; one with two is target_failed', async (t) => {
  const network = await stubNetwork({
    handle: (request, response) => {
      response.statusCode = 302;
      if (request.url === '/two') response.setHeader('Location', ['/a', '/b']);
      if (request.url === '/empty') response.setHeader('Location', '');
      response.end('end');
    },
  });
  t.teardown(network.close);
  for (const path of ['none', 'empty']) {
    using response = await get(network, `http://a.example.com/${path}`);
    t.is(response.status, 302);
  }
  t.is(await codeOf(() => get(network, 'http://a.example.com/two')), 'target_failed');
});

test('request() follows no redirects', async (t) => {
  const { network, seen } = await redirecting(t, { 'a.example.com/': [302, 'http://127.0.0.1/'] });
  const { guard } = network;
  using response = await guard.request(guard.parseTarget('http://a.example.com/', URL_KIND), {
    ...soon(),
    maxBytes: 1000,
  });
  t.is(response.status, 302);
  t.is(response.header('location'), 'http://127.0.0.1/');
  t.is(seen.length, 1);
});
