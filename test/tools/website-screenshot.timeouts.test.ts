import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { Guard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { blockEventLoop, listen } from '../helpers/egress.ts';
import { loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const tool = await loadTool('website-screenshot');
const markup = await loadTool('html-to-image');
const HTML = { 'Content-Type': 'text/html; charset=utf-8' };
const page = (body: string) => `<!doctype html><title>T</title>${body}`;

const SLOTS = 4;
/**
 * Milliseconds that a page may take to load in tests that wait for the end of this time, which begins with the browser's
 * connection.
 */
const LOAD_MS = 10_000;
const PARAGRAPHS = `<style>body{display:grid;grid-template-columns:repeat(40,auto)}</style>${'<p>some <b>words</b> of a <i>long</i> text</p>'.repeat(60_000)}`;

let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;
/** Called when a page at `/silent` is requested. */
let onRequest: () => void = () => undefined;

test.before(async () => {
  resource = await openBrowsers({ slots: SLOTS });
  site = await startSite({
    '/ok': page('<h1>ok</h1>'),
    '/paragraphs': page(PARAGRAPHS),
    '/silent': () => onRequest(),
    '/headers-only': (_, response) => response.writeHead(200, HTML).flushHeaders(),
    '/header-drip': (request) => {
      const { socket } = request;
      socket.write('HTTP/1.1 200 OK\r\nX-Drip: ');
      const timer = setInterval(() => socket.write('x'), 200);
      socket.on('close', () => clearInterval(timer));
    },
    '/slow-redirects': async (request, response) => {
      await sleep(700);
      const count = Number(request.url?.split('?')[1] ?? 0);
      response.writeHead(302, { Location: `/slow-redirects?${count + 1}` }).end();
    },
    '/hung-font-and-request': page(
      `<style>@font-face{font-family:Hung;src:url(/silent)}p{font:40px Hung,serif}</style><p>Text</p><script>fetch('/silent?1');const x=new XMLHttpRequest();x.open('GET','/silent?2');x.send()</script>`,
    ),
    '/hung-font': page(
      `<style>@font-face{font-family:Hung;src:url(/silent)}p{font:40px Hung,serif}</style><p>Text</p>`,
    ),
  });
});
test.beforeEach(() => {
  onRequest = () => undefined;
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
});

interface Limits {
  deadline?: number;
  loadTime?: () => number;
}
/** Returns the title of the page, or the error code. */
const outcome = async (path: string, limits: Limits = {}, body: object = {}): Promise<unknown> => {
  const context: Limits & { egress: Guard; resource: unknown } = {
    egress: site.guard(),
    resource,
    ...limits,
  };
  return tool.call({ url: site.origin + path, width: 200, height: 200, ...body }, context).then(
    ({ pageTitle }) => pageTitle,
    (error: unknown) => {
      if (error instanceof ServiceError) return error.code;
      throw error;
    },
  );
};

/** Waits until no call has to wait for the start of a browser, which would use up its time. */
const ready = () => until('all browsers are ready', async () => resource.countReady() === SLOTS);

test.serial('a fast target whose page takes too long to render gives deadline_exceeded', async (t) => {
  t.is(await outcome('/ok'), 'T');
  await ready();
  t.is(
    await outcome('/paragraphs', { deadline: Date.now() + 4_000 }, { fullPage: true }),
    'deadline_exceeded',
  );
  t.is(await outcome('/ok'), 'T');
});

test.serial('a slow target gives target_timeout', async (t) => {
  await ready();
  const paths = ['/silent', '/headers-only', '/header-drip', '/slow-redirects'];
  t.deepEqual(
    await Promise.all(paths.map((path) => outcome(path, { loadTime: () => LOAD_MS }))),
    paths.map(() => 'target_timeout'),
  );
});

test.serial('a slow target gives target_timeout although the event loop was blocked', async (t) => {
  onRequest = () => setTimeout(blockEventLoop, 100, 2_000);
  t.is(await outcome('/silent', { loadTime: () => LOAD_MS }), 'target_timeout');
});

/** The whole time of a call, so that a page that is not captured before its load time ends is never captured. */
const loadTime = () => 60_000;

test.serial(
  'a web font that never arrives does not delay the capture until the load time ends',
  async (t) => {
    await ready();
    t.is(await outcome('/hung-font', { loadTime }), 'T');
    // Requests that `load` ignores do not make the capture wait for the font.
    t.is(await outcome('/hung-font-and-request', { loadTime }), 'T');
  },
);

test.serial('markup with a web font that never arrives is rendered without the font', async (t) => {
  const silent = createServer();
  const port = await listen(silent);
  t.teardown(() => silent.close());
  const html = `<style>@font-face{font-family:Hung;src:url(https://127.0.0.1:${port}/)}p{font:40px Hung,serif}</style><p>Text</p>`;
  const egress = site.guard(`127.0.0.1:${port}`);
  const context: Limits & { egress: Guard; resource: unknown } = { egress, resource, loadTime };
  t.is((await markup.call({ html, width: 200, height: 200 }, context)).height, 200);
});
