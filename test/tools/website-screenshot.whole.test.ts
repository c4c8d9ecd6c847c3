import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import test from 'ava';
import sharp from 'sharp';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;

const page = (body: string) => `<!doctype html><title>T</title><style>*{margin:0}</style>${body}`;
const TALL = '<div style="height:3000px"></div>';
const dot = (colour: string) =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"><rect width="50" height="50" fill="${colour}"/></svg>`)}`;
const BLOCKS = Array.from({ length: 15 }, () => '<section></section>').join('');
/** A page of blocks that are green while they intersect the viewport and white outside it. */
const toggling = (script: string) =>
  page(
    `<style>section{height:400px}section.in{background:#0f0}</style>${BLOCKS}<script>const o=new IntersectionObserver(${script});for(const s of document.querySelectorAll('section'))o.observe(s)</script>`,
  );
/** A page whose scroll handlers call `check`, which shows the blocks for which `shown` is true of their box `r`. */
const handling = (shown: string, handlers: string, body = BLOCKS) =>
  page(
    `<style>section{height:400px}section.in{background:#0f0}</style>${body}<script>function check(){for(const s of document.querySelectorAll('section')){const r=s.getBoundingClientRect();${shown}}}${handlers};check()</script>`,
  );
const SHOW = 'if(r.top<innerHeight*.8&&r.bottom>0)s.classList.add("in")';
const TOGGLE = 's.classList.toggle("in",r.top<innerHeight*.8&&r.bottom>0)';
/** Shows a block when the page is scrolled down past a point, which is measured at each resize, and hides it on the way up. */
const BY_DIRECTION = `let at=0,points=[];const all=[...document.querySelectorAll('section')];
  const measure=()=>{const before=points;points=all.map((s,i)=>{const p=s.offsetTop-innerHeight*.8;if(!(before[i]<at)&&p<at)s.className="in";return p})};
  addEventListener("resize",()=>requestAnimationFrame(measure));
  addEventListener("scroll",()=>{const to=scrollY;all.forEach((s,i)=>{if((points[i]<=at)!==(points[i]<=to))s.className=points[i]<=to?"in":""});at=to});measure()`;
/** A page whose blocks `script` reveals with GSAP's ScrollTrigger. `s` is a block in `each`. */
const withGsap = (script: string, style = '') =>
  page(
    `<style>section{height:400px;background:#0f0}${style}</style><script src="/gsap.js"></script><script src="/ScrollTrigger.js"></script>${BLOCKS}<script>gsap.registerPlugin(ScrollTrigger);const each=f=>gsap.utils.toArray("section").forEach(f);${script}</script>`,
  );
const gsapFile = async (name: string) => {
  const script = await readFile(new URL(import.meta.resolve(`gsap/dist/${name}`)));
  return (_: unknown, response: ServerResponse) =>
    response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(script);
};
const INNER = `<div id=inner style="height:100vh;overflow-y:auto">${BLOCKS}</div>`;

test.before(async () => {
  resource = await openBrowsers();
  site = await startSite({
    '/hash': page(
      `<p id=p></p>${TALL}<h1 id=there style="height:500px;background:#00f"></h1>${TALL}<script>const show=()=>document.title='route '+location.hash;show();addEventListener('hashchange',show)</script>`,
    ),
    '/narrow': page(
      `<div id=box style="height:9000px;background:#0f0"></div><script>matchMedia('(max-width:300px)').onchange=()=>{box.style.background='#f00'}</script>`,
    ),
    '/to-hash': (_, response) => response.writeHead(302, { Location: '/hash' }).end(),
    '/gradient': page(`<style>body{background:linear-gradient(#0f0,#0f0) fixed}</style>${TALL}`),
    '/picture': page(
      `<style>body{background:#fff url("${dot('#0f0')}") no-repeat fixed 0 0/100% 100%}</style>${TALL}`,
    ),
    '/cover': page(
      `<div style="background:url('${dot('#0f0')}') fixed center/cover;height:2000px"></div><div style="height:1000px;background:#0f0"></div>`,
    ),
    '/layer': page(`<div style="position:fixed;inset:0;z-index:-1;background:#0f0"></div>${TALL}`),
    '/bar': page(
      `${TALL}<div style="position:fixed;bottom:0;width:100%;height:60px;background:#00f"></div><div style="position:fixed;top:0;width:100%;height:60px;background:#0f0"></div>`,
    ),
    '/sticky': page(
      `${TALL}<div style="position:sticky;bottom:0;height:60px;background:#00f"></div><div style="position:sticky;top:0;height:0"></div>`,
    ),
    '/toggling': toggling(
      'entries=>{for(const e of entries)e.target.classList.toggle("in",e.isIntersecting)}',
    ),
    '/ratio': toggling(
      'entries=>{for(const e of entries)e.target.className=e.intersectionRatio>0?"in":""},{threshold:[0,.5,1]}',
    ),
    '/scroll-debounced': handling(
      SHOW,
      'let t;addEventListener("scroll",()=>{clearTimeout(t);t=setTimeout(check,250)})',
    ),
    '/scroll-throttled': handling(
      SHOW,
      'let last=0;document.addEventListener("scroll",()=>{if(Date.now()-last>200){last=Date.now();check()}})',
    ),
    '/scroll-toggling': handling(
      TOGGLE,
      'let waits=false;addEventListener("scroll",()=>{if(!waits)requestAnimationFrame(()=>{waits=false;check()});waits=true})',
    ),
    '/scroll-fading': handling(
      TOGGLE,
      'addEventListener("scroll",check);let t;addEventListener("resize",()=>{clearTimeout(t);t=setTimeout(check,50)})',
      `<style>section{transition:background .4s}</style>${BLOCKS}`,
    ),
    '/scroll-inner': handling(
      TOGGLE.replace('innerHeight', 'inner.clientHeight'),
      'inner.addEventListener("scroll",check)',
      INNER,
    ),
    '/scroll-images': handling(
      `if(r.top<innerHeight&&!s.firstChild)s.append(Object.assign(new Image(400,400),{style:"display:block",src:${JSON.stringify(dot('#0f0'))}}))`,
      'let t;addEventListener("scroll",()=>{clearTimeout(t);t=setTimeout(check,200)})',
    ),
    '/scroll-measured': handling(
      TOGGLE.replace('innerHeight', 'h'),
      'let h=innerHeight;addEventListener("resize",()=>{h=innerHeight;check()});addEventListener("scroll",check)',
    ),
    '/scroll-direction': handling('', BY_DIRECTION),
    '/scroll-frames': handling(TOGGLE, 'const loop=()=>{check();requestAnimationFrame(loop)};loop()'),
    '/gsap.js': await gsapFile('gsap.js'),
    '/ScrollTrigger.js': await gsapFile('ScrollTrigger.js'),
    '/gsap-reverse': withGsap(
      'each(s=>gsap.from(s,{opacity:0,y:60,duration:.8,scrollTrigger:{trigger:s,start:"top 80%",toggleActions:"play none none reverse"}}))',
    ),
    '/gsap-toggle': withGsap(
      'each(s=>gsap.from(s,{opacity:0,duration:1,scrollTrigger:{trigger:s,start:"top 80%",toggleActions:"play reverse play reverse"}}))',
    ),
    '/gsap-scrub': withGsap(
      'each(s=>gsap.from(s,{opacity:0,scrollTrigger:{trigger:s,start:"top 90%",end:"top 30%",scrub:1}}))',
    ),
    '/gsap-batch': withGsap(
      'gsap.set("section",{opacity:0});ScrollTrigger.batch("section",{onEnter:b=>gsap.to(b,{opacity:1,stagger:.15}),onLeaveBack:b=>gsap.to(b,{opacity:0})})',
    ),
    '/gsap-class': withGsap(
      'each(s=>ScrollTrigger.create({trigger:s,start:"top 80%",toggleClass:"in"}))',
      'section:not(.in){background:#fff}',
    ),
    '/sized': handling(
      TOGGLE,
      'const size=()=>{hero.style.height=innerHeight+"px"};addEventListener("resize",size);size();addEventListener("scroll",check)',
      `<div id=hero style="background:#00f"></div>${BLOCKS}`,
    ),
    '/shrinking': handling(
      'h.style.height=scrollY>50?"40px":"80px";s.className="in"',
      'addEventListener("scroll",check)',
      `<header id=h style="position:fixed;top:0;width:100%;background:#00f"></header>${BLOCKS}`,
    ),
    '/view-timeline': page(
      `<style>@keyframes r{from{opacity:0}to{opacity:1}}section{height:400px;background:#0f0;animation:r linear both;animation-timeline:view()}</style>${BLOCKS}`,
    ),
  });
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
});

async function shoot(path: string, body: object = {}) {
  const result = await tool.call(
    { url: site.origin + path, width: 400, height: 300, ...body },
    { egress: site.guard(), resource },
  );
  const { data, info } = await sharp(Buffer.from(String(result.fileBase64), 'base64'))
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const at = (y: number, x = 200): string => {
    const start = 3 * (y * info.width + x);
    return [...data.subarray(start, start + 3)].join();
  };
  return { ...result, at, height: info.height };
}
const GREEN = '0,255,0';
const BLUE = '0,0,255';
const WHITE = '255,255,255';

test.serial('the fragment of the URL selects the route and the scroll position', async (t) => {
  const there = await shoot('/hash#there');
  t.like(there, { pageTitle: 'route #there', finalUrl: `${site.origin}/hash#there` });
  t.is(there.at(150), BLUE);
  t.like(await shoot('/to-hash#there'), { pageTitle: 'route #there', finalUrl: `${site.origin}/hash#there` });
  t.is((await shoot('/hash')).at(150), WHITE);
});

for (const path of ['/gradient', '/picture', '/cover', '/layer'])
  test.serial(`a background fixed to the viewport covers the whole page: ${path}`, async (t) => {
    const { at, height } = await shoot(path, { fullPage: true });
    t.is(height, 3000);
    t.deepEqual(
      [10, 880, 920, 1500, 2990].map((y) => at(y)),
      Array.from({ length: 5 }, () => GREEN),
    );
  });

test.serial('a bar fixed to the bottom of the viewport is shown at the bottom of the page', async (t) => {
  const { at } = await shoot('/bar', { fullPage: true });
  t.deepEqual(
    [30, 500, 870, 2000, 2930, 2970].map((y) => at(y)),
    [GREEN, WHITE, WHITE, WHITE, WHITE, BLUE],
  );
});

test.serial('a sticky bar at the bottom of the viewport is shown at its position in the page', async (t) => {
  const { at, height } = await shoot('/sticky', { fullPage: true });
  t.is(height, 3060);
  t.deepEqual(
    [870, 2990, 3030].map((y) => at(y)),
    [WHITE, WHITE, BLUE],
  );
});

const BY_GSAP = ['reverse', 'toggle', 'scrub', 'batch', 'class'].map((name) => `/gsap-${name}`);
const BY_SCROLLING = [
  'debounced',
  'throttled',
  'toggling',
  'fading',
  'inner',
  'images',
  'measured',
  'direction',
  'frames',
].map((name) => `/scroll-${name}`);
for (const path of ['/toggling', '/ratio', '/view-timeline', ...BY_SCROLLING, ...BY_GSAP])
  test.serial(`blocks that are shown only inside the viewport are all visible: ${path}`, async (t) => {
    const { at, height } = await shoot(path, { fullPage: true });
    t.is(height, 6000);
    t.deepEqual(
      Array.from({ length: 15 }, (_, index) => at(400 * index + 200)),
      Array.from({ length: 15 }, () => GREEN),
    );
  });

test.serial('scripts do not see the narrow viewport in which Chromium captures tiles', async (t) => {
  for (const body of [{ fullPage: true }, { selector: '#box' }]) {
    const { at, height } = await shoot('/narrow', body);
    t.is(height, 9000);
    t.deepEqual([at(10), at(4500), at(8990)], [GREEN, GREEN, GREEN]);
  }
});

test.serial('a part that a script makes as high as the viewport keeps that height', async (t) => {
  const { at, height } = await shoot('/sized', { fullPage: true });
  t.is(height, 6900);
  t.deepEqual(
    [10, 890, 910, 6890].map((y) => at(y)),
    [BLUE, BLUE, GREEN, GREEN],
  );
});

test.serial('a header that shrinks while the page is scrolled is shown as at the top', async (t) => {
  const { at } = await shoot('/shrinking', { fullPage: true });
  t.deepEqual([at(20), at(70), at(90), at(5990)], [BLUE, BLUE, GREEN, GREEN]);
});
