import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { LinkChecker } from 'linkinator';
import { hasFragment } from '../../activities/html/fragments.ts';
import { createGuard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { FRAGMENTS, TARGET } from '../cases/fragments.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { codeOf, listen } from '../helpers/egress.ts';
import { startHostile, startRaw } from '../helpers/http.ts';
import { type Json, recordsAt } from '../helpers/json.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const tool = await loadTool('broken-links');

/** A DNS resolver that resolves only example.com, to this machine. */
const resolver = {
  async addresses(name: string) {
    if (name === 'slow.example.com') throw new ServiceError('target_failed', { detail: 'SERVFAIL' });
    if (name !== 'example.com') throw new ServiceError('host_not_found');
    return { addresses: ['127.0.0.1'], chain: [] };
  },
};
const egress = createGuard({ resolver, allow: [parseAllow('127.0.0.0/8')], ownPorts: [] });

const check = (url: string, input: Json = {}, ms = 60_000): Promise<Json> =>
  tool.call({ url, ...input }, { egress, deadline: Date.now() + ms });

type Route = (request: IncomingMessage, response: ServerResponse) => void;

interface Site {
  port: number;
  origin: string;
  /** Method and path of each request that the server received. */
  requests: string[];
  /** Returns the largest number of requests that were open at the same time. */
  most(): number;
  /** Returns the number of open connections. */
  connected(): number;
  /** Returns the number of bytes sent to clients over connections that have closed. */
  sent(): number;
}

/** A web server on loopback; paths without a route return 404. */
async function startSite(t: ExecutionContext, routes: Record<string, Route | string>): Promise<Site> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let [open, most, sent] = [0, 0, 0];
  const handle: RequestListener = (request, response) => {
    const path = request.url ?? '';
    requests.push(`${request.method} ${path}`);
    open += 1;
    most = Math.max(most, open);
    response.on('close', () => {
      open -= 1;
    });
    const route = routes[path];
    if (typeof route === 'string') response.setHeader('Content-Type', 'text/html').end(route);
    else if (route === undefined) response.writeHead(404).end();
    else route(request, response);
  };
  const server = createServer(handle).on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      sent += socket.bytesWritten;
    });
  });
  const port = await listen(server);
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    requests,
    most: () => most,
    connected: () => sockets.size,
    sent: () => sent,
  };
}

const status =
  (code: number, headers: Record<string, string> = {}): Route =>
  (_, response) =>
    response.writeHead(code, headers).end();
const redirect = (location: string, code = 302): Route => status(code, { Location: location });
const pageOf = (hrefs: readonly string[]): string =>
  `<!doctype html><title>Links</title>${hrefs.map((href, index) => `<p><a href="${href}">Link ${index}</a>`).join('')}`;

/** Returns the reports of the links by path, or by whole URL for links to another origin. */
const byPath = (origin: string, { links }: Json): Map<string, Json> =>
  new Map(recordsAt(links).map((link) => [String(link.url).replace(origin, ''), link]));

const ROUTES: Readonly<Record<string, Route>> = {
  '/ok': status(200),
  '/empty': status(204),
  '/not-modified': status(304),
  '/choices': status(300),
  '/moved': redirect('/ok', 301),
  '/moved-away': redirect('/gone', 308),
  '/gone': status(410),
  '/bad': status(400),
  '/teapot': status(418),
  '/error': status(500),
  '/unavailable': status(503),
  '/shop': status(430),
  '/elsewhere': status(451),
  '/wall': status(405, { 'X-Amzn-Waf-Action': 'captcha' }),
  '/odd': status(799),
  '/unauthorised': status(401),
  '/forbidden': status(403),
  '/busy': status(429),
  '/linkedin': status(999),
  '/loop': redirect('/loop'),
  '/5': redirect('/4'),
  '/4': redirect('/3'),
  '/3': redirect('/2'),
  '/2': redirect('/1'),
  '/1': redirect('/ok'),
  '/6': redirect('/5', 301),
  '/7': redirect('/6', 308),
  '/no-head': (request, response) => response.writeHead(request.method === 'HEAD' ? 405 : 200).end(),
  '/head-hangs': (request, response) => {
    if (request.method !== 'HEAD') response.end();
  },
  '/inside': redirect('http://10.0.0.1/'),
};
/** Expected status and reason of each link, by path. A link is broken when it has a reason other than `blocked`. */
const EXPECTED: Readonly<
  Record<string, [statusCode: number | null, reason: string | null, leadsTo?: string, instead?: string]>
> = {
  '/ok': [200, null],
  '/empty': [204, null],
  '/not-modified': [304, null],
  '/choices': [300, null],
  '/moved': [200, null, '/ok', '/ok'],
  '/moved-away': [410, 'status', '/gone'],
  '/gone': [410, 'status'],
  '/missing': [404, 'status'],
  '/bad': [400, 'status'],
  '/teapot': [418, 'status'],
  '/error': [500, 'status'],
  '/unavailable': [503, 'blocked'],
  '/shop': [430, 'blocked'],
  '/elsewhere': [451, 'blocked'],
  '/wall': [405, 'blocked'],
  '/odd': [799, 'status'],
  '/unauthorised': [401, 'blocked'],
  '/forbidden': [403, 'blocked'],
  '/busy': [429, 'blocked'],
  '/linkedin': [999, 'blocked'],
  '/loop': [null, 'redirects'],
  '/5': [200, null, '/ok'],
  '/7': [200, null, '/ok', '/5'],
  '/no-head': [200, null],
  '/head-hangs': [200, null],
  '/inside': [null, 'refused'],
};

test('each kind of response gets its verdict, and each link is requested with GET', async (t) => {
  const paths = Object.keys(EXPECTED);
  const site = await startSite(t, { '/': pageOf(paths), ...ROUTES });
  const output = await check(`${site.origin}/`);
  t.like(output, { url: `${site.origin}/`, totalFound: paths.length, checked: paths.length });
  t.true(Number.isInteger(output.elapsedMs));
  t.deepEqual(
    recordsAt(output.links).map(({ ms: _, explanation: __, ...rest }) => rest),
    Object.entries(EXPECTED).map(([path, [statusCode, reason, leadsTo, instead]], index) => ({
      url: site.origin + path,
      text: `Link ${index}`,
      statusCode,
      broken: reason !== null && reason !== 'blocked',
      reason,
      finalUrl: statusCode === null ? null : site.origin + (leadsTo ?? path),
      replacement: instead === undefined ? null : site.origin + instead,
    })),
  );
  for (const { reason, explanation } of recordsAt(output.links))
    t.is(typeof explanation === 'string', reason !== null, String(reason));
  t.true(site.requests.every((request) => request.startsWith('GET ')));
  t.is(site.requests.filter((request) => request === 'GET /bad').length, 1);
  t.is(site.requests.filter((request) => request === 'GET /error').length, 2);
  t.true(site.most() <= 5);
});

/** Links that linkinator judges differently from the tool, with the explanation. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  '/not-modified': 'it counts 304 as broken',
  '/unavailable': 'it counts 503 as broken',
  '/shop': 'it counts 430 as broken',
  '/elsewhere': 'it counts 451 as broken',
  '/wall': 'it knows no bot walls',
  '/unauthorised': 'it counts 401 as broken',
  '/forbidden': 'it counts 403 as broken',
  '/busy': 'it counts 429 as broken',
};

test('apart from the listed differences, linkinator reports the same links as broken', async (t) => {
  // Leaves out two links: linkinator would request one from another machine, and wait too long for the other.
  const paths = Object.keys(EXPECTED).filter((path) => path !== '/inside' && path !== '/head-hangs');
  const site = await startSite(t, { '/': pageOf(paths), ...ROUTES });
  const ours = byPath(site.origin, await check(`${site.origin}/`));
  const { links } = await new LinkChecker().check({ path: `${site.origin}/`, concurrency: 5 });
  const theirs = new Map(links.map(({ url, state }) => [url.replace(site.origin, ''), state === 'BROKEN']));
  const different = paths.filter((path) => ours.get(path)?.broken !== theirs.get(path));
  t.deepEqual(different, Object.keys(DIFFERENCES));
});

/** Answers requests for a path in turn: the last route answers all further ones. */
const inTurn = (...routes: readonly Route[]): Route => {
  let asked = 0;
  return (request, response) => routes[Math.min(asked++, routes.length - 1)]?.(request, response);
};

test('a link that fails for a moment is no broken one', async (t) => {
  const closed: Route = (request) => request.socket.destroy();
  const site = await startSite(t, {
    '/': pageOf(['/overloaded', '/gateway', '/closed', '/down', '/always-closed']),
    '/overloaded': inTurn(status(503), status(200)),
    '/gateway': inTurn(status(502), redirect('/ok')),
    '/closed': inTurn(closed, status(200)),
    '/down': status(502),
    '/always-closed': closed,
    '/ok': status(200),
  });
  const found = byPath(site.origin, await check(`${site.origin}/`));
  for (const path of ['/overloaded', '/gateway', '/closed'])
    t.like(found.get(path), { statusCode: 200, broken: false, reason: null }, path);
  t.like(found.get('/down'), { statusCode: 502, broken: true, reason: 'status' });
  t.like(found.get('/always-closed'), { statusCode: null, broken: true, reason: 'reset' });
});

test('links are collected from the elements and attributes that can link to a resource', async (t) => {
  const site = await startSite(t, {
    '/dir/page': `<!doctype html><html><head><base href="/base/">
      <meta http-equiv="refresh" content="5; url=/refresh"><link rel="stylesheet" href="/style.css">
      <link rel="canonical" href="/canonical"></head><body>
      <a href="relative"> Relative <b>one</b> </a> <a href="/root">Root</a> <a href="/root#part">Root again</a>
      <a href="#top">Up</a> <a href="mailto:a@example.com">Mail</a> <a href="tel:123">Call</a>
      <a href="javascript:void 0">Script</a> <a href="data:text/html,x">Data</a> <a href="ftp://127.0.0.1/f">FTP</a>
      <a name="anchor">No link</a> <a href="http://[">Malformed</a> <a href="http://a b/">Malformed</a>
      <img src="/picture.png" srcset="/picture-2x.png 2x"> <script src="/script.js"></script> <iframe src="/frame"></iframe>
      <map><area href="/area" alt="Area"></map> <a href="">Empty</a>
      </body></html>`,
  });
  const { links, totalFound } = await check(`${site.origin}/dir/page`);
  t.deepEqual(
    recordsAt(links).map(({ url }) => String(url).replace(site.origin, '')),
    ['/base/relative', '/root', '/base/', '/area'],
  );
  t.is(totalFound, 4);
  const asked = site.requests.slice(1).sort();
  t.deepEqual(asked, ['GET /area', 'GET /base/', 'GET /base/relative', 'GET /root']);
});

test('the page is the target of its redirects; a page with an error status is still checked', async (t) => {
  const site = await startSite(t, {
    '/old': redirect('/new/page'),
    '/new/page': (_, response) =>
      response.writeHead(404, { 'Content-Type': 'text/html' }).end(pageOf(['next', '#a'])),
  });
  const output = await check(`${site.origin}/old`);
  t.like(output, { url: `${site.origin}/new/page`, totalFound: 2, checked: 2 });
  t.deepEqual([...byPath(site.origin, output).keys()], ['/new/next', '/new/page']);
});

test.serial('the first 30 links are checked, five at a time', async (t) => {
  const paths = Array.from({ length: 50 }, (_, index) => `/${index}`);
  const slow: Route = async (_, response) => {
    while (site.most() < 5) await sleep(10);
    // A pause in which the tool would send a further request if its concurrency limit did not work.
    await sleep(30);
    response.end();
  };
  const site = await startSite(t, {
    '/': pageOf([...paths, ...paths]),
    ...Object.fromEntries(paths.map((path) => [path, slow])),
  });
  const all = await check(`${site.origin}/`);
  t.like(all, { totalFound: 50, checked: 30 });
  t.deepEqual([...byPath(site.origin, all).keys()], paths.slice(0, 30));
  t.is(site.requests.length, 31);
  t.is(site.most(), 5);
  t.like(await check(`${site.origin}/`, { maxLinks: 3 }), { totalFound: 50, checked: 3 });
  for (const maxLinks of [0, 31, 1.5])
    t.deepEqual(
      (await faultsOf(tool, { url: site.origin, maxLinks })).map(({ pointer }) => pointer),
      ['/maxLinks'],
    );
});

test('only the headers of a 100 GB download are read', async (t) => {
  const chunk = Buffer.alloc(65_536);
  const site = await startSite(t, {
    '/': pageOf(['/huge', '/endless', '/bomb']),
    '/huge': (_, response) => {
      response.writeHead(200, { 'Content-Length': '100000000000' });
      const send = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', send);
      send();
    },
    '/endless': (_, response) => {
      const send = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', send);
      send();
    },
    '/bomb': (_, response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(chunk),
  });
  const { links } = await check(`${site.origin}/`);
  for (const link of recordsAt(links)) t.like(link, { statusCode: 200, broken: false, reason: null });
  // The amount that was sent is limited by what the socket buffers of both sides hold.
  await until('all connections are closed', async () => site.connected() === 0);
  t.true(site.sent() < 20_000_000, String(site.sent()));
});

test('links without a response report the reason', async (t) => {
  const closed = await startRaw(() => []);
  closed.close();
  const hostile = await startHostile();
  const plain = await startSite(t, {});
  const old = await startRaw(() => ['HTTP/1.0 200 OK\r\n\r\n', 'hello']);
  const selfSigned = createTlsServer({ ...(await makeCertificate(['IP:127.0.0.1'])) }, (_, response) =>
    response.end(),
  );
  const secure = await listen(selfSigned);
  t.teardown(() => {
    hostile.close();
    old.close();
    selfSigned.close();
    selfSigned.closeAllConnections();
  });
  const reasons: Record<string, string | null> = {
    [`http://127.0.0.1:${closed.port}/`]: 'connection_refused',
    [`http://127.0.0.1:${hostile.port}/not-http`]: 'protocol',
    [`http://127.0.0.1:${hostile.port}/nothing`]: 'reset',
    [`http://127.0.0.1:${hostile.port}/many-103`]: 'protocol',
    [`http://127.0.0.1:${hostile.port}/giant-header`]: 'protocol',
    [`http://127.0.0.1:${old.port}/`]: null,
    [`https://127.0.0.1:${secure}/`]: 'certificate',
    [`https://127.0.0.1:${plain.port}/`]: 'tls',
    'http://nowhere.example.com/': 'dns',
    'http://slow.example.com/': 'dns',
    'http://10.0.0.1/': 'refused',
    'http://169.254.169.254/latest/': 'refused',
    'http://router.local/': 'refused',
    'http://example.com:6667/': 'refused',
    'http://exa_mple..com/': 'malformed',
  };
  const site = await startSite(t, { '/': pageOf(Object.keys(reasons)) });
  const found = byPath('', await check(`${site.origin}/`));
  t.deepEqual(Object.fromEntries([...found].map(([url, { reason }]) => [url, reason])), reasons);
  for (const [url, { broken, statusCode, finalUrl }] of found)
    t.deepEqual(
      [broken, statusCode, finalUrl],
      reasons[url] === null ? [false, 200, url] : [true, null, null],
      url,
    );
});

test('a link whose URL contains user information is requested without it', async (t) => {
  const seen: (string | undefined)[] = [];
  const site = await startSite(t, {
    '/': (_, response) =>
      response
        .setHeader('Content-Type', 'text/html')
        .end(pageOf([`http://jane:secret@127.0.0.1:${site.port}/private`])),
    '/private': (request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(401).end();
    },
  });
  const { links } = await check(`${site.origin}/`);
  t.like(recordsAt(links)[0], {
    statusCode: 401,
    broken: false,
    reason: 'blocked',
    finalUrl: `${site.origin}/private`,
  });
  t.deepEqual(seen, [undefined]);
});

test('a request to a server that does not respond is given up after 10 s', async (t) => {
  const site = await startSite(t, {
    '/': pageOf(['/hangs', '/ok']),
    '/hangs': () => undefined,
    '/ok': status(200),
  });
  const found = byPath(site.origin, await check(`${site.origin}/`, {}, 13_000));
  t.like(found.get('/hangs'), { statusCode: null, broken: true, reason: 'timeout', finalUrl: null });
  t.like(found.get('/ok'), { statusCode: 200, broken: false });
});

test.serial('links without a response at the deadline are left out', async (t) => {
  const paths = Array.from({ length: 12 }, (_, index) => `/hangs/${index}`);
  const site = await startSite(t, {
    '/': pageOf(['/ok', ...paths]),
    '/ok': status(200),
    ...Object.fromEntries(paths.map((path) => [path, () => undefined])),
  });
  const output = await check(`${site.origin}/`, {}, 5000);
  t.like(output, { totalFound: 13, checked: 1 });
  t.deepEqual([...byPath(site.origin, output).keys()], ['/ok']);
  t.true(site.requests.length <= 7);
});

test('cancelling the call closes its connections', async (t) => {
  const paths = Array.from({ length: 12 }, (_, index) => `/hangs/${index}`);
  let open = 0;
  const hang: Route = (_, response) => {
    open += 1;
    response.on('close', () => {
      open -= 1;
    });
  };
  const site = await startSite(t, {
    '/': pageOf(paths),
    ...Object.fromEntries(paths.map((path) => [path, hang])),
  });
  const abort = new AbortController();
  const call = tool.call({ url: `${site.origin}/` }, { egress, signal: abort.signal });
  await until('five links are requested', async () => open === 5);
  abort.abort(new Error('hung up'));
  await t.throwsAsync(call, { message: 'hung up' });
  await until('all requests are closed', async () => open === 0);
  t.is(site.requests.length, 6);
});

test('pages that are not HTML or not public are refused', async (t) => {
  const site = await startSite(t, {
    '/picture': (_, response) =>
      response
        .setHeader('Content-Type', 'image/png')
        .end(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')),
    '/none': pageOf([]),
  });
  t.is(await codeOf(() => check(`${site.origin}/picture`)), 'unsupported_source');
  t.like(await check(`${site.origin}/none`), { totalFound: 0, checked: 0, links: [] });
  t.is(await codeOf(() => check('http://10.0.0.1/')), 'target_refused');
});

test('fragments are looked up in the page they link to, and each page is read once', async (t) => {
  const hrefs = Object.keys(FRAGMENTS).map((fragment) => `/target#${fragment}`);
  const site = await startSite(t, {
    '/': pageOf([
      ...hrefs.slice(0, 20),
      '#',
      '#Link',
      '/target',
      '/target#',
      '/gone#id',
      '/moved#named',
      '/file#page=2',
      '/markdown#heading',
      '/empty#id',
      '/file#',
    ]),
    '/more': `${pageOf(hrefs.slice(20))}<p id=here><a href="#here">a</a><a href="#nowhere">b</a>`,
    '/target': TARGET,
    '/moved': redirect('/target', 301),
    '/markdown': (_, response) => response.setHeader('Content-Type', 'text/markdown').end('# Title'),
    '/empty': '',
    '/file': (_, response) => response.setHeader('Content-Type', 'application/pdf').end('%PDF-1.4'),
  });
  const hashOf = (link: Json) => new URL(String(link.url)).hash;
  const first = await check(`${site.origin}/`, { checkFragments: true });
  t.is(
    site.requests.filter((request) => request === 'GET /target').length,
    2,
    'once by itself, once redirected',
  );
  const second = await check(`${site.origin}/more`, { checkFragments: true });
  const links = [...recordsAt(first.links), ...recordsAt(second.links)];
  for (const [fragment, found] of Object.entries(FRAGMENTS)) {
    const { hash } = new URL(`http://a/#${fragment}`);
    const link = links.find((it) => hashOf(it) === hash && String(it.url).includes('/target#'));
    t.like(link, { statusCode: 200, broken: !found, reason: found ? null : 'fragment' }, fragment);
    t.is(link?.explanation, found ? null : `The page has no element that ${hash} names.`);
  }
  const byUrl = new Map(links.map((link) => [String(link.url).replace(site.origin, ''), link]));
  t.like(byUrl.get('/'), { broken: false });
  t.like(byUrl.get('/#Link'), { broken: true, reason: 'fragment' });
  t.like(byUrl.get('/target'), { broken: false });
  t.like(byUrl.get('/gone#id'), {
    broken: true,
    reason: 'status',
    explanation: 'The server answered with status 404.',
  });
  t.like(byUrl.get('/moved#named'), {
    ...{ broken: false, finalUrl: `${site.origin}/target`, replacement: `${site.origin}/target#named` },
  });
  t.like(byUrl.get('/file#page=2'), { broken: false });
  t.like(byUrl.get('/file'), { broken: false });
  t.like(byUrl.get('/markdown#heading'), { broken: false });
  t.like(byUrl.get('/empty#id'), { broken: true, reason: 'fragment' });
  t.like(byUrl.get('/more#here'), { broken: false });
  t.like(byUrl.get('/more#nowhere'), { broken: true });
  t.false(byUrl.has('/target#'));
});

test('routes of applications in the page are no fragments of it', async (t) => {
  const routes = ['#/users', '#!/users/1', '#/', '#!/', '#!/a:~:text=b', '#!users', '#users/1', '#?/users'];
  const others = ['#users', '#users!', '#L'];
  const site = await startSite(t, {
    '/': pageOf([...routes, ...others].map((hash) => `/app${hash}`)),
    '/app': '<p id=app>',
  });
  const { links } = await check(`${site.origin}/`, { checkFragments: true });
  t.deepEqual(
    recordsAt(links).map(({ broken }) => broken),
    [...routes.map(() => false), ...others.map(() => true)],
  );
});

test('links are requested with the headers of a browser, and with the cookies that their redirects set', async (t) => {
  const site = await startSite(t, {
    '/': pageOf(['/negotiated', '/walled']),
    '/negotiated': ({ headers }, response) => {
      const html = headers.accept?.startsWith('text/html') === true;
      response.writeHead(html && headers['accept-language'] !== undefined ? 200 : 406).end();
    },
    '/walled': ({ headers }, response) => {
      if (headers.cookie === 'seen=1') response.end('in');
      else response.writeHead(302, { Location: '/walled', 'Set-Cookie': 'seen=1; Path=/' }).end();
    },
  });
  const { links } = await check(`${site.origin}/`);
  t.deepEqual(
    recordsAt(links).map(({ statusCode }) => statusCode),
    [200, 200],
  );
});

test('on GitHub, fragments also name ids of user content', (t) => {
  const anchors = new Set(['user-content-install', 'readme']);
  t.true(hasFragment(anchors, 'install', 'github.com'));
  t.true(hasFragment(anchors, 'readme', 'gist.github.com'));
  t.false(hasFragment(anchors, 'usage', 'github.com'));
  t.false(hasFragment(anchors, 'install', 'notgithub.com'));
});

test('without the option fragments are ignored, and pages are not read', async (t) => {
  const site = await startSite(t, { '/': pageOf(['/target#no-such', '/target#id']), '/target': TARGET });
  const { links, totalFound } = await check(`${site.origin}/`);
  t.is(totalFound, 1);
  t.like(recordsAt(links)[0], { url: `${site.origin}/target`, broken: false, explanation: null });
});

test('a fragment is not reported as missing if its page is too long to be read', async (t) => {
  const long = `<p id=first>${'<p>filler'.repeat(700_000)}<p id=last>`;
  const site = await startSite(t, {
    '/': pageOf(['/long#first', '/long#last', '/long#none']),
    '/long': long,
  });
  const { links } = await check(`${site.origin}/`, { checkFragments: true });
  t.deepEqual(
    recordsAt(links).map(({ broken }) => broken),
    [false, false, false],
  );
});
