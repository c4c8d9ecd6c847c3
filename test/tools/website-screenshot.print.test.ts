import test from 'ava';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { casePage, type Pixels, pixelsOf, readPdf, renderPdf } from '../helpers/pictures.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;

const page = (style: string, body: string) =>
  `<!doctype html><title>T</title><style>*{margin:0}body{font:20px sans-serif}${style}</style>${body}`;
const block = (colour: string, text: string, style = '') =>
  `<div style="height:400px;background:${colour};${style}">${text}</div>`;
const PAGES: Readonly<Record<string, string>> = {
  // Rules for paged media.
  size: page(
    '@page{size:A4 landscape;margin:3cm;@top-center{content:"TOP"}}@page:first{margin:5cm!important}',
    ['#fcc', '#cfc', '#ccf'].map((colour, index) => block(colour, `WORD${index}`)).join(''),
  ),
  named: page(
    '@page wide{size:A3 landscape}@page{size:10cm}.w{page:wide}',
    block('#fcc', 'FIRST') +
      block('#cfc', 'SECOND', 'page:wide') +
      `<section class=w>${block('#ccf', 'THIRD')}</section>`,
  ),
  breaks: page(
    'h2{break-before:right;page-break-after:always!important}',
    `<h2>ONE</h2>${block('#fcc', 'A')}<h2>TWO</h2><table><tr style="break-after:page"><td>${block('#cfc', 'B')}<tr><td>${block('#ccf', 'C')}</table>`,
  ),
  // Sizes that depend on the viewport.
  percent: page(
    'html,body{height:100%}',
    `<div style="min-height:100%;background:#fcc">FULL</div>${block('#cfc', 'BELOW')}`,
  ),
  generated: page(
    'body::before{content:"GENERATED";display:block;height:50vh;background:#fcc}p{font-size:5vmin}',
    `<p>SMALL</p>${block('#cfc', 'BELOW', 'padding-top:10dvh')}`,
  ),
  queried: page(
    '@media(min-height:1000px){.a{display:none}}',
    `<p class=a>KEPT</p>${block('#cfc', 'A')}${block('#ccf', 'B')}${block('#fcc', 'C')}`,
  ),
  // Media queries for the viewport, and breaks between columns.
  media: page(
    '@media(orientation:portrait){.a{background:#f00}@supports(color:red){.b{color:#fff;background:#00f}}}@layer x{@media(min-height:950px){.c{background:#0a0}}}',
    `<picture><source media="(min-height:950px)" srcset="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='800' height='300'/>"><img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='800' height='300'><rect width='800' height='300' fill='green'/></svg>"></picture>${['a', 'b', 'c'].map((name) => `<div class=${name} style="height:400px">TEXT</div>`).join('')}`,
  ),
  columns: page(
    'section{columns:2}h2{break-before:column}.c{height:250px;break-inside:avoid}',
    `<section><h2>ONE</h2><p style="height:300px;background:#fcc">A<h2>TWO</h2><p style="height:50px;background:#ccf">B</section><section>${['#fcc', '#cfc', '#ccf'].map((colour) => `<div class=c style="background:${colour}">CARD</div>`).join('')}</section>${block('#ffc', 'END')}`,
  ),
  // Media queries and elements for browsers that run no scripts.
  scriptless: page(
    '@media(scripting:none){body{background:#f00}}',
    `<script>1</script><noscript>No script</noscript>${block('#cfc', 'A')}<video style="width:400px;height:300px;background:#ccf"></video>${block('#ccf', 'B')}`,
  ),
  // Places that depend on the viewport.
  placed: page(
    '.b{position:absolute;bottom:0;right:0;width:90px;height:40px;background:#f00}.c{position:fixed;bottom:10px;left:0;padding:9px;background:#00f}',
    `${block('#cfc', 'A')}${block('#ccf', 'B')}${block('#fcc', 'C')}<p class=b>ABS</p><p class=c>FIXED</p>`,
  ),
  scripted: page(
    '',
    `<div id=h style="background:#fcc">HERO</div>${block('#cfc', 'A')}${block('#ccf', 'B')}<script>const size=()=>{h.style.height=innerHeight+'px'};size();addEventListener('resize',size);new ResizeObserver(size).observe(document.documentElement)</script>`,
  ),
  component: page(
    '',
    `<div><template shadowrootmode=closed><style>.h{height:100vh;background:#fcc}.p{break-before:page}</style><p class=h>HERO</p><p class=p>NEXT</p></template></div>${block('#cfc', 'A')}`,
  ),
};
const CASES = ['pdf-fixed-header', 'pdf-hero-vh', 'pdf-page-breaks'];

test.before(async () => {
  resource = await openBrowsers();
  const cases = await Promise.all(CASES.map(async (name) => [`/${name}`, await casePage(name)] as const));
  site = await startSite({
    ...Object.fromEntries([
      ...Object.entries(PAGES).map(([name, html]) => [`/${name}`, html] as const),
      ...cases,
    ]),
    '/wide': page(
      '',
      `<div style="width:1500px;height:50px;background:#f00">WIDE</div>${block('#00f', 'B', 'width:100px')}`,
    ),
    '/dark': page('body{background:#fff}@media(prefers-color-scheme:dark){body{background:#00f}}', 'x'),
    '/huge': page(
      '',
      Array.from({ length: 50 }, (_, index) => block(index % 2 ? '#cfc' : '#fcc', `W${index}`)).join(''),
    ),
  });
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
});

async function take(path: string, body: object): Promise<Record<string, unknown> & { file: Buffer }> {
  const result = await tool.call(
    { url: `${site.origin}/${path}`, width: 800, fullPage: true, ...body },
    { egress: site.guard(), resource },
  );
  return { ...result, file: Buffer.from(String(result.fileBase64), 'base64') };
}

/** Returns the share of the points of a grid at which two pictures have clearly different colours. */
function difference(a: Pixels, b: Pixels): number {
  const [columns, rows] = [20, 60];
  let different = 0;
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const at = ({ width, height, at: read }: Pixels) =>
        read(Math.floor(((column + 0.5) * width) / columns), Math.floor(((row + 0.5) * height) / rows))
          .split(',')
          .map(Number);
      const [one, two] = [at(a), at(b)];
      if (one.some((value, index) => Math.abs(value - (two[index] ?? 0)) > 40)) different += 1;
    }
  return different / (columns * rows);
}

for (const name of [...Object.keys(PAGES), ...CASES])
  test.serial(`a PDF of the whole page is one page and looks like the picture of it: ${name}`, async (t) => {
    const [picture, pdf] = [await take(name, {}), await take(name, { format: 'pdf' })];
    const { pages, width, height, words } = readPdf(pdf.file);
    t.like(pdf, { width: 800, height: picture.height, truncated: false });
    t.is(pages, 1);
    // Points have 72 to the inch, CSS pixels 96. Chromium rounds to whole printer units.
    t.true(
      Math.abs(width / 0.75 - 800) < 1 && Math.abs(height / 0.75 - Number(pdf.height)) < 1,
      `${width} x ${height}`,
    );
    const expected = [...(PAGES[name] ?? (await casePage(name))).matchAll(/>([A-Z]{3,}\d?)/g)].map(
      ([, word]) => word,
    );
    for (const word of expected) t.true(words.includes(word ?? ''), `${word} is missing`);
    // Letters are drawn a little differently.
    t.true(difference(await pixelsOf(picture.file), await renderPdf(pdf.file)) < 0.02);
  });

test.serial('a page wider than the viewport is cut and not made smaller', async (t) => {
  const { file, ...result } = await take('wide', { format: 'pdf' });
  t.like(result, { width: 800, height: 900 });
  const { at } = await renderPdf(file);
  t.deepEqual([at(790, 25), at(90, 300), at(110, 300)], ['255,0,0', '0,0,255', '255,255,255']);
});

test.serial('media preferences apply to a PDF', async (t) => {
  const { file } = await take('dark', { format: 'pdf', colorScheme: 'dark' });
  t.is((await renderPdf(file)).at(400, 500), '0,0,255');
});

test.serial('a PDF of a page above the ceiling says that it is truncated', async (t) => {
  const { file, ...result } = await take('huge', { format: 'pdf' });
  t.like(result, { width: 800, height: 16_384, truncated: true });
  const { pages, words } = readPdf(file);
  t.is(pages, 1);
  t.true(words.includes('W39') && !words.includes('W45'), words.join(' '));
});
