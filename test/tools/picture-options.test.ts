import { execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import test from 'ava';
import { KnownDevices } from 'puppeteer';
import sharp from 'sharp';
import { DEVICES } from '../../schemas/formats/devices.ts';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { listen } from '../helpers/egress.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const screenshot = await loadTool('website-screenshot');
const markup = await loadTool('html-to-image');
let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;
const seen = new Map<string, IncomingHttpHeaders>();

const page = (body: string) => `<!doctype html><title>T</title><style>*{margin:0}</style>${body}`;
const CARD =
  '<div style="height:1500px"></div><div id=card style="margin-left:37px;width:210.5px;height:120px;background:#00f"></div><div style="height:2000px"></div><div style="position:fixed;inset:0 0 auto 0;height:100%;background:#f00"></div>';
const LATE =
  '<body style="background:#f00"><script>setTimeout(()=>{document.body.style.background="#0f0";document.body.innerHTML="<p id=late>late</p>"},700)</script>';
const PREFERENCES =
  '<style>body{background:#f00}@media(prefers-color-scheme:dark){body{background:#00f}}@media(prefers-reduced-motion:reduce){body{border-top:50px solid #0f0}}</style>';
let other: ReturnType<typeof createServer>;
let otherPort: number;

test.before(async () => {
  resource = await openBrowsers();
  other = createServer((request, response) => {
    seen.set(`other ${request.url}`, request.headers);
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Content-Type', 'text/html').end('<p>other');
  });
  otherPort = await listen(other);
  const elsewhere = (path: string) => `http://127.0.0.1:${otherPort}${path}`;
  const record: Parameters<typeof startSite>[0][string] = (request, response) => {
    seen.set(`own ${request.url}`, request.headers);
    response.setHeader('Content-Type', 'text/html').end('x');
  };
  site = await startSite({
    '/card': page(CARD),
    '/late': page(LATE),
    '/preferences': page(PREFERENCES),
    '/none': page('<div style="width:50px;height:50px;background:#00f"></div>'),
    '/tall': page('<div style="height:2000px;background:linear-gradient(#f00,#00f)"></div>'),
    '/very-tall': page('<div style="height:20000px;background:#0f0"></div>'),
    '/agent': page(
      '<script>document.title=[navigator.userAgent,innerWidth,devicePixelRatio,navigator.maxTouchPoints>0,matchMedia("(max-width:500px)").matches].join("|")</script>',
    ),
    '/own': (request, response) => {
      seen.set('own /own', request.headers);
      response
        .setHeader('Content-Type', 'text/html')
        .end(
          page(
            `<img src=/a.png><img src="${elsewhere('/image')}"><iframe src="${elsewhere('/frame')}"></iframe><img src=/redirected><script>fetch('/b');fetch('${elsewhere('/fetch')}')</script>`,
          ),
        );
    },
    '/a.png': record,
    '/b': record,
    '/redirected': (_, response) => response.writeHead(302, { Location: elsewhere('/after') }).end(),
    '/away': (_, response) => response.writeHead(302, { Location: elsewhere('/page') }).end(),
  });
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
  other?.close();
});

type Picture = Record<string, unknown> & { file: Buffer };
const shoot = async (path: string, body: object = {}): Promise<Picture> => {
  const result = await screenshot.call(
    { url: site.origin + path, width: 400, height: 300, ...body },
    { egress: site.guard(`127.0.0.1:${otherPort}`), resource },
  );
  return { ...result, file: Buffer.from(String(result.fileBase64), 'base64') };
};
const draw = async (html: string, body: object = {}): Promise<Picture> => {
  const result = await markup.call(
    { html, width: 400, height: 300, ...body },
    { egress: site.guard(), resource },
  );
  return { ...result, file: Buffer.from(String(result.fileBase64), 'base64') };
};
/** Returns red, green, blue and alpha of a pixel. */
async function pixel(file: Buffer, x: number, y: number): Promise<number[]> {
  const { data } = await sharp(file)
    .ensureAlpha()
    .extract({ left: x, top: y, width: 1, height: 1 })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return [...data];
}
const RED = [255, 0, 0, 255];
const GREEN = [0, 255, 0, 255];
const BLUE = [0, 0, 255, 255];

for (const [name, take] of [
  ['website-screenshot', (body: object) => shoot('/card', body)],
  ['html-to-image', (body: object) => draw(page(CARD), body)],
] as const)
  for (const body of [{}, { fullPage: true }, { deviceScaleFactor: 2 }])
    test.serial(`${name} captures the selected element alone: ${JSON.stringify(body)}`, async (t) => {
      const { file, ...size } = await take({ selector: '#card', ...body });
      const scale = 'deviceScaleFactor' in body ? 2 : 1;
      t.like(size, { width: 211 * scale, height: 120 * scale, truncated: false });
      for (const [x, y] of [
        [0, 0],
        [209 * scale, 119 * scale],
      ] as const)
        t.deepEqual(await pixel(file, x, y), BLUE);
    });

test.serial('a selector that is invalid or matches nothing is refused', async (t) => {
  for (const selector of ['#none', 'p:::x'])
    await t.throwsAsync(shoot('/card', { selector }), { code: 'invalid_input' });
});

test.serial('a capture waits for an element or for a time', async (t) => {
  t.deepEqual(await pixel((await shoot('/late', { waitFor: '#late' })).file, 200, 200), GREEN);
  t.deepEqual(await pixel((await draw(page(LATE), { waitFor: 2000 })).file, 200, 200), GREEN);
});

test.serial('media preferences such as dark mode are applied', async (t) => {
  const { file } = await shoot('/preferences');
  t.deepEqual([await pixel(file, 9, 9), await pixel(file, 9, 99)], [RED, RED]);
  const dark = await draw(page(PREFERENCES), { colorScheme: 'dark', reducedMotion: true });
  t.deepEqual([await pixel(dark.file, 9, 9), await pixel(dark.file, 9, 99)], [GREEN, BLUE]);
});

test.serial('the background can be left transparent', async (t) => {
  for (const format of ['png', 'webp']) {
    const { file } = await shoot('/none', { omitBackground: true, format, quality: 100 });
    t.is((await pixel(file, 200, 200))[3], 0, format);
    t.is((await pixel(file, 9, 9))[3], 255, format);
  }
  t.is((await pixel((await shoot('/none')).file, 200, 200))[3], 255);
});

test.serial('WebP is captured in one tile, in many tiles and up to its maximum height', async (t) => {
  const one = await shoot('/tall', { format: 'webp' });
  t.like(one, { mimeType: 'image/webp', width: 400, height: 300, truncated: false });
  t.is((await sharp(one.file).metadata()).format, 'webp');
  const many = await shoot('/very-tall', { format: 'webp', fullPage: true });
  t.like(many, { width: 400, height: 16_383, truncated: true });
  t.like(await sharp(many.file).metadata(), { format: 'webp', height: 16_383 });
});

function pdfInfo(file: Buffer): Record<string, string> {
  const text = execFileSync('pdfinfo', ['-'], { input: file, encoding: 'utf8' });
  return Object.fromEntries(text.split('\n').map((line) => line.split(/:\s+/, 2)));
}
test.serial('a PDF has one page for the whole document, or pages as large as the viewport', async (t) => {
  const whole = await shoot('/tall', { format: 'pdf', fullPage: true });
  t.like(whole, { mimeType: 'application/pdf', width: 400, height: 2000, truncated: false });
  t.like(pdfInfo(whole.file), { Pages: '1', 'Page size': '300 x 1500 pts' });
  const windows = await draw(page('<div style="height:2000px">x</div>'), { format: 'pdf' });
  // Chromium rounds the page size to whole printer units.
  t.like(pdfInfo(windows.file), { Pages: '7', 'Page size': '300 x 224.88 pts' });
});

test.serial('devices have their own viewport and user agent', async (t) => {
  t.deepEqual([...DEVICES].sort(), Object.keys(KnownDevices).sort());
  const device = 'iPhone 13';
  const { width, height, deviceScaleFactor = 1 } = KnownDevices[device].viewport;
  const phone = await shoot('/agent', { device });
  t.is(phone.pageTitle, [KnownDevices[device].userAgent, 980, deviceScaleFactor, true, false].join('|'));
  t.like(phone, { width: width * deviceScaleFactor, height: height * deviceScaleFactor });
  t.like(await sharp(phone.file).metadata(), { width: phone.width, height: phone.height });
  const tall = await shoot('/tall', { device: 'Pixel 2', fullPage: true });
  t.like(await sharp(tall.file).metadata(), { width: tall.width });
});

test.serial('the user agent can be replaced', async (t) => {
  const { pageTitle } = await shoot('/agent', { userAgent: 'Probe/1.0 (x)' });
  t.is(String(pageTitle).split('|')[0], 'Probe/1.0 (x)');
});

const SECRETS = { headers: { 'X-Token': 't0ken' }, cookies: [{ name: 'sid', value: 's3cret' }] };
const sent = (key: string) => [seen.get(key)?.['x-token'], seen.get(key)?.cookie];
test.serial('headers and cookies are sent only to the origin of the page', async (t) => {
  seen.clear();
  await shoot('/own', SECRETS);
  for (const key of ['own /own', 'own /a.png', 'own /b'])
    t.deepEqual(sent(key), ['t0ken', 'sid=s3cret'], key);
  for (const key of ['other /image', 'other /frame', 'other /fetch', 'other /after']) {
    t.true(seen.has(key), key);
    t.deepEqual(sent(key), [undefined, undefined], key);
  }
});

test.serial('headers and cookies do not follow a redirect of the page', async (t) => {
  seen.clear();
  await shoot('/away', SECRETS);
  t.true(seen.has('other /page'));
  t.deepEqual(sent('other /page'), [undefined, undefined]);
});

test('headers and cookies that are not valid in HTTP are refused', async (t) => {
  const url = 'http://example.com/';
  for (const body of [
    { headers: { Cookie: 'a=b' } },
    { headers: { Host: 'a' } },
    { headers: { 'a b': 'c' } },
    { headers: { a: 'b\r\nc: d' } },
    { headers: { Connection: 'close' } },
    { cookies: [{ name: 'a', value: 'b;c' }] },
    { cookies: [{ name: 'a=', value: 'b' }] },
  ])
    t.is((await faultsOf(screenshot, { url, ...body })).length, 1, JSON.stringify(body));
});
