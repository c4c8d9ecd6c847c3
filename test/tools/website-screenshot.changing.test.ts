import type { ServerResponse } from 'node:http';
import test from 'ava';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { casePage, type Pixels, pixelsOf } from '../helpers/pictures.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;

const page = (body: string, head = '') =>
  `<!doctype html><title>T</title>${head}<style>*{margin:0}</style>${body}`;
const TALL = '<div style="height:3000px;background:#0f0"></div>';
/** A list of rows of 100 px that a script extends by 10 rows up to 60, when `more` calls `add`. */
const list = (more: string, style = '') =>
  page(
    `<div id=box style="${style}"><div id=list></div><div id=end style="height:50px;background:#00f"></div></div><script>let n=0,busy=false;const add=()=>{for(let i=0;i<10&&n<60;i++,n++)list.append(Object.assign(document.createElement('div'),{style:'height:100px;background:#ff0'}))};add();${more}</script>`,
  );
const html = (status: number, body: string) => (_: unknown, response: ServerResponse) =>
  response.writeHead(status, { 'Content-Type': 'text/html' }).end(body);
/** A page with a dialog that a rule of autoconsent describes. */
const ruled = (dialog: string) =>
  page(`<div style="height:1500px">${'A long text of the page. '.repeat(10)}</div>${dialog}`);
const CONSENT = page(
  '<h2>Your privacy</h2><p>We use cookies to improve this site. Do you accept cookies?</p><button>Accept all</button><button>Reject</button>',
);

const inFrame = (url: string) =>
  page(
    `<div style="height:1500px;background:#0f0">${'A long text of the page. '.repeat(10)}</div><iframe src="${url}" style="position:fixed;inset:auto 0 0 0;width:100%;height:200px;background:#f00"></iframe>`,
  );

test.before(async () => {
  resource = await openBrowsers();
  const cases = await Promise.all(
    ['reload-loop', 'auto-refresh-2', 'infinite', 'consent-closed', 'consent-plain-iframe'].map(
      async (name) => [`/${name}`, await casePage(`shot-${name}`)] as const,
    ),
  );
  let slow = 0;
  site = await startSite({
    ...Object.fromEntries(cases),
    '/consent': CONSENT,
    '/refresh-1': page(TALL, '<meta http-equiv=refresh content=1>'),
    '/reloads': page(`${TALL}<script>setInterval(()=>location.reload(),700)</script>`),
    '/posts': page(
      `${TALL}<form method=post action=/posts id=f></form><script>setTimeout(()=>f.submit(),1500)</script>`,
    ),
    '/slow-refresh': (_, response) => {
      slow += 1;
      setTimeout(
        () =>
          response
            .setHeader('Content-Type', 'text/html')
            .end(page(TALL, '<meta http-equiv=refresh content=1>')),
        slow === 1 ? 0 : 2_000,
      );
    },
    '/blobs': page(
      `${TALL}<script>setInterval(()=>{location=URL.createObjectURL(new Blob(['<p>blob'],{type:'text/html'}))},1200)</script>`,
    ),
    '/empties': page(`${TALL}<script>setTimeout(()=>{location='about:blank'},1500)</script>`),
    '/goes-back': page(`${TALL}<script>setTimeout(()=>history.back(),1500)</script>`),
    '/moves-on': page('<script>setTimeout(()=>{location="/there"},200)</script>'),
    '/there': page('<body style="background:#00f">'),
    '/by-scroll': list(
      'addEventListener("scroll",()=>{if(!busy&&scrollY+innerHeight>document.body.scrollHeight-200){busy=true;setTimeout(()=>{add();busy=false},300)}})',
    ),
    '/by-request': list(
      'new IntersectionObserver(async([e])=>{if(!e.isIntersecting||busy)return;busy=true;await fetch("/rows");add();busy=false}).observe(end)',
    ),
    '/pauses': list(
      'new IntersectionObserver(([e])=>{if(!e.isIntersecting||busy)return;busy=true;setTimeout(()=>{add();busy=false},n===20?1800:300)}).observe(end)',
    ),
    '/observed-anew': list(
      'end.style.height="700px";const o=new IntersectionObserver(([e])=>{if(!e.isIntersecting)return;o.unobserve(end);setTimeout(()=>{add();if(n<60)o.observe(end);else end.style.height="50px"},300)});o.observe(end)',
    ),
    '/slowly': list(
      'n=40;new IntersectionObserver(async([e])=>{if(!e.isIntersecting||busy)return;busy=true;await fetch("/slow-rows");add();busy=false}).observe(end)',
    ),
    '/slow-rows': (_, response) => setTimeout(() => response.end('x'), 4_000),
    '/rows': (_, response) => setTimeout(() => response.end('x'), 400),
    '/in-box': list(
      'new IntersectionObserver(([e])=>{if(e.isIntersecting)setTimeout(add,500)},{threshold:[0,.5,1]}).observe(end)',
      'height:100vh;overflow:auto',
    ),
    '/endless': page(
      '<div id=l></div><script>const add=()=>l.append(Object.assign(document.createElement("div"),{style:"height:3000px;background:#ff0"}));add();addEventListener("scroll",add)</script>',
    ),
    '/404': html(404, page('<body style="background:#f00">none')),
    '/500': html(500, page('broken')),
    '/to-404': (_, response) => response.writeHead(302, { Location: '/404' }).end(),
    '/404-then-200': html(404, page('<script>location="/there"</script>')),
    '/dialog-in-root': page(
      `<div style="height:1500px;background:#0f0">${'A long text of the page. '.repeat(10)}</div><div><template shadowrootmode=closed><div role=dialog style="position:fixed;inset:auto 0 0 0;height:200px;background:#f00"><p>We use cookies and similar technologies.</p><button>Accept all</button><button>Reject all</button></div></template></div>`,
    ),
    '/slotted-dialog': page(
      `<div style="height:1500px;background:#0f0">${'A long text of the page. '.repeat(10)}</div><x-a><template shadowrootmode=closed><div style="position:fixed;inset:auto 0 0 0;height:200px;background:#f00"><slot></slot></div></template><p>We use cookies and similar technologies.</p><button>Accept all</button><button>Reject all</button></x-a>`,
    ),
    '/rejects': ruled(
      '<div data-acris-cookie-consent class="acris-cookie-consent is--modal">We use cookies. <button id=ccAcceptOnlyFunctional onclick="this.parentElement.remove()">Reject</button></div>',
    ),
    '/closes': ruled(
      '<div class=cookieinfo>We use cookies. <button class=cookieinfo-close onclick="this.parentElement.remove()">OK</button></div>',
    ),
    '/hides': ruled('<div id="pmc-pp-tou--notice">We use cookies. <button>OK</button></div>'),
    '/wrapped-frame': page(
      `<div style="height:1500px;background:#0f0">${'A long text of the page. '.repeat(10)}</div><div style="position:fixed;inset:auto 0 0 0;height:200px;background:#f00"><iframe src=/consent style="width:100%;height:100%"></iframe></div>`,
    ),
    '/consent-in-root': page(`<div><template shadowrootmode=closed>${CONSENT}</template></div>`),
    '/frame-with-root': inFrame('/consent-in-root'),
    '/foreign-with-root': (request, response) =>
      response
        .setHeader('Content-Type', 'text/html')
        .end(inFrame(`http://second.test:${request.socket.localPort}/consent-in-root`)),
    '/frame-of-page': page(
      `<div style="height:200px;background:#0f0">${'A long text of the page. '.repeat(10)}</div><iframe src=/consent style="border:0;width:100%;height:300px;background:#f00"></iframe>`,
    ),
  });
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
});

async function shoot(path: string, body: object = {}): Promise<Record<string, unknown> & Pick<Pixels, 'at'>> {
  const result = await tool.call(
    { url: `${site.origin}/${path}`, width: 800, fullPage: true, ...body },
    { egress: site.guard(), resource },
  );
  return { ...result, at: (await pixelsOf(Buffer.from(String(result.fileBase64), 'base64'))).at };
}
const GREEN = '0,255,0';
const BLUE = '0,0,255';

for (const path of ['refresh-1', 'reloads', 'posts', 'slow-refresh', 'blobs', 'empties', 'goes-back'])
  test.serial(`a page that replaces itself is captured whole: ${path}`, async (t) => {
    const { at, ...result } = await shoot(path);
    t.like(result, { height: 3000, pageTitle: 'T', truncated: false });
    t.deepEqual([at(400, 10), at(400, 2990)], [GREEN, GREEN]);
  });

test.serial('pages that reload themselves after a second or two are captured', async (t) => {
  const loop = await shoot('reload-loop');
  t.is(loop.pageTitle, 'Status page');
  t.true(Number(loop.height) > 2040 && Number(loop.height) < 2120, `${loop.height}`);
  t.is((await shoot('auto-refresh-2')).pageTitle, 'Scores 2');
});

test.serial('a page that a script opens after loading is captured instead of the first one', async (t) => {
  const { at, ...result } = await shoot('moves-on', { fullPage: false });
  t.like(result, { finalUrl: `${site.origin}/there`, statusCode: 200 });
  t.is(at(400, 400), BLUE);
});

test.serial('lists that grow while they are scrolled are captured to their end', async (t) => {
  const { at, ...result } = await shoot('infinite');
  t.like(result, { height: 4040, truncated: false });
  t.is(at(790, 4030), '0,0,0');
  for (const path of ['by-scroll', 'by-request', 'in-box', 'pauses', 'observed-anew']) {
    const grown = await shoot(path);
    t.is(grown.height, 6050, path);
    t.is(grown.at(400, 6040), BLUE, path);
  }
  t.is((await shoot('slowly')).height, 3050);
});

test.serial('a list without an end is captured up to the ceiling', async (t) => {
  t.like(await shoot('endless'), { height: 16_384, truncated: true });
});

test.serial('the output has the status code of the captured page', async (t) => {
  for (const [path, statusCode] of [
    ['there', 200],
    ['404', 404],
    ['500', 500],
    ['to-404', 404],
    ['404-then-200', 200],
  ] as const)
    t.is((await shoot(path, { fullPage: false })).statusCode, statusCode, path);
});

test.serial('with failOnStatus, an error page is refused', async (t) => {
  const refused = (path: string) => shoot(path, { failOnStatus: true, fullPage: false });
  for (const path of ['404', '500', 'to-404'])
    await t.throwsAsync(refused(path), { code: 'target_failed', message: /status (404|500)/ }, path);
  t.is((await refused('404-then-200')).statusCode, 200);
});

test.serial('the output says whether consent was rejected, or a dialog only closed or hidden', async (t) => {
  const shown = async (path: string) => (await shoot(path, { hideOverlays: true, fullPage: false })).overlays;
  t.deepEqual(await shown('rejects'), [{ action: 'rejected', rule: 'acris' }]);
  t.deepEqual(await shown('closes'), [{ action: 'closed', rule: 'cookieinfo' }]);
  t.deepEqual(await shown('hides'), [{ action: 'hidden', rule: 'pmc' }]);
});

test.serial('consent dialogs in closed shadow roots and in frames without a name are removed', async (t) => {
  const shown = (path: string) => shoot(path, { hideOverlays: true, fullPage: false, height: 900 });
  const closed = await shown('consent-closed');
  t.not(closed.at(22, 877), '204,0,0');
  t.deepEqual(closed.overlays, [{ action: 'hidden', rule: 'heuristic:consent' }]);
  const framed = await shown('consent-plain-iframe');
  t.not(framed.at(790, 890), '255,255,255');
  for (const path of [
    'dialog-in-root',
    'slotted-dialog',
    'wrapped-frame',
    'frame-with-root',
    'foreign-with-root',
  ])
    t.is((await shown(path)).at(400, 890), GREEN, path);
  // A frame in the flow of the page is content.
  const whole = await shown('frame-of-page');
  t.is(whole.at(790, 490), '255,0,0');
  t.deepEqual(whole.overlays, []);
});
