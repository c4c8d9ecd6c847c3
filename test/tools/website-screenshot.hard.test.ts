import { createServer as createTlsServer } from 'node:https';
import test from 'ava';
import type { Browsers } from '../../activities/browser/pool.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { findFullChromium, openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { listen } from '../helpers/egress.ts';
import { createGate } from '../helpers/gate.ts';
import { remaining } from '../helpers/processes.ts';
import { loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const tool = await loadTool('website-screenshot');
const HTML = { 'Content-Type': 'text/html; charset=utf-8' };
const page = (body: string) => `<!doctype html><title>T</title>${body}`;

const SLOTS = 2;
/**
 * Limits the number of concurrent calls to the number of browsers, so that no call spends its time waiting for a
 * browser.
 */
const gate = createGate(SLOTS);
let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;

test.before(async () => {
  resource = await openBrowsers({ slots: SLOTS, memoryBytes: 1_000_000_000 });
  site = await startSite({
    '/ok': page('<h1>ok</h1>'),
    '/alert': page('<script>alert(1);confirm(2);prompt(3);print()</script><h1>after</h1>'),
    '/beforeunload': page('<script>onbeforeunload=e=>{e.preventDefault();return "no"}</script>'),
    '/leaves': page('<script>onbeforeunload=()=>"no";location="/ok"</script>'),
    '/download': (_, response) =>
      response
        .writeHead(200, { 'Content-Disposition': 'attachment; filename=a.html', ...HTML })
        .end('<h1>a</h1>'),
    '/binary': (_, response) =>
      response.writeHead(200, { 'Content-Type': 'application/octet-stream' }).end(Buffer.alloc(1000)),
    '/pdf': (_, response) =>
      response.writeHead(200, { 'Content-Type': 'application/pdf' }).end('%PDF-1.4\n%%EOF\n'),
    '/204': (_, response) => response.writeHead(204).end(),
    '/304': (_, response) => response.writeHead(304).end(),
    '/to-304': (_, response) => response.writeHead(302, { Location: '/304' }).end(),
    '/205': (_, response) => response.writeHead(205).end(),
    '/empty-500': (_, response) => response.writeHead(500).end(),
    '/404-page': (_, response) => response.writeHead(404, HTML).end(page('<h1>Not here</h1>')),
    '/endless-later': page('<h1>before</h1><script>setTimeout(()=>{for(;;);},50)</script>'),
    // The script does not end, so that the page is never complete before its browser has been ended.
    '/memory': page(
      '<script>const a=[];for(let end=0;;)if(performance.now()>end){a.push(new Uint8Array(1e7).fill(1));end=performance.now()+5}</script><h1>m</h1>',
    ),
    '/never-settles': page('<h1>n</h1><script>setInterval(()=>fetch("/ok?"+Math.random()),20)</script>'),
    '/basic-auth': (_, response) =>
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"', ...HTML }).end(page('<h1>Who?</h1>')),
    '/digest-auth': (_, response) =>
      response
        .writeHead(401, { 'WWW-Authenticate': 'Bearer, Digest realm="x", nonce="1"', ...HTML })
        .end(page('<h1>Who?</h1>')),
    '/bearer': (_, response) =>
      response
        .writeHead(401, { 'WWW-Authenticate': 'Bearer realm="basic"', ...HTML })
        .end(page('<h1>Who?</h1>')),
    '/empty-bearer': (_, response) =>
      response.writeHead(401, { 'WWW-Authenticate': 'Bearer realm="x"' }).end(),
    '/loop': (_, response) => response.writeHead(302, { Location: '/loop' }).end(),
    '/js-loop': page('<script>location.replace("/js-loop?"+Math.random())</script>'),
    '/js-loop-slow': page(
      '<script>setTimeout(()=>location.replace("/js-loop-slow?"+Math.random()),300)</script>',
    ),
    '/to-private': (_, response) => response.writeHead(302, { Location: 'http://10.0.0.1/' }).end(),
    '/to-metadata': page('<meta http-equiv="refresh" content="0;url=http://169.254.169.254/latest/">'),
    '/to-file': (_, response) => response.writeHead(302, { Location: 'file:///etc/passwd' }).end(),
    '/to-javascript': (_, response) => response.writeHead(302, { Location: 'javascript:alert(1)' }).end(),
    '/to-data': (_, response) => response.writeHead(302, { Location: 'data:text/html,x' }).end(),
    '/to-about': (_, response) => response.writeHead(302, { Location: 'about:blank' }).end(),
    '/to-mail': (_, response) => response.writeHead(302, { Location: 'mailto:a@example.com' }).end(),
    '/leaves-for-nothing': page('<h1>before</h1><script>location="about:blank"</script>'),
    '/leaves-later': page('<h1>before</h1><script>setTimeout(()=>location="about:blank",300)</script>'),
    '/js-to-file': page('<script>location="file:///etc/passwd";</script><h1>stays</h1>'),
    '/js-to-chrome': page('<script>location="chrome://version"</script><h1>stays</h1>'),
    '/popups': page('<h1>p</h1><script>for(let i=0;i<20;i++)open("/ok?"+i)</script>'),
    '/many': page(Array.from({ length: 500 }, (_, i) => `<img src="/pixel?${i}">`).join('')),
    '/pixel': (_, response) =>
      response
        .writeHead(200, { 'Content-Type': 'image/svg+xml' })
        .end('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
    '/huge': page('<p>x <b>y</b></p>'.repeat(20_000)),
    '/hangs-up': (request) => request.socket.destroy(),
    '/cut-off': (_, response) => {
      response.writeHead(200, { 'Content-Length': 1000, ...HTML }).flushHeaders();
      setTimeout(() => response.destroy(), 100);
    },
    '/cut-off-later': (_, response) => {
      response.writeHead(200, { 'Content-Length': 1000, ...HTML }).write(page('<h1>before</h1>'));
      setTimeout(() => response.destroy(), 100);
    },
    '/not-gzip': (_, response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip', ...HTML }).end(page('<h1>plain</h1>')),
    '/sandbox': (_, response) =>
      response
        .writeHead(200, { 'Content-Security-Policy': 'sandbox', ...HTML })
        .end(page('<h1>s</h1><script>document.title="ran"</script>')),
    '/reads-file': page(
      '<iframe src="file:///etc/passwd"></iframe><script>fetch("file:///etc/passwd").then(()=>document.title="read").catch(()=>document.title="refused")</script>',
    ),
    '/storage': page(
      '<script>document.title=[document.cookie,localStorage.x,sessionStorage.x].join();document.cookie="c=1";localStorage.x=1;sessionStorage.x=1;indexedDB.databases().then(d=>{document.title+=d.length;indexedDB.open("db")});caches.keys().then(k=>{document.title+=k.length;caches.open("c")});navigator.serviceWorker.register("/sw").catch(()=>0)</script><img src="/cached">',
    ),
    '/cached': (_, response) =>
      response
        .writeHead(200, { 'Content-Type': 'image/svg+xml', 'Cache-Control': 'max-age=10000, immutable' })
        .end('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    '/sw': (_, response) => response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(''),
  });
});
test.after.always(async () => {
  const folder = resource?.folder;
  await resource?.[Symbol.asyncDispose]();
  site?.close();
  if (folder !== undefined && (await remaining(folder)).length > 0) throw new Error('processes are left');
});

const shoot = (path: string, body: object = {}, browsers: Browsers = resource) =>
  tool.call(
    { url: path.startsWith('/') ? site.origin + path : path, width: 200, height: 200, ...body },
    { egress: site.guard(), resource: browsers },
  );
/** Returns the title of the captured page, or the error code. */
const outcome = (path: string, body: object = {}, browsers: Browsers = resource) =>
  shoot(path, body, browsers).then(
    ({ pageTitle }) => String(pageTitle),
    (error: unknown) => {
      if (error instanceof ServiceError) return error.code;
      throw error;
    },
  );

const OUTCOMES: Readonly<Record<string, string>> = {
  '/alert': 'T',
  '/beforeunload': 'T',
  '/leaves': 'T',
  '/download': 'unsupported_source',
  '/binary': 'unsupported_source',
  '/pdf': 'unsupported_source',
  '/204': 'unsupported_source',
  '/205': 'unsupported_source',
  '/304': 'unsupported_source',
  '/to-304': 'unsupported_source',
  '/empty-500': 'target_failed',
  '/404-page': 'T',
  '/endless-later': 'T',
  '/never-settles': 'T',
  '/basic-auth': 'target_failed',
  '/digest-auth': 'target_failed',
  '/bearer': 'T',
  '/empty-bearer': 'target_failed',
  '/loop': 'target_failed',
  '/to-private': 'target_refused',
  '/to-metadata': 'target_refused',
  '/to-file': 'target_refused',
  '/to-javascript': 'target_refused',
  '/to-data': 'target_refused',
  '/to-about': 'target_refused',
  '/to-mail': 'target_refused',
  '/leaves-for-nothing': 'unsupported_source',
  '/leaves-later': 'unsupported_source',
  '/js-to-file': 'T',
  '/js-to-chrome': 'T',
  '/popups': 'T',
  '/huge': 'T',
  '/hangs-up': 'target_failed',
  '/cut-off': 'target_failed',
  '/cut-off-later': 'T',
  '/not-gzip': 'target_failed',
  '/sandbox': 'T',
  '/reads-file': 'refused',
  'http://10.0.0.1/': 'target_refused',
  'http://127.0.0.1:1/': 'target_refused',
  'file:///etc/passwd': 'invalid_input',
  'view-source:http://example.com/': 'invalid_input',
  'chrome://version': 'invalid_input',
  'data:text/html,x': 'invalid_input',
  'javascript:1': 'invalid_input',
};
for (const [path, expected] of Object.entries(OUTCOMES))
  test(`${path} gives ${expected}`, async (t) => {
    t.is(await gate(() => outcome(path)), expected);
  });

test.serial('a page that exhausts its memory ends only the browser that shows it', async (t) => {
  await t.throwsAsync(shoot('/memory'), {
    code: 'source_too_large',
    message: 'The page needs more memory than this service allows.',
  });
  t.is(await outcome('/ok'), 'T');
  // The browser is counted when its pool notices that it ended, which can be after the response.
  await until('the browser is counted', async () => resource.metrics.browsers.overMemory === 1);
  t.is(resource.metrics.browsers.overMemory, 1);
});

test.serial('a page that reloads itself endlessly is captured or ends at the deadline', async (t) => {
  t.is(await outcome('/js-loop-slow'), 'T');
  // The call may succeed, because the page may be captured between two loads.
  const ended = await tool.call({ url: `${site.origin}/js-loop` }, { egress: site.guard(), resource }).then(
    ({ pageTitle }) => pageTitle,
    ({ code }: ServiceError) => code,
  );
  t.true(ended === 'T' || ended === 'deadline_exceeded', `${ended}`);
  t.is(await outcome('/ok'), 'T');
});

test.serial('all 500 resources of a page are loaded', async (t) => {
  t.is(await outcome('/many'), 'T');
  const asked = site.requests.filter((request) => request.startsWith('GET /pixel?'));
  t.is(new Set(asked).size, 500);
});

/** Paths for which full Chromium shows a page or viewer of its own. */
const OWN_PAGES = [
  '/download',
  '/pdf',
  '/204',
  '/empty-500',
  '/404-page',
  '/basic-auth',
  '/bearer',
  '/to-private',
  '/to-javascript',
  '/leaves-for-nothing',
  '/to-metadata',
  '/hangs-up',
];
test.serial('full Chromium leads to the same outcomes as the headless shell', async (t) => {
  await using windows = await openBrowsers({ program: await findFullChromium() });
  for (const path of OWN_PAGES) t.is(await outcome(path, {}, windows), OUTCOMES[path] ?? '', path);
});

test.serial('a download and a page that requires a password have specific messages', async (t) => {
  await t.throwsAsync(shoot('/pdf'), { message: /no page: .* a file to download/ });
  await t.throwsAsync(shoot('/basic-auth'), { message: 'The target requires a user name and a password.' });
});

test.serial('a certificate from an unknown authority is refused', async (t) => {
  const server = createTlsServer(await makeCertificate(['IP:127.0.0.1']), (_, response) => response.end('x'));
  const port = await listen(server);
  t.teardown(() => server.close());
  const call = tool.call(
    { url: `https://127.0.0.1:${port}/` },
    { egress: site.guard(`127.0.0.1:${port}`), resource },
  );
  await t.throwsAsync(call, { message: /TLS .*ERR_CERT_AUTHORITY_INVALID/ });
});

test.serial('no browser state passes from one call to the next', async (t) => {
  // One browser only, so that both calls run in the same browser.
  await using single = await openBrowsers();
  const titles: unknown[] = [];
  for (let job = 0; job < 2; job++) {
    const { pageTitle } = await tool.call(
      { url: `${site.origin}/storage` },
      { egress: site.guard(), resource: single },
    );
    titles.push(pageTitle);
  }
  t.is(single.metrics.browsers.started, 1);
  t.deepEqual(titles, [',,00', ',,00']);
  t.is(site.requests.filter((request) => request === 'GET /cached').length, 2);
  t.false(site.requests.includes('GET /sw'));
});
