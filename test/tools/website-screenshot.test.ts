import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import sharp from 'sharp';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
const FONT = readFileSync('/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf');
const page = (body: string, head = '') =>
  `<!doctype html><html><head><meta charset="utf-8"><title>Täst &amp; more</title>${head}</head><body style="margin:0">${body}`;
const dot = (colour: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20" fill="${colour}"/></svg>`;

/**
 * A page whose rows each have a unique colour: the row number in base 128, in even values, so that rounding cannot make
 * two rows equal.
 */
const ROWS = `<canvas id="c" width="100" height="16500" style="display:block;image-rendering:pixelated"></canvas><script>
  const x=c.getContext('2d');for(let y=0;y<16500;y++){x.fillStyle='rgb('+[(y>>14)*2,((y>>7)&127)*2,(y&127)*2]+')';x.fillRect(0,y,100,1)}</script>`;

/** A page whose script loads each image when it scrolls into view, as was usual before native lazy loading. */
const LAZY = `${Array.from({ length: 200 }, (_, i) => `<img data-src="/dot?${i}" width="20" height="40" style="display:block">`).join('')}
  <script>const o=new IntersectionObserver(es=>es.forEach(e=>{if(e.isIntersecting&&!e.target.src)e.target.src=e.target.dataset.src}));document.querySelectorAll('img').forEach(i=>o.observe(i))</script>`;
const NATIVE = Array.from(
  { length: 200 },
  (_, i) => `<img loading="lazy" src="/dot?${i}" width="20" height="40" style="display:block">`,
).join('');
/** A page whose content scrolls in an element instead of the document. */
const INNER =
  '<style>html,body{height:100%;overflow:hidden}</style><main style="height:100vh;overflow-y:auto"><div style="height:3000px;background:#0f0"></div><div style="height:100px;background:#00f"></div></main>';
/** A page that has replaced built-in functions with broken ones. */
const REPLACED = `${INNER}<script>document.querySelector=document.querySelectorAll=()=>[];Element.prototype.scrollTo=()=>{};requestAnimationFrame=()=>0</script>`;
const FEED = `<div id="f"></div><script>const add=()=>{for(let i=0;i<10;i++)f.append(Object.assign(document.createElement('p'),{textContent:'item '+f.childElementCount,style:'height:60px'}))};add();
  new IntersectionObserver(()=>add(),{rootMargin:'300px'}).observe(Object.assign(document.body.appendChild(document.createElement('i')),{textContent:'.'}));addEventListener('scroll',()=>add())</script>`;
/**
 * Sections that are rendered only near the viewport (content-visibility), on a page whose Content-Security-Policy
 * forbids other styles. The last section is in a shadow tree.
 */
const SECTIONS = `<meta http-equiv="Content-Security-Policy" content="style-src 'nonce-s'"><style nonce="s">
  section{content-visibility:auto;contain-intrinsic-size:200px}div{height:200px;background:#0f0}.never{content-visibility:hidden;background:#00f}.never div{background:#f00}</style>
  ${'<section><div></div></section>'.repeat(40)}<div class="never"><div></div></div><p id="host"></p><script>
  const sheet=new CSSStyleSheet();sheet.replaceSync(':host{display:block;margin:0}section{content-visibility:auto}div{height:200px;background:#0f0}');
  const root=host.attachShadow({mode:'open'});root.adoptedStyleSheets=[sheet];root.innerHTML='<section><div></div></section>'</script>`;
/** Sections that fade in slowly when they scroll into view; an animation follows the transition. */
const REVEALS = `<style>div{height:200px;opacity:0;transition:opacity 2s .5s}.in{opacity:1;background:#00f}@keyframes late{to{background:#0f0}}.on{animation:late 1s .5s forwards}
  i{position:absolute;top:0;left:50px;width:50px;height:50px;background:#f00;animation:turn 1s infinite}@keyframes turn{to{opacity:.99}}</style>${'<div></div>'.repeat(30)}<i></i><script>
  const o=new IntersectionObserver(es=>es.forEach(e=>{if(e.isIntersecting)e.target.classList.add('in')}));document.querySelectorAll('div').forEach(e=>{o.observe(e);e.ontransitionend=()=>e.classList.add('on')})</script>`;
/** Cross-origin frames, one inside the viewport and the others far below; the last is higher than the viewport. */
const FRAMES = [300, 300, 300, 1500]
  .map(
    (height, i) =>
      `<iframe src="http://other.example.com:PORT/frame?${i}" style="display:block;width:100%;height:${height}px;border:10px solid #f00;box-sizing:border-box;padding:5px;background:#00f"></iframe><div style="height:1500px"></div>`,
  )
  .join('');
/**
 * Content for a page that starts at its right edge: the rightmost fifth is blue and the rest, up to the scroll limit,
 * red.
 */
const fromRight = (height: number, style: string) =>
  `<script>document.documentElement.style='${style}'</script><div style="width:2000px;height:${height}px;background:linear-gradient(to left,#00f 400px,#f00 400px)"></div>`;

let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;

test.before(async () => {
  resource = await openBrowsers();
  site = await startSite({
    '/': page('<h1>hello</h1>'),
    '/rows': page(ROWS),
    '/lazy': page(LAZY),
    '/native': page(NATIVE),
    '/dot': async (request, response) => {
      // The responses take different times, so that the images do not all arrive at once.
      await sleep((Number(request.url?.split('?')[1]) % 50) * 10);
      response.writeHead(200, { 'Content-Type': 'image/svg+xml' }).end(dot('#00ff00'));
    },
    '/feed': page(FEED),
    '/hero': page(
      '<div style="height:100vh;background:#f00"></div><div style="height:5000px;background:#00f"></div>',
    ),
    '/inner': page(INNER),
    '/sections': page(SECTIONS),
    '/reveals': page(REVEALS),
    '/frames': (request, response) =>
      response
        .writeHead(200, {
          'Content-Type': 'text/html',
          'Content-Security-Policy': "default-src 'none'; frame-src *; style-src 'unsafe-inline'",
        })
        .end(page(FRAMES.replaceAll('PORT', `${request.socket.localPort}`))),
    '/frame': page('<div style="height:100vh;background:linear-gradient(#0f0 50%,#ff0 50%)"></div>'),
    '/rtl': page(fromRight(5000, 'direction:rtl')),
    '/rtl-window': page(fromRight(900, 'direction:rtl')),
    '/rtl-scrolled': page(`${fromRight(5000, 'direction:rtl')}<script>scrollTo(-390,0)</script>`),
    '/replaced': page(REPLACED),
    '/late-font': page(
      '<p style="font:60px Late,serif">iiiiiiii</p><i id="w"></i><script>setTimeout(()=>{const f=new FontFace("Late","url(/font)");document.fonts.add(f);f.load()},200)</script>',
    ),
    '/no-font': page('<p style="font:60px Other,serif">iiiiiiii</p>'),
    '/font': async (_, response) => {
      await sleep(700);
      response.writeHead(200, { 'Content-Type': 'font/ttf' }).end(FONT);
    },
    '/redirect': (_, response) => response.writeHead(302, { Location: '/moved' }).end(),
    '/to-private': (_, response) => response.writeHead(302, { Location: 'https://10.9.9.9/' }).end(),
    '/moved': page('<script>location.replace("/there#part")</script>'),
    '/there': page('<h1 id="part">there</h1>'),
    '/language': (request, response) => {
      const asked = JSON.stringify(request.headers['accept-language'] ?? '');
      response
        .writeHead(200, { 'Content-Type': 'text/html' })
        .end(`<script>document.title=${asked}+' '+navigator.languages</script>`);
    },
    '/desktop': page(
      `<script>document.title=['(hover: hover)','(pointer: fine)','(any-hover: none)','(any-pointer: coarse)','(device-width: 1234px)','(device-height: 567px)'].filter(q=>matchMedia(q).matches).join('')</script>`,
    ),
    '/private': page(
      `${Array.from({ length: 7 }, (_, i) => `<img src="http://10.0.0.${i}/x">`).join('')}<img src="https://192.168.0.1/x"><img src="http://db.internal/"><script>new WebSocket('ws://10.1.1.1/')</script><iframe src="https://192.168.0.2/"></iframe><iframe src="http://192.168.0.3/"></iframe><img src="https://192.168.0.1/y"><img src="/to-private">`,
    ),
  });
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
});

type Taken = Record<string, unknown> & { file: Buffer };
async function shoot(path: string, body: object = {}, browsers = resource): Promise<Taken> {
  const result = await tool.call(
    { url: site.origin + path, ...body },
    { egress: site.guard(), resource: browsers },
  );
  return { ...result, file: Buffer.from(String(result.fileBase64), 'base64') };
}
async function pixels(
  file: Buffer,
): Promise<{ at(x: number, y: number): number[]; width: number; height: number }> {
  const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return {
    ...info,
    at: (x, y) => [...data.subarray(3 * (y * info.width + x), 3 * (y * info.width + x) + 3)],
  };
}

test.serial('the viewport is captured, and title and final URL are returned', async (t) => {
  const result = await shoot('/redirect', { width: 640, height: 480 });
  t.like(result, {
    width: 640,
    height: 480,
    mimeType: 'image/png',
    truncated: false,
    pageTitle: 'Täst & more',
    finalUrl: `${site.origin}/there#part`,
    blockedRequestCount: 0,
  });
  t.like(await sharp(result.file).metadata(), { format: 'png', width: 640, height: 480 });
});

test.serial('pages are requested in English', async (t) => {
  t.regex(String((await shoot('/language')).pageTitle), /^en-US,en\b.* en-US,en$/);
});

test.serial('the screen has the size of the viewport', async (t) => {
  const { pageTitle } = await shoot('/desktop', { width: 1234, height: 567 });
  t.is(pageTitle, '(hover: hover)(pointer: fine)(device-width: 1234px)(device-height: 567px)');
});

for (const renderer of ['software', 'swiftshader'] as const)
  test.serial(
    `every row of a page up to the maximum height is captured at both scale factors: ${renderer}`,
    async (t) => {
      await using own = await openBrowsers({ renderer });
      for (const deviceScaleFactor of [1, 2]) {
        const { file, ...result } = await shoot(
          '/rows',
          { width: 100, fullPage: true, deviceScaleFactor },
          own,
        );
        t.like(result, {
          width: 100 * deviceScaleFactor,
          height: 16_384 * deviceScaleFactor,
          truncated: true,
        });
        const { at, height } = await pixels(file);
        const wrong: number[] = [];
        for (let y = 0; y < height; y++) {
          const row = Math.floor(y / deviceScaleFactor);
          const expected = [(row >> 14) * 2, ((row >> 7) & 127) * 2, (row & 127) * 2];
          if (`${at(50, y)}` !== `${expected}`) wrong.push(y);
        }
        t.deepEqual(wrong.slice(0, 10), []);
      }
    },
  );

test.serial('an image of more than 100 million pixels is clipped', async (t) => {
  const result = await shoot('/rows', { width: 3840, fullPage: true, deviceScaleFactor: 2, format: 'jpeg' });
  t.like(result, { width: 7680, truncated: true });
  t.is(result.height, 2 * Math.floor(100e6 / (3840 * 4)));
});

for (const path of ['/lazy', '/native'])
  test.serial(`200 of 200 lazy images are loaded: ${path}`, async (t) => {
    const { file, height } = await shoot(path, { width: 100, fullPage: true });
    t.is(height, 8000);
    const { at } = await pixels(file);
    const missing = Array.from({ length: 200 }, (_, i) => i).filter((i) => at(10, 40 * i + 20)[1] !== 255);
    t.deepEqual(missing, []);
  });

test.serial('a page that grows endlessly is captured up to the maximum height', async (t) => {
  const startedAt = Date.now();
  const { height } = await shoot('/feed', { width: 300, fullPage: true, format: 'jpeg' });
  t.true(Number(height) > 5_000 && Number(height) <= 16_384, `${height}`);
  t.log(`${Date.now() - startedAt} ms`);
});

test.serial('an element as high as the viewport keeps its height', async (t) => {
  const { file, height } = await shoot('/hero', { width: 100, height: 2000, fullPage: true });
  t.is(height, 5900);
  const { at } = await pixels(file);
  t.deepEqual(
    [at(5, 899), at(5, 900), at(5, 5899)],
    [
      [255, 0, 0],
      [0, 0, 255],
      [0, 0, 255],
    ],
  );
});

for (const path of ['/inner', '/replaced'])
  test.serial(`the content of a scroll container is shown in full: ${path}`, async (t) => {
    const { file, height } = await shoot(path, { width: 200, fullPage: true });
    t.is(height, 3100);
    const { at } = await pixels(file);
    t.deepEqual(
      [at(5, 2999), at(5, 3050)],
      [
        [0, 255, 0],
        [0, 0, 255],
      ],
    );
  });

test.serial('sections with content-visibility are all rendered', async (t) => {
  const { file, height } = await shoot('/sections', { width: 100, fullPage: true });
  t.is(height, 42 * 200);
  const { at } = await pixels(file);
  const colours = Array.from({ length: 42 }, (_, i) => `${at(50, 200 * i + 100)}`);
  t.deepEqual(colours, [...Array(40).fill('0,255,0'), '0,0,255', '0,255,0']);
});

for (const fullPage of [true, false])
  test.serial(`content that fades in is fully visible${fullPage ? ' on the full page' : ''}`, async (t) => {
    const { file } = await shoot('/reveals', { width: 100, height: 3000, fullPage });
    const { at, height } = await pixels(file);
    t.is(height, fullPage ? 6000 : 3000);
    const colours = Array.from({ length: height / 200 }, (_, i) => `${at(10, 200 * i + 100)}`);
    t.deepEqual(colours, Array(height / 200).fill('0,255,0'));
  });

for (const deviceScaleFactor of [1, 2])
  test.serial(`cross-origin frames are all rendered: ${deviceScaleFactor}`, async (t) => {
    const { fileBase64 } = await tool.call(
      { url: `${site.origin}/frames`, width: 200, fullPage: true, deviceScaleFactor },
      { egress: site.guard(`other.example.com:${site.port}`), resource },
    );
    const { at, height } = await pixels(Buffer.from(String(fileBase64), 'base64'));
    t.is(height, 8400 * deviceScaleFactor);
    const inside = (y: number) => `${at(100 * deviceScaleFactor, y * deviceScaleFactor)}`;
    for (const top of [0, 1800, 3600])
      t.deepEqual(
        [5, 12, 18, 140, 160, 280, 287, 295].map((y) => inside(top + y)),
        ['255,0,0', '0,0,255', '0,255,0', '0,255,0', '255,255,0', '255,255,0', '0,0,255', '255,0,0'],
      );
    t.deepEqual([5410, 6100, 6200, 6880].map(inside), ['0,0,255', '0,255,0', '255,255,0', '255,255,0']);
  });

for (const [path, height] of [
  ['/rtl', 5000],
  ['/rtl-window', 900],
] as const)
  for (const deviceScaleFactor of [1, 2])
    test.serial(
      `a right-to-left page is captured from its start: ${path} ${deviceScaleFactor}`,
      async (t) => {
        const { file, ...size } = await shoot(path, { width: 400, fullPage: true, deviceScaleFactor });
        t.like(size, { width: 400 * deviceScaleFactor, height: height * deviceScaleFactor });
        const { at, ...drawn } = await pixels(file);
        for (const x of [2, drawn.width - 3])
          for (const y of [2, drawn.height - 3]) t.deepEqual(at(x, y), [0, 0, 255], `${x} ${y}`);
      },
    );

test.serial('a page captured in several tiles keeps its scroll position', async (t) => {
  const { file } = await shoot('/rtl-scrolled', { width: 400, height: 4100 });
  const { at } = await pixels(file);
  for (const y of [5, 4095])
    t.deepEqual(
      [at(385, y), at(395, y)],
      [
        [255, 0, 0],
        [0, 0, 255],
      ],
    );
});

test.serial('the capture waits for a web font that loads late', async (t) => {
  // The text consists of narrow letters, which are about four times as wide in the monospaced web font.
  const inkWidth = async (path: string) => {
    const { file } = await shoot(path, { width: 600, height: 200 });
    const { info } = await sharp(file).trim().toBuffer({ resolveWithObject: true });
    return info.width;
  };
  const late = await inkWidth('/late-font');
  const without = await inkWidth('/no-font');
  t.true(late > 1.5 * without, `${late} ${without}`);
});

test.serial('requests to private targets are counted', async (t) => {
  t.is((await shoot('/private')).blockedRequestCount, 14);
});

test('invalid input is refused', async (t) => {
  const url = 'http://example.com/';
  for (const body of [
    { url: 'http://u:p@example.com/' },
    { url: 'ftp://example.com/' },
    { url: 'example.com' },
    { url: `http://example.com/${'é'.repeat(5000)}` },
    { url, width: 99 },
    { url, height: 4321 },
    { url, quality: 101 },
    { url, deviceScaleFactor: 3 },
    { url, fullPage: 'yes' },
  ])
    t.is((await faultsOf(tool, body)).length, 1, JSON.stringify(body));
});
