import test from 'ava';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { type Pixels, pixelsOf } from '../helpers/pictures.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;

const page = (body: string) => `<!doctype html><title>T</title><style>*{margin:0}</style>${body}`;
/** Adds a row of 50 px in its place. The row is green, the last of `count` blue. */
const ADD = `content.insertAdjacentHTML('beforeend','<p style="position:absolute;top:'+50*i+'px;height:50px;width:100%;background:'+(i<count-1?'#0f0':'#00f')+'">Row number '+i+'</p>')`;
/** Draws the rows around the scroll position `at` in new elements. */
const NEW = `content.innerHTML='';for(let i=first;i<last;i++)${ADD}`;
/** Draws them in the same elements each time, as far down as their place is. */
const SAME = `while(content.children.length<30){const i=0;${ADD}};[...content.children].forEach((row,index)=>{const i=first+index;row.style.top=50*i+'px';row.hidden=i>=last;row.style.background=i<count-1?'#0f0':'#00f';row.textContent='Row number '+i})`;
/**
 * A page with a list of `count` rows that draws only those around its viewport.
 *
 * @param shown expression for the height of the viewport
 */
const list = (
  shown: string,
  { count = 100, draw = NEW, before = '', inside = '', after = '', script = '', height = '700px' } = {},
) =>
  page(
    `${before}<main id=box style="height:${height};overflow:auto">${inside}<div id=content style="position:relative;height:${50 * count}px"></div></main>${after}<script>const count=${count};const draw=()=>{const at=box.scrollTop+scrollY;const first=Math.max(0,Math.floor(at/50)-2);const last=Math.min(count,Math.ceil((at+${shown})/50)+2);${draw}};box.onscroll=onscroll=draw;draw();${script}</script>`,
  );
const IN_WINDOW = { height: 'auto;overflow:visible' };
const bar = (colour: string, style = '') => `<div style="height:60px;background:${colour};${style}"></div>`;

test.before(async () => {
  resource = await openBrowsers();
  site = await startSite({
    '/fixed': list('700'),
    '/same-elements': list('700', { draw: SAME }),
    '/observed': list('box.offsetHeight', { script: 'new ResizeObserver(draw).observe(box)' }),
    '/window': list('innerHeight', { ...IN_WINDOW, script: 'onresize=draw' }),
    '/window-fixed': list('900', IN_WINDOW),
    '/requested': list('700', {
      draw: `const asked=window.asked=first;fetch('/rows?'+first).then(()=>{if(asked!==window.asked)return;${NEW}})`,
    }),
    '/rows': (_, response) => setTimeout(() => response.end('rows'), 200),
    '/many': list('700', { count: 5_000 }),
    '/parts': list('700', {
      before: bar('#f00'),
      inside: bar('#ff0', 'position:sticky;top:0'),
      after: bar('#f00') + bar('#0ff', 'position:fixed;bottom:0;width:100%'),
    }),
    '/live': page(
      `<table>${Array.from({ length: 60 }, (_, row) => `<tr><td style="height:50px">Share ${row}<td><i></i><td><i></i><td><i></i>`).join('')}</table><script>setInterval(()=>{for(const i of document.querySelectorAll('i'))i.textContent='USD '+Math.random()},50)</script>`,
    ),
  });
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
});

async function shoot(path: string): Promise<Record<string, unknown> & Pick<Pixels, 'at'>> {
  const result = await tool.call(
    { url: `${site.origin}/${path}`, width: 800, fullPage: true },
    { egress: site.guard(), resource },
  );
  return { ...result, at: (await pixelsOf(Buffer.from(String(result.fileBase64), 'base64'))).at };
}
const [RED, GREEN, BLUE, YELLOW, CYAN] = ['255,0,0', '0,255,0', '0,0,255', '255,255,0', '0,255,255'];

for (const path of ['fixed', 'same-elements', 'observed', 'window', 'requested'])
  test.serial(`a list that draws only the rows in its viewport is shown whole: ${path}`, async (t) => {
    const { at, ...result } = await shoot(path);
    t.like(result, { height: 5_000, truncated: false });
    t.deepEqual(
      [25, 725, 1_500, 3_000, 4_500, 4_975].map((y) => at(790, y)),
      [GREEN, GREEN, GREEN, GREEN, GREEN, BLUE],
    );
  });

test.serial('what lies over and around such a list is shown once', async (t) => {
  const { at, ...result } = await shoot('parts');
  t.like(result, { height: 5_180, truncated: false });
  t.deepEqual(
    [30, 90, 130, 790, 850, 2_500, 5_110, 5_150].map((y) => at(790, y)),
    [RED, YELLOW, GREEN, GREEN, GREEN, GREEN, BLUE, CYAN],
  );
});

test.serial('a list higher than the ceiling is shown in part and counts as truncated', async (t) => {
  // How much is shown depends on the time that the parts take.
  const { at, ...result } = await shoot('many');
  t.true(result.truncated);
  t.deepEqual([at(790, 1_500), at(790, 2_500)], [GREEN, GREEN]);
});

test.serial(
  'a list that cannot be drawn whole counts as truncated, a page with live values does not',
  async (t) => {
    t.like(await shoot('window-fixed'), { height: 5_000, truncated: true });
    t.like(await shoot('live'), { truncated: false });
  },
);
