import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { guardFor, listen } from '../helpers/egress.ts';
import { recordsAt } from '../helpers/json.ts';
import { seededRandom } from '../helpers/random.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('broken-links');
/** Number of links to check. */
const LINKS = 2000;
const PER_PAGE = 30;

/** Answers a request for a link; `asked` counts the requests for it, from 1 on. */
type Behaviour = (request: IncomingMessage, response: ServerResponse, asked: number) => unknown;

const answer =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (_, response) =>
    response.writeHead(status, headers).end();
const ok = answer(200);
const close: Behaviour = ({ socket }) => socket.destroy();
const path = ({ url = '' }: IncomingMessage) => url.replace(/\?.*/, '');
const step = ({ url = '' }: IncomingMessage) => Number(/\?(\d+)/.exec(url)?.[1] ?? 0);
/** Redirects to itself with a growing number before it answers. */
const chain =
  (length: number, status: number): Behaviour =>
  (request, response) =>
    step(request) === length
      ? response.end()
      : response.writeHead(status, { Location: `${path(request)}?${step(request) + 1}` }).end();

/** What servers do with links that work in browsers. A text behind `#` is the fragment of the link. */
const WORKING: Readonly<Record<string, Behaviour>> = {
  plain: ok,
  'no-content': answer(204),
  'head-refused': (request, response) => response.writeHead(request.method === 'HEAD' ? 405 : 200).end(),
  'head-hangs': (request, response) => request.method === 'HEAD' || response.end(),
  'forbidden-to-programs': answer(403),
  'wall-of-cloudflare': answer(403, { 'cf-mitigated': 'challenge' }),
  'wall-of-aws': answer(405, { 'x-amzn-waf-action': 'captcha' }),
  'wall-of-amazon': answer(503),
  'wall-of-linkedin': answer(999),
  'wall-of-shopify': answer(430),
  'wall-of-vercel': answer(418, { 'x-vercel-mitigated': 'challenge' }),
  'wall-of-modsecurity': answer(406),
  'programs-should-pay': answer(402, { 'crawler-price': 'USD 0.01' }),
  'login-needed': answer(401),
  'too-many-requests': (request, response, asked) =>
    answer(asked === 1 ? 429 : 200)(request, response, asked),
  elsewhere: answer(451),
  'agent-needed': ({ headers }, response) =>
    response.writeHead(/Mozilla/.test(headers['user-agent'] ?? '') ? 200 : 400).end(),
  'language-needed': ({ headers }, response) =>
    response.writeHead(headers['accept-language'] === undefined ? 500 : 200).end(),
  'html-wanted': ({ headers }, response) =>
    response.writeHead(headers.accept?.includes('text/html') ? 200 : 406).end(),
  'cookie-wall': (request, response) =>
    request.headers.cookie?.includes('seen=1')
      ? response.end()
      : response.writeHead(302, { Location: path(request), 'Set-Cookie': 'seen=1; Path=/' }).end(),
  'long-chain': chain(12, 302),
  moved: chain(1, 301),
  'moved-for-good': chain(2, 308),
  'utf8-location': (request, response) =>
    step(request) === 1
      ? response.end()
      : response.writeHead(302, { Location: Buffer.from(`${path(request)}?1&é`).toString('latin1') }).end(),
  'slow-first-byte': async (_, response) => {
    await sleep(300);
    response.end();
  },
  'endless-body': (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' });
    response.write('<p>');
  },
  'odd-coding': answer(200, { 'Content-Encoding': 'none' }),
  'gateway-recovers': (request, response, asked) => answer(asked === 1 ? 502 : 200)(request, response, asked),
  'too-early': (request, response, asked) => answer(asked === 1 ? 425 : 200)(request, response, asked),
  'request-timeout': (request, response, asked) => answer(asked === 1 ? 408 : 200)(request, response, asked),
  'connection-recovers': (request, response, asked) =>
    asked === 1 ? close(request, response, asked) : response.end(),
  'route#/users/1': (_, response) => response.setHeader('Content-Type', 'text/html').end('<p id=app>'),
  'route#!/users/1': (_, response) => response.setHeader('Content-Type', 'text/html').end('<p id=app>'),
  'route#users/1': (_, response) => response.setHeader('Content-Type', 'text/html').end('<p id=app>'),
  'parameters#tab=files': (_, response) => response.setHeader('Content-Type', 'text/html').end('<p id=app>'),
  'lines#L10-L20': (_, response) => response.setHeader('Content-Type', 'text/html').end('<p id=app>'),
  'moved-to-part#old': (request, response) =>
    step(request) === 1
      ? response.setHeader('Content-Type', 'text/html').end('<p id=new>')
      : response.writeHead(301, { Location: `${path(request)}?1#new` }).end(),
  'moved-then-elsewhere': (request, response) =>
    step(request) === 2
      ? response.end()
      : response
          .writeHead(step(request) === 0 ? 301 : 302, { Location: `${path(request)}?${step(request) + 1}` })
          .end(),
  'route#!users': (_, response) => response.setHeader('Content-Type', 'text/html').end('<p id=app>'),
  'text#:~:text=some,words': (_, response) =>
    response.setHeader('Content-Type', 'text/html').end('<p>some words'),
  'page-of-pdf#page=3': (_, response) =>
    response.setHeader('Content-Type', 'application/pdf').end('%PDF-1.7'),
};
/** Links that are broken for everyone. */
const BROKEN: Readonly<Record<string, Behaviour>> = {
  missing: answer(404),
  gone: answer(410),
  'missing-behind-datadome': answer(404, { 'x-datadome': 'protected' }),
  failing: answer(500),
  'bad-gateway': answer(502),
  closed: close,
  'moved-to-nothing': (request, response, asked) =>
    step(request) === 1
      ? answer(404)(request, response, asked)
      : response.writeHead(301, { Location: `${path(request)}?1` }).end(),
  circle: (request, response) => response.writeHead(302, { Location: path(request) }).end(),
  'anchor#nowhere': (_, response) => response.setHeader('Content-Type', 'text/html').end('<p id=here>'),
};
/** Where links lead that have an address to write instead. */
const REPLACED: Readonly<Record<string, string>> = {
  ...{ moved: '?1', 'moved-for-good': '?2', 'moved-then-elsewhere': '?1' },
  'moved-to-part#old': '?1#new',
};
const ALL = { ...WORKING, ...BROKEN };

test(`of ${LINKS} links to servers of all kinds, those are broken that are broken in browsers`, async (t) => {
  t.timeout(600_000);
  const random = seededRandom(t.log);
  const names = Object.keys(ALL);
  const links = Array.from({ length: LINKS }, (_, index) => {
    const name = names[random.integer(0, names.length - 1)] ?? '';
    const [kind = '', fragment] = name.split('#');
    return { name, href: `/${index}/${kind}${fragment === undefined ? '' : `#${fragment}`}` };
  });
  const asked = new Map<string, number>();
  const server = createServer((request, response) => {
    const page = /^\/page\/(\d+)$/.exec(request.url ?? '')?.[1];
    if (page !== undefined) {
      const some = links.slice(Number(page), Number(page) + PER_PAGE);
      response.setHeader('Content-Type', 'text/html');
      response.end(some.map(({ href }) => `<a href="${href}">${href}</a>`).join('\n'));
      return;
    }
    const key = path(request);
    const count = (asked.get(key) ?? 0) + 1;
    asked.set(key, count);
    const name = links[Number(key.split('/')[1])]?.name ?? '';
    ALL[name]?.(request, response, count);
  });
  const port = await listen(server);
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${port}`;
  const egress = guardFor(port);
  const wrong: string[] = [];
  let checked = 0;
  for (let from = 0; from < LINKS; from += PER_PAGE) {
    const output = await tool.call({ url: `${origin}/page/${from}`, checkFragments: true }, { egress });
    for (const [at, { broken, reason, statusCode, replacement }] of recordsAt(output.links).entries()) {
      const { name = '', href = '' } = links[from + at] ?? {};
      const suffix = REPLACED[name];
      const instead = suffix === undefined ? null : origin + href.replace(/#.*/, '') + suffix;
      if (broken !== name in BROKEN || replacement !== instead)
        wrong.push(`${name}: ${broken} ${reason} ${statusCode} ${replacement}`);
      checked += 1;
    }
  }
  t.is(checked, LINKS);
  t.deepEqual(wrong, []);
});
