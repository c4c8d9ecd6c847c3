import { createServer } from 'node:http';
import test from 'ava';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { listen } from '../helpers/egress.ts';
import { casePage, type Pixels, pixelsOf, readPdf } from '../helpers/pictures.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;
let other: ReturnType<typeof createServer>;
let otherPort: number;

const page = (body: string) => `<!doctype html><title>T</title><style>*{margin:0}</style>${body}`;
const shadow = (content: string, mode = 'open') => `<template shadowrootmode=${mode}>${content}</template>`;
const box = (height: number, colour: string) => `<div style="height:${height}px;background:${colour}"></div>`;
/** 3,000 px of yellow, and 100 px of green at the end. */
const LONG = box(3000, '#ff0') + box(100, '#0f0');
const SCROLLER = 'height:100vh;overflow-y:auto';
const COLUMNS = (colours: readonly string[]) =>
  colours.map((colour) => `<p style="inline-size:100%;block-size:300px;background:${colour}"></p>`).join('');
const SIX = ['#f00', '#ff0', '#0f0', '#0ff', '#00f', '#f0f'];
const AT_BOTTOM = 'position:fixed;left:0;right:0;bottom:0;height:60px';
const BAR = `<div style="${AT_BOTTOM};background:#00f"></div>`;
const [HEAD, FOOT] = ['#f00', '#00f'].map(
  (colour) => `<div style="flex:none;height:60px;background:${colour}"></div>`,
);
const edge = (side: string, colour: string, position = 'absolute') =>
  `<div style="position:${position};left:0;right:0;${side}:0;height:60px;background:${colour}"></div>`;
const ELEMENT = '<div id=e style="width:200px;height:1500px;background:#0f0"></div>';
/** Pages as high as the viewport with 60 px of red, a scroll container, and 60 px of blue. */
const SHELLS: Readonly<Record<string, string>> = {
  flex: `<div style="display:flex;flex-direction:column;height:100vh">${HEAD}<div style="flex:1 1 0px;min-height:0;display:flex"><main style="flex:1;overflow:auto">${LONG}</main></div>${FOOT}</div>`,
  grid: `<div style="display:grid;grid-template-rows:60px calc(100vh - 120px) 60px">${HEAD}<main style="overflow:auto">${LONG}</main>${FOOT}</div>`,
  absolute: `${edge('top', '#f00')}<main style="position:absolute;inset:60px 0 60px 100px;overflow:auto">${LONG}</main>${edge('bottom', '#00f')}`,
  fixed: `${edge('top', '#f00', 'fixed')}<main style="position:fixed;inset:60px 0 60px 100px;overflow:auto">${LONG}</main>${edge('bottom', '#00f', 'fixed')}`,
  queries: `<div style="container-type:size;height:100dvh"><div style="display:flex;flex-direction:column;height:100%">${HEAD}<main style="flex:1;overflow:auto">${LONG}</main>${FOOT}</div></div>`,
};
const CASES = [
  'dialog',
  'mobile-no-viewport',
  'scroller-and-footer',
  'shadow-fixed',
  'shadow-scroller',
  'tall-modal',
];

test.before(async () => {
  resource = await openBrowsers();
  other = createServer((_, response) =>
    response.setHeader('Content-Type', 'text/html').end('<body style="margin:0;background:#0f0">'),
  );
  otherPort = await listen(other);
  const foreign = `http://127.0.0.1:${otherPort}/`;
  const tallFrame = (height: number) =>
    `<iframe id=e src="http://second.test:${otherPort}/" style="display:block;border:0;width:600px;height:${height}px"></iframe>`;
  const frame = `<iframe src="${foreign}" style="display:block;border:0;width:300px;height:200px"></iframe>`;
  const cases = await Promise.all(
    CASES.map(async (name) => [`/${name}`, await casePage(`shot-${name}`)] as const),
  );
  site = await startSite({
    ...Object.fromEntries(cases),
    '/closed-scroller': page(
      `<div>${shadow(`<div style="${SCROLLER}"><slot></slot></div>`, 'closed')}${LONG}</div>`,
    ),
    '/nested-scroller': page(
      `<div>${shadow(`<section>${shadow(`<div style="${SCROLLER}">${LONG}</div>`)}</section>`, 'closed')}</div>`,
    ),
    '/scripted-scroller': page(
      `<x-a></x-a><script>customElements.define('x-a',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'closed'}).innerHTML='<div style="${SCROLLER}">${LONG}</div>'}})</script>`,
    ),
    '/column': page(
      `<div style="display:flex;height:100vh"><nav style="width:250px;overflow:auto">${box(1000, '#f00')}</nav><main style="width:240px;overflow:auto">${LONG}</main></div>`,
    ),
    '/little-higher': page(`<main style="height:95vh;overflow:auto">${LONG}</main>${box(200, '#00f')}`),
    '/much-higher': page(`<main style="height:95vh;overflow:auto">${LONG}</main>${box(3000, '#00f')}`),
    ...Object.fromEntries(
      ['open', 'closed'].map((mode) => [
        `/fixed-${mode}`,
        page(
          `<div>${shadow('<div style="position:fixed;bottom:0;width:100%;height:60px;background:#00f"></div>', mode)}</div><div>${shadow('<div style="height:2000px;background:linear-gradient(90deg,#0f0,#0f0) fixed"></div>', mode)}</div>${box(1000, '#ff0')}`,
        ),
      ]),
    ),
    ...Object.fromEntries(
      ['open', 'closed'].map((mode) => [
        `/frame-${mode}`,
        page(`${box(2000, '#ff0')}<div>${shadow(frame, mode)}</div>`),
      ]),
    ),
    '/vertical-rl': page(`<style>html{writing-mode:vertical-rl}</style>${COLUMNS(SIX)}`),
    '/vertical-body': page(`<style>body{writing-mode:vertical-rl}</style>${COLUMNS(SIX)}`),
    '/vertical-lr': page(`<style>body{writing-mode:vertical-lr}</style>${COLUMNS(SIX)}`),
    '/vertical-box': page(
      `${HEAD}<main style="writing-mode:vertical-rl;width:100%;height:840px;overflow:auto hidden">${COLUMNS(SIX)}</main>`,
    ),
    '/vertical-long': page(
      `<style>body{writing-mode:vertical-rl}</style>${COLUMNS(Array.from({ length: 40 }, (_, index) => (index === 39 ? '#f0f' : index % 2 ? '#0f0' : '#ff0')))}`,
    ),
    '/popover': page(
      `<style>::backdrop{background:#00f}</style>${box(2000, '#ff0')}<p popover id=p>p</p><script>p.showPopover()</script>`,
    ),
    '/small-backdrop': page(
      `<style>dialog::backdrop{background:#00f;height:100px}</style>${box(2000, '#ff0')}<dialog id=d>d</dialog><script>d.showModal()</script>`,
    ),
    '/width-980': page(
      `<meta name=viewport content="width=980">${box(3000, '#ff0')}<div style="width:980px;height:100px;background:linear-gradient(90deg,#ff0 900px,#0f0 900px)"></div>`,
    ),
    '/half': page(
      `<meta name=viewport content="initial-scale=.5"><div style="height:2000px;background:linear-gradient(90deg,#ff0 700px,#0f0 700px)"></div>`,
    ),
    '/width-2000': page('<div style="width:2000px;height:100px"></div>'),
    '/device-width': page(`<meta name=viewport content="width=device-width">${box(1500, '#ff0')}`),
    ...Object.fromEntries(Object.entries(SHELLS).map(([name, body]) => [`/shell-${name}`, page(body)])),
    ...Object.fromEntries(
      Object.entries({
        long: `<iframe src="${foreign}" style="width:600px;height:5000px"></iframe>`,
        inner: `<iframe srcdoc='<body style="margin:0"><iframe src="${foreign}" style="border:0;width:600px;height:300px"></iframe>' style="width:600px;height:300px"></iframe>`,
        object: `<object data="${foreign}" style="width:600px;height:300px"></object>`,
        'in-box': `<div style="width:600px;height:300px;overflow:auto">${box(100, '#00f')}<iframe src="${foreign}" style="width:600px;height:600px"></iframe></div>`,
        many: `<iframe src="${foreign}" style="width:600px;height:200px"></iframe>`.repeat(60),
        skipped: `<iframe src=/skipped style="width:600px;height:300px"></iframe>`,
        scaled: `<div style="width:300px;height:150px"><iframe src="${foreign}" style="transform:scale(.5);transform-origin:0 0;width:600px;height:300px"></iframe></div>`,
      }).map(([name, body]) => [
        `/frame-${name}`,
        page(`<style>iframe,object{display:block;border:0}</style>${box(2000, '#ff0')}${body}`),
      ]),
    ),
    '/frameset-rows':
      '<!doctype html><frameset rows="60,*" border=0><frame src=/short><frame src=/long></frameset>',
    '/frameset-nested':
      '<!doctype html><frameset rows="20%,80%" border=0><frame src=/short><frameset cols="25%,75%"><frame src=/short><frame src=/long></frameset></frameset>',
    '/skipped': page(`<section style="content-visibility:auto">${box(300, '#0f0')}</section>`),
    ...Object.fromEntries(
      Object.entries({
        named: '<div style="position:fixed;position-anchor:--a;top:anchor(bottom);left:anchor(left)"></div>',
        area: '<div style="position:fixed;position-anchor:--a;position-area:bottom span-right;position-try-fallbacks:flip-block"></div>',
        popover:
          '<div popover id=p style="position-area:bottom span-right;border:0;padding:0;margin:0"></div><script>p.showPopover({source:b})</script>',
      }).map(([name, placed]) => [
        `/anchored-${name}`,
        page(
          `<style>b{anchor-name:--a;display:block;width:200px;height:50px;background:#00f}b~div{width:150px;height:80px;background:#f00}</style>${box(2000, '#ff0')}<b id=b></b>${placed}<style>i{display:block;height:1000px;background:#ff0}</style><i></i>`,
        ),
      ]),
    ),
    '/short': page('<body style="background:#00f">'),
    '/long': page(LONG),
    '/green.svg': (_, response) =>
      response
        .setHeader('Content-Type', 'image/svg+xml')
        .end('<svg xmlns="http://www.w3.org/2000/svg"><rect width="900" height="900" fill="#0f0"/></svg>'),
    ...Object.fromEntries(
      Object.entries({
        image: `${box(5000, '#ff0')}<img loading=lazy src=/green.svg style="display:block;width:600px;height:300px">`,
        skipped: `${box(2000, '#ff0')}<section style="content-visibility:auto;contain-intrinsic-size:auto 300px">${box(300, '#0f0')}</section>`,
        revealed: `${box(2000, '#ff0')}<section id=s style="height:300px"></section><script>new IntersectionObserver(([e])=>{s.style.background=e.isIntersecting?'#0f0':'#f00'}).observe(s)</script>`,
        frame: `${box(2000, '#ff0')}${tallFrame(300)}`,
      }).map(([name, body]) => [`/tall-${name}`, page(`<div id=e>${body}</div>${box(2000, '#f00')}`)]),
    ),
    '/filling': page('<iframe src=/long style="display:block;border:0;width:100%;height:100vh"></iframe>'),
    '/transformed': page(
      `<div style="transform:translateZ(0);height:800px;background:#f00">${BAR}</div>${LONG}`,
    ),
    '/bar-in-bar': page(
      `${LONG}<div style="${AT_BOTTOM};background:#00f"><div style="position:fixed;bottom:10px;left:390px;width:40px;height:40px;background:#f00"></div><div style="position:fixed;top:300px;left:390px;width:40px;height:40px;background:#f00"></div></div>`,
    ),
    '/zoomed': page(`<style>body{zoom:1.25}</style>${box(2000, '#ff0')}${BAR}`),
    '/sticky-parts': page(
      `<div style="height:300px;overflow:auto">${box(1000, '#0ff')}<div style="position:sticky;bottom:0;height:60px;background:#00f"></div></div>${box(2000, '#ff0')}<div style="position:sticky;top:0;bottom:0;height:60px;background:#00f"></div>${LONG}`,
    ),
    '/late-parts': page(
      `${box(3000, '#ff0')}<div id=s style="height:400px"></div><script>new IntersectionObserver(([e],o)=>{if(!e.isIntersecting)return;o.disconnect();s.attachShadow({mode:'closed'}).innerHTML=${JSON.stringify(frame + BAR)}}).observe(s)</script>`,
    ),
    '/in-sections': page(
      `<main style="height:100vh;overflow:auto">${[...'abcde'].map((id) => `<section style="height:100vh;background:#f00"><p id=${id} style="width:200px;height:300px;background:#0f0"></p></section>`).join('')}</main>`,
    ),
    '/scaled': page(
      `<div style="transform:scale(.5);transform-origin:0 0;width:600px;height:600px;overflow:auto"><div id=e style="width:400px;height:1000px;background:#0f0"></div></div>${box(2000, '#f00')}`,
    ),
    '/contained': page(
      `<div style="contain:paint;width:200px;height:300px"><div id=e style="width:200px;height:900px;background:#0f0"></div></div>${box(2000, '#f00')}`,
    ),
    '/before-start': page(
      `<div id=e style="position:absolute;left:-50px;width:250px;height:300px;background:#0f0"></div>${box(2000, '#f00')}`,
    ),
    '/hidden-part': page(
      `<div style="width:200px;height:100px;overflow:hidden"><div id=e style="width:300px;height:400px;background:#0f0"></div></div>${box(2000, '#f00')}`,
    ),
    '/modal': page(
      `<div style="position:fixed;inset:50px;overflow:hidden;background:#fff"><div style="height:100%;overflow:auto"><div id=e style="width:200px;height:1500px;background:#0f0"></div></div></div>${box(2000, '#f00')}`,
    ),
    '/centred': page(
      `${box(2000, '#f00')}<div style="position:fixed;inset:0;display:flex;align-items:center;justify-content:center"><div style="width:300px;height:400px;overflow:auto">${ELEMENT}</div></div>`,
    ),
    '/translated': page(
      `${box(2000, '#f00')}<div style="position:fixed;top:50%;left:50%;translate:-50% -50%;max-height:80vh;overflow:auto">${ELEMENT}</div>`,
    ),
    '/footed': page(
      `<div style="display:grid;grid-template-rows:100px 300px 100px;width:400px">${box(100, '#f00')}<div style="overflow:auto">${ELEMENT}</div>${box(100, '#f00')}</div>${box(2000, '#f00')}`,
    ),
    '/slotted': page(
      `<div>${shadow('<div style="width:400px;height:300px;overflow:auto"><slot></slot></div>', 'closed')}${ELEMENT}</div>${box(2000, '#f00')}`,
    ),
    '/drawing': page(
      `<div style="width:400px;height:300px;overflow:auto"><svg width=200 height=1500 style="display:block"><g id=e><rect width=200 height=1500 fill="#0f0" /></g></svg></div>${box(2000, '#f00')}`,
    ),
    '/below-popover': page(
      `${ELEMENT}<p popover id=p style="position:absolute;inset:0;width:500px;height:500px;background:#f00"></p><script>p.showPopover()</script>`,
    ),
    '/escapes': page(
      `<div style="overflow:auto;height:50px"><div id=e style="position:absolute;width:200px;height:300px;background:#0f0"></div></div>${box(2000, '#f00')}`,
    ),
  });
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
  other?.close();
});

async function shoot(path: string, body: object = {}): Promise<Record<string, unknown> & Pick<Pixels, 'at'>> {
  const result = await tool.call(
    { url: `${site.origin}/${path}`, width: 800, fullPage: true, ...body },
    { egress: site.guard(`127.0.0.1:${otherPort}`), resource },
  );
  const file = Buffer.from(String(result.fileBase64), 'base64');
  return { ...result, at: (await pixelsOf(file)).at };
}
const YELLOW = '255,255,0';
const GREEN = '0,255,0';
const BLUE = '0,0,255';

test.serial('a scroll container in a shadow root is shown whole', async (t) => {
  for (const path of ['closed-scroller', 'nested-scroller', 'scripted-scroller']) {
    const { at, ...result } = await shoot(path);
    t.like(result, { height: 3100, truncated: false }, path);
    t.deepEqual([at(400, 2990), at(400, 3090)], [YELLOW, GREEN], path);
  }
  const app = await shoot('shadow-scroller');
  t.true(Number(app.height) >= 3050 && Number(app.height) <= 3200, `${app.height}`);
  t.not(app.at(400, 3010), '255,255,255');
});

test.serial(
  'a scroll container is shown whole if the page is a little higher than the viewport',
  async (t) => {
    const { at, ...result } = await shoot('scroller-and-footer');
    t.like(result, { height: 3150, truncated: false });
    t.deepEqual([at(400, 30), at(400, 3120)], ['0,51,102', '102,51,0']);
    const other = await shoot('little-higher');
    t.is(other.height, 3300);
    t.deepEqual([other.at(400, 3090), other.at(400, 3110)], [GREEN, BLUE]);
    // Here the page itself scrolls, and the container is only a part of it.
    t.is((await shoot('much-higher')).height, 855 + 3000);
  },
);

test.serial('a narrow column that scrolls is shown whole', async (t) => {
  const { at, height } = await shoot('column');
  t.is(height, 3100);
  t.deepEqual([at(300, 2990), at(300, 3090)], [YELLOW, GREEN]);
});

for (const name of Object.keys(SHELLS))
  test.serial(`what is around an expanded scroll container keeps its place: ${name}`, async (t) => {
    const { at, height } = await shoot(`shell-${name}`);
    t.is(height, 3220);
    const seen = [30, 100, 860, 3050, 3070, 3150, 3170, 3210].map((y) => at(400, y));
    t.deepEqual(seen, ['255,0,0', YELLOW, YELLOW, YELLOW, GREEN, GREEN, BLUE, BLUE]);
    t.is(at(790, 3100), GREEN);
  });

test.serial('only bars that keep their place in the viewport are moved, and once', async (t) => {
  const transformed = await shoot('transformed');
  t.is(transformed.height, 3900);
  t.deepEqual(
    [730, 770, 3890].map((y) => transformed.at(400, y)),
    ['255,0,0', BLUE, GREEN],
  );
  const nested = await shoot('bar-in-bar');
  t.is(nested.height, 3100);
  t.deepEqual(
    [290, 320, 3030, 3070, 3095].map((y) => nested.at(400, y)),
    [YELLOW, '255,0,0', GREEN, '255,0,0', BLUE],
  );
  const zoomed = await shoot('zoomed');
  t.is(zoomed.height, 2500);
  t.deepEqual(
    [2420, 2430, 2495].map((y) => zoomed.at(400, y)),
    [YELLOW, BLUE, BLUE],
  );
  const sticky = await shoot('sticky-parts');
  t.deepEqual(
    [230, 250, 870, 2290, 2310].map((y) => sticky.at(400, y)),
    ['0,255,255', BLUE, YELLOW, YELLOW, BLUE],
  );
});

test.serial('parts that a component adds while the page is scrolled are shown', async (t) => {
  const { at, height } = await shoot('late-parts');
  t.is(height, 3400);
  t.deepEqual(
    [at(150, 2990), at(150, 3100), at(400, 3100), at(400, 3370)],
    [YELLOW, GREEN, '255,255,255', BLUE],
  );
});

test.serial('fixed bars and backgrounds in shadow roots are placed like others', async (t) => {
  for (const path of ['fixed-open', 'fixed-closed']) {
    const { at, height } = await shoot(path);
    t.is(height, 3000);
    t.deepEqual(
      [870, 1500, 1990, 2010, 2970].map((y) => at(400, y)),
      [GREEN, GREEN, GREEN, YELLOW, BLUE],
      path,
    );
  }
  const { at, height } = await shoot('shadow-fixed');
  t.is(height, 4500);
  t.is(at(790, 4470), '204,0,0');
  t.is(at(400, 1400), at(400, 100));
});

test.serial('cross-origin frames in shadow roots below the viewport are shown', async (t) => {
  for (const path of ['frame-open', 'frame-closed']) {
    const { at, height } = await shoot(path);
    t.is(height, 2200);
    t.deepEqual([at(150, 1990), at(150, 2100), at(400, 2100)], [YELLOW, GREEN, '255,255,255'], path);
  }
});

test.serial('cross-origin frames are shown whole, also in frames and objects', async (t) => {
  for (const [name, width, height] of [
    ['long', 600, 5000],
    ['inner', 600, 300],
    ['object', 600, 300],
    ['scaled', 300, 150],
  ] as const) {
    const { at, ...result } = await shoot(`frame-${name}`);
    t.is(result.height, 2000 + height, name);
    const seen = [10, height / 2, height - 10].map((y) => at(width - 10, 2000 + y));
    t.deepEqual([...seen, at(width + 10, 2010)], [GREEN, GREEN, GREEN, '255,255,255'], name);
  }
});

test.serial('the frames of a frameset are shown whole', async (t) => {
  const rows = await shoot('frameset-rows');
  t.like(rows, { height: 3160, truncated: false });
  t.deepEqual(
    [30, 100, 3050, 3150].map((y) => rows.at(400, y)),
    [BLUE, YELLOW, YELLOW, GREEN],
  );
  const nested = await shoot('frameset-nested');
  t.true(Math.abs(Number(nested.height) - 3875) <= 2, `${nested.height}`);
  t.deepEqual([nested.at(400, 700), nested.at(100, 3870), nested.at(400, 3870)], [BLUE, BLUE, GREEN]);
});

test.serial('sixty cross-origin frames are drawn', async (t) => {
  const { at, height } = await shoot('frame-many');
  t.is(height, 14_000);
  t.deepEqual([at(300, 2100), at(300, 13_900)], [GREEN, GREEN]);
});

test.serial('a frame in a box that scrolls is drawn without scrolling the box', async (t) => {
  const { at, height } = await shoot('frame-in-box');
  t.is(height, 2300);
  t.deepEqual([at(300, 2050), at(300, 2150)], [BLUE, GREEN]);
});

test.serial('a frame renders what it would render in the viewport', async (t) => {
  const { at } = await shoot('frame-skipped');
  t.is(at(300, 2100), GREEN);
});

test.serial('an element that is placed at another one is shown there', async (t) => {
  for (const name of ['named', 'area', 'popover']) {
    const { at, height } = await shoot(`anchored-${name}`);
    t.is(height, 3050, name);
    t.deepEqual([at(50, 1990), at(50, 2025), at(50, 2090)], [YELLOW, BLUE, '255,0,0'], name);
  }
});

test.serial('a frame that fills the viewport is shown whole', async (t) => {
  const { at, ...result } = await shoot('filling');
  t.like(result, { height: 3100, truncated: false });
  t.deepEqual([at(400, 2990), at(400, 3090)], [YELLOW, GREEN]);
});

test.serial('pages with vertical lines are shown whole', async (t) => {
  const colours = ['255,0,0', YELLOW, GREEN, '0,255,255', BLUE, '255,0,255'];
  for (const path of ['vertical-rl', 'vertical-body', 'vertical-lr']) {
    const { at, ...result } = await shoot(path);
    t.like(result, { width: 1800, height: 900, truncated: false }, path);
    const seen = [150, 450, 750, 1050, 1350, 1650].map((x) => at(x, 450));
    t.deepEqual(path === 'vertical-lr' ? seen : seen.toReversed(), colours, path);
  }
  const pdf = await tool.call(
    { url: `${site.origin}/vertical-rl`, width: 800, fullPage: true, format: 'pdf' },
    { egress: site.guard(), resource },
  );
  t.like(pdf, { width: 1800, height: 900 });
  const { pages, width, height } = readPdf(Buffer.from(String(pdf.fileBase64), 'base64'));
  // Chromium rounds the page size to whole printer units.
  t.deepEqual([pages, Math.round(width), Math.round(height)], [1, 1350, 675]);
});

test.serial('a scroll container with vertical lines is shown whole', async (t) => {
  const { at, ...result } = await shoot('vertical-box');
  t.like(result, { width: 1800, height: 900, truncated: false });
  t.deepEqual([at(10, 30), at(10, 450), at(1650, 450)], ['255,0,0', '255,0,255', '255,0,0']);
});

test.serial('a page with vertical lines is captured in many tiles', async (t) => {
  const { at, ...result } = await shoot('vertical-long');
  t.like(result, { width: 12_000, height: 900, truncated: false });
  t.deepEqual(
    [150, 450, 750, 7950, 8050, 11_550, 11_850].map((x) => at(x, 800)),
    ['255,0,255', YELLOW, GREEN, GREEN, GREEN, GREEN, YELLOW],
  );
});

test.serial('a backdrop that fills the viewport covers the whole page', async (t) => {
  const dialog = await shoot('dialog');
  const light = (y: number) => Math.max(...dialog.at(790, y).split(',').map(Number));
  for (const y of [50, 850, 950, Number(dialog.height) - 50]) t.true(light(y) < 110, `${y}: ${light(y)}`);
  const popover = await shoot('popover');
  t.deepEqual([popover.at(790, 100), popover.at(790, 1990)], [BLUE, BLUE]);
  const small = await shoot('small-backdrop');
  t.deepEqual([small.at(790, 90), small.at(790, 110), small.at(790, 1990)], [BLUE, YELLOW, YELLOW]);
});

test.serial('a page that a device shows zoomed out is as wide as its layout', async (t) => {
  const device = 'iPhone 13';
  const old = await shoot('mobile-no-viewport', { device });
  t.like(old, { width: 2940, height: 7500, truncated: false });
  // The words at the right edge are black on the coloured rows.
  const isBlack = (x: number, y: number) => Math.max(...old.at(x, y).split(',').map(Number)) < 90;
  const edge = Array.from({ length: 300 * 90 }, (_, index) =>
    isBlack(2640 + (index % 300), Math.floor(index / 300)),
  );
  t.true(edge.filter(Boolean).length > 100);
  const wide = await shoot('width-980', { device });
  t.like(wide, { width: 2940, height: 9300 });
  t.deepEqual([wide.at(2600, 9200), wide.at(2930, 9200)], [YELLOW, GREEN]);
  const half = await shoot('half', { device });
  t.like(half, { width: 2340, height: 6000 });
  t.deepEqual([half.at(2000, 5990), half.at(2330, 5990)], [YELLOW, GREEN]);
  t.like(await shoot('device-width', { device }), { width: 1170, height: 4500 });
  // The device zooms out to a quarter, at which it is 1,560 px wide.
  t.like(await shoot('width-2000', { device }), { width: 6000 });
  const pdf = await tool.call(
    { url: `${site.origin}/width-980`, device, fullPage: true, format: 'pdf' },
    { egress: site.guard(), resource },
  );
  t.like(pdf, { width: 980, height: 3100, truncated: false });
});

test.serial('a selected element shows nothing but itself', async (t) => {
  const terms = await shoot('tall-modal', { selector: '#terms', fullPage: false });
  t.like(terms, { width: 500, height: 1400 });
  t.is(terms.at(490, 1390), (await shoot('tall-modal', { selector: '#terms' })).at(490, 1390));
  const part = await shoot('hidden-part', { selector: '#e', fullPage: false });
  t.like(part, { width: 200, height: 100 });
  t.is(part.at(199, 99), GREEN);
  for (const [path, height] of [
    ['modal', 1500],
    ['centred', 1500],
    ['translated', 1500],
    ['footed', 1500],
    ['slotted', 1500],
    ['drawing', 1500],
    ['below-popover', 1500],
    ['escapes', 300],
    ['in-sections', 300],
    ['scaled', 500],
    ['contained', 300],
    ['before-start', 300],
  ] as const) {
    const { at, ...size } = await shoot(path, { selector: '#e', fullPage: false });
    t.like(size, { width: 200, height }, path);
    for (const y of [0, 99, height - 1]) t.is(at(100, y), GREEN, `${path} ${y}`);
  }
});

test.serial(
  'a selected element that is higher than the viewport is shown with all that it contains',
  async (t) => {
    for (const [name, height] of [
      ['image', 5300],
      ['skipped', 2300],
      ['revealed', 2300],
      ['frame', 2300],
    ] as const) {
      const { at, ...size } = await shoot(`tall-${name}`, { selector: '#e', fullPage: false, height: 600 });
      t.like(size, { width: 800, height }, name);
      t.deepEqual([at(300, 10), at(300, height - 150)], [YELLOW, GREEN], name);
    }
  },
);
