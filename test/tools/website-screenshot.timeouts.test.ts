import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { ServiceError } from '../../schemas/errors.ts';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { blockEventLoop, listen } from '../helpers/egress.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
const markup = await loadTool('html-to-image');
const HTML = { 'Content-Type': 'text/html; charset=utf-8' };
const page = (body: string) => `<!doctype html><title>T</title>${body}`;

const PARAGRAPHS = `<style>body{display:grid;grid-template-columns:repeat(40,auto)}</style>${'<p>some <b>words</b> of a <i>long</i> text</p>'.repeat(60_000)}`;

let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;
/** Called when a page at `/blocks` or `/silent-blocks` is requested. */
let onRequest: () => void = () => undefined;

test.before(async () => {
  resource = await openBrowsers();
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
    '/blocked': async (_, response) => {
      onRequest();
      await sleep(300);
      response.writeHead(200, HTML).end(page('<h1>late</h1>'));
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

/**
 * Returns the title of the page, or the error code. @param ms time limit of the whole call; half of it is the limit for
 * loading the page
 */
const outcome = async (path: string, ms: number, body: object = {}): Promise<unknown> => {
  const call = tool.call(
    { url: site.origin + path, width: 200, height: 200, ...body },
    { egress: site.guard(), resource, deadline: Date.now() + ms },
  );
  return call.then(
    ({ pageTitle }) => pageTitle,
    (error: unknown) => {
      if (error instanceof ServiceError) return error.code;
      throw error;
    },
  );
};

test.serial('a fast target whose page takes too long to render gives deadline_exceeded', async (t) => {
  t.is(await outcome('/ok', 30_000), 'T');
  t.is(await outcome('/paragraphs', 4_000, { fullPage: true }), 'deadline_exceeded');
  t.is(await outcome('/ok', 30_000), 'T');
});

for (const path of ['/silent', '/headers-only', '/header-drip', '/slow-redirects'])
  test.serial(`a slow target gives target_timeout: ${path}`, async (t) => {
    t.is(await outcome(path, 8_000), 'target_timeout');
  });

test.serial('a slow target gives target_timeout although the event loop was blocked', async (t) => {
  onRequest = () => setTimeout(blockEventLoop, 100, 2_000);
  t.is(await outcome('/silent', 20_000), 'target_timeout');
});

test.serial(
  'the page of a fast target is captured although the event loop was blocked for the whole load time',
  async (t) => {
    // The event loop is blocked until the load time of 12 s is over, so the target's response is read only after it.
    onRequest = () => setTimeout(blockEventLoop, 50, 12_500);
    t.is(await outcome('/blocked', 24_000), 'T');
  },
);

test.serial('a slow browser gives deadline_exceeded although the target is fast', async (t) => {
  onRequest = () => setTimeout(blockEventLoop, 50, 9_000);
  t.is(await outcome('/blocked', 8_000), 'deadline_exceeded');
});

test.serial('a web font that never arrives delays the capture as long as documented', async (t) => {
  const startedAt = performance.now();
  t.is(await outcome('/hung-font', 60_000), 'T');
  const screenshotMs = performance.now() - startedAt;
  t.log(`${Math.round(screenshotMs)} ms`);
  t.true(screenshotMs < 12_000, `${screenshotMs}`);
});

test.serial(
  'the capture does not wait for a web font that never arrives because of requests that `load` ignores',
  async (t) => {
    const startedAt = performance.now();
    t.is(await outcome('/hung-font-and-request', 60_000), 'T');
    const screenshotMs = performance.now() - startedAt;
    t.true(screenshotMs < 20_000, `${screenshotMs}`);
  },
);

test.serial('markup with a web font that never arrives is rendered without the font', async (t) => {
  const silent = createServer();
  const port = await listen(silent);
  t.teardown(() => silent.close());
  const startedAt = performance.now();
  const html = `<style>@font-face{font-family:Hung;src:url(https://127.0.0.1:${port}/)}p{font:40px Hung,serif}</style><p>Text</p>`;
  const egress = site.guard(`127.0.0.1:${port}`);
  const { height } = await markup.call({ html, width: 200, height: 200 }, { egress, resource });
  t.is(height, 200);
  const ms = performance.now() - startedAt;
  t.true(ms < 12_000, `${ms}`);
});
