import { createServer } from 'node:https';
import test from 'ava';
import { PNG } from 'pngjs';
import sharp from 'sharp';
import { createGuard } from '../../egress/guard.ts';
import type { ServiceError } from '../../schemas/errors.ts';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { listen } from '../helpers/egress.ts';
import { casePage } from '../helpers/pictures.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const tool = await loadTool('html-to-image');
let resource: Awaited<ReturnType<typeof openBrowsers>>;
let site: Site;

test.before(async () => {
  resource = await openBrowsers();
  site = await startSite({
    '/dot.svg': (_, response) =>
      response
        .writeHead(200, { 'Content-Type': 'image/svg+xml' })
        .end(
          '<svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"><rect width="50" height="50"/></svg>',
        ),
  });
});
test.after.always(async () => {
  await resource?.[Symbol.asyncDispose]();
  site?.close();
});

async function draw(html: string, body: object = {}) {
  const result = await tool.call(
    { html, width: 200, height: 100, ...body },
    { egress: site.guard(), resource },
  );
  const file = Buffer.from(String(result.fileBase64), 'base64');
  return { ...result, file };
}
type Colour = [red: number, green: number, blue: number];
function pixel(file: Buffer, x: number, y: number): Colour {
  const { data, width } = PNG.sync.read(file);
  const at = 4 * (y * width + x);
  return [data[at] ?? -1, data[at + 1] ?? -1, data[at + 2] ?? -1];
}
const FILL = 'position:absolute;inset:0';

test.serial('ten captures of the same markup are byte-identical', async (t) => {
  const html = `<style>body{font:20px serif;background:linear-gradient(45deg,#123,#fed)}</style>
    <h1>Fine print</h1><p style="transform:rotate(3deg)">The quick brown fox <i>jumps</i> — ψ ∑ 日本</p>
    <canvas id="c"></canvas><script>c.getContext('2d').fillText('canvas',9,9)</script>`;
  const { file } = await draw(html);
  for (let again = 1; again < 10; again++) t.true(file.equals((await draw(html)).file));
});

test.serial('a fragment is wrapped in standards mode, a document is used as it is', async (t) => {
  const mode = `<div id="d" style="${FILL}"></div><script>d.style.background=document.compatMode==='CSS1Compat'?'#0f0':'#f00'</script>`;
  const comments = '<!-- a --> \n<!-- b -->'.repeat(10_000);
  for (const html of [mode, comments + mode, `${comments}<!DOCTYPE html>${mode}`, `<p>é${mode}`])
    t.deepEqual(pixel((await draw(html)).file, 5, 50), [0, 255, 0], html.slice(-200));
  for (const html of [`<html>${mode}</html>`, `<body>${mode}`, `<head></head>${mode}`])
    t.deepEqual(pixel((await draw(html)).file, 5, 50), [255, 0, 0], html);
});

test.serial('only https and data URLs are loaded; other references are ignored', async (t) => {
  const certificate = await makeCertificate(['IP:127.0.0.1']);
  const asked: string[] = [];
  const secure = createServer(certificate, (request, response) => response.end(request.url));
  secure.on('connection', () => asked.push('connection'));
  const port = await listen(secure);
  t.teardown(() => secure.close());
  const data = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"><rect width="50" height="50" fill="#00f"/></svg>')}`;
  const html = `<body style="margin:0"><img src="${data}" style="display:block">
    <img src="${site.origin}/dot.svg"><img src="relative.png"><img src="//127.0.0.1:${site.port}/dot.svg"><img src="file:///etc/hostname">
    <iframe src="${site.origin}/"></iframe><img src="https://127.0.0.1:${port}/x">
    <script>fetch('${site.origin}/dot.svg').catch(()=>0);new Worker('data:,fetch("${site.origin}/dot.svg?worker")')</script>`;
  const { file } = await tool
    .call({ html, width: 200, height: 100 }, { egress: site.guard(`127.0.0.1:${port}`), resource })
    .then((result) => ({ file: Buffer.from(String(result.fileBase64), 'base64') }));
  t.deepEqual(pixel(file, 25, 25), [0, 0, 255]);
  // The first black pixel: if the referenced image had been loaded, its dot would be black.
  const black = PNG.sync.read(file).data.findIndex((_, at, all) => at % 4 === 0 && all[at + 2] === 0);
  t.is(black, -1);
  t.deepEqual(asked.slice(0, 1), ['connection']);
  t.deepEqual(site.requests, []);
});

test.serial('the page is a secure context', async (t) => {
  // Its script fails where `crypto.randomUUID` is missing, and else makes the background green.
  const { file } = await draw(await casePage('html-secure-context'));
  t.deepEqual(pixel(file, 195, 95), [0x88, 0xff, 0x88]);
});

test.serial('the page cannot navigate away', async (t) => {
  for (const leave of [
    `<meta http-equiv="refresh" content="0;url=${site.origin}/dot.svg">`,
    `<script>location='${site.origin}/dot.svg'</script>`,
    `<form action="${site.origin}/dot.svg"></form><script>document.forms[0].submit()</script>`,
    `<script>location='file:///etc/passwd'</script>`,
    '<meta http-equiv="refresh" content="0">',
    '<script>onload=()=>location.reload()</script>',
    '<script>location.href=location.href</script>',
    '<script>location="about:blank"</script>',
    '<script>location="about:srcdoc"</script>',
    '<script>open("about:blank","_self")</script>',
    '<script>location=URL.createObjectURL(new Blob(["<p>x"],{type:"text/html"}))</script>',
    '<form></form><script>document.forms[0].submit()</script>',
    '<form method="post"></form><script>document.forms[0].submit()</script>',
    '<a href="" id="a"></a><script>a.click()</script>',
    '<iframe srcdoc="<script>parent.location.reload()</script>"></iframe>',
    '<script>onload=()=>history.back()</script>',
    '<script>close()</script>',
    '<iframe srcdoc="<script>close.call(parent)</script>"></iframe>',
  ]) {
    const { file } = await draw(`<div style="${FILL};background:#0ff"></div>${leave}`);
    t.deepEqual(pixel(file, 100, 50), [0, 255, 255], leave);
  }
});

test.serial('a page that navigates away in spite of the block is not captured', async (t) => {
  const leave =
    '<iframe id="f"></iframe><script>onload=()=>f.contentWindow.History.prototype.go.call(history,-1)</script>';
  const { members } = await t.throwsAsync<ServiceError>(draw(leave), { code: 'invalid_input' });
  t.deepEqual(members.errors, [{ pointer: '/html', message: 'navigates away from its own page' }]);
});

test.serial('host names in relative and http references are not even resolved', async (t) => {
  const asked: string[] = [];
  const guard = createGuard({
    resolver: {
      async addresses(name) {
        asked.push(name);
        return { addresses: [], chain: [] };
      },
    },
    allow: [],
    ownPorts: [],
  });
  const names = (src: string) =>
    `<img src="${src}"><link rel="stylesheet" href="${src}"><iframe src="${src}"></iframe><script src="${src}"></script><link rel="preconnect" href="${src}"><script>try{new WebSocket('${src}')}catch{}</script>`;
  const html = `${names('a.png')}${names('/a.png')}<img src="//host.example/a.png"><img src="http://host.example/a.png"><img src="https://asked.example/a.png">`;
  await tool.call({ html, width: 200, height: 100 }, { egress: guard, resource });
  t.deepEqual([...new Set(asked)], ['asked.example']);
});

test.serial('five megabytes of text in many languages are rendered', async (t) => {
  const text = 'ψ∑日本 '.repeat(400_000).slice(0, 1_900_000);
  const html = `<p id="p" hidden>${text}</p><div id="d" style="${FILL}"></div><script>d.style.background=p.textContent.length===${text.length}&&document.characterSet==='UTF-8'&&!/[^ψ∑日本 ]/.test(p.textContent)?'#0f0':'#f00'</script>`;
  t.deepEqual(pixel((await draw(html)).file, 5, 50), [0, 255, 0]);
});

test.serial('sizes and formats are honoured, and the height is limited', async (t) => {
  const tall = (height: number) => `<body style="margin:0"><div style="height:${height}px;background:#08f">`;
  const cases = [
    { body: {}, height: 300, expected: { width: 200, height: 100, truncated: false } },
    { body: { deviceScaleFactor: 2 }, height: 50, expected: { width: 400, height: 200, truncated: false } },
    { body: { fullPage: true }, height: 1234, expected: { width: 200, height: 1234, truncated: false } },
    {
      body: { fullPage: true, height: 4000 },
      height: 1000,
      expected: { width: 200, height: 1000, truncated: false },
    },
    { body: { fullPage: true }, height: 16_384, expected: { width: 200, height: 16_384, truncated: false } },
    { body: { fullPage: true }, height: 16_385, expected: { width: 200, height: 16_384, truncated: true } },
  ];
  for (const { body, height, expected } of cases)
    for (const format of ['png', 'jpeg']) {
      const result = await draw(tall(height), { ...body, format });
      t.like(result, { ...expected, mimeType: `image/${format}` }, JSON.stringify(body));
      const metadata = await sharp(result.file).metadata();
      t.like(metadata, { format, width: expected.width, height: expected.height });
    }
});

test.serial('JPEG quality is honoured, for one tile and for many', async (t) => {
  const noise =
    '<canvas id="c" width="200" height="5000"></canvas><script>const x=c.getContext("2d"),d=x.createImageData(200,5000);let s=1;for(let i=0;i<d.data.length;i++)d.data[i]=i%4===3?255:(s=s*16807%2147483647)&255;x.putImageData(d,0,0)</script>';
  for (const fullPage of [false, true]) {
    const sizeAt = async (quality: number) =>
      (await draw(noise, { format: 'jpeg', quality, fullPage })).file.length;
    const low = await sizeAt(40);
    const middle = await sizeAt(85);
    t.true(middle > low && (await sizeAt(100)) > 2 * low, `${low} ${middle}`);
  }
});

test.serial('a capture above the output limit is refused', async (t) => {
  const noise =
    '<body style="margin:0"><canvas id="c" width="3800" height="4000"></canvas><script>const x=c.getContext("2d"),d=x.createImageData(3800,4000);for(let i=0;i<d.data.length;i+=65536)crypto.getRandomValues(d.data.subarray(i,i+65536));for(let i=3;i<d.data.length;i+=4)d.data[i]=255;x.putImageData(d,0,0)</script>';
  await t.throwsAsync(draw(noise, { width: 3800, height: 4000 }), { code: 'output_too_large' });
});

test.serial('an endless script is stopped and the page is captured as it is', async (t) => {
  const html = `<div style="${FILL};background:#0f0"></div><script>for(;;);</script>`;
  const drawWithin = async (limits: { deadline?: number; loadTime?: () => number }) => {
    const context = { egress: site.guard(), resource, ...limits };
    const { fileBase64 } = await tool.call({ html, width: 200, height: 100 }, context);
    return pixel(Buffer.from(String(fileBase64), 'base64'), 5, 50);
  };
  t.deepEqual(await drawWithin({ loadTime: () => 10_000 }), [0, 255, 0]);
  // With this deadline the call ends before the browser can detect that the script is endless.
  await until('the browser is ready', async () => resource.countReady() === 1);
  await t.throwsAsync(drawWithin({ deadline: Date.now() + 5_000 }), { code: 'deadline_exceeded' });
  t.deepEqual(pixel((await draw(`<div style="${FILL};background:#00f">`)).file, 5, 50), [0, 0, 255]);
});

test.serial('markup of a million nodes is captured or refused, and the next call works', async (t) => {
  await using small = await openBrowsers({ memoryBytes: 800_000_000 });
  const drawIn = async (html: string) => {
    const input = { html, width: 200, height: 100, fullPage: html.length > 1000 };
    const { fileBase64 } = await tool.call(input, { egress: site.guard(), resource: small });
    return Buffer.from(String(fileBase64), 'base64');
  };
  t.true((await drawIn('<div>'.repeat(100_000))).length > 0, 'nested nodes');
  await t.throwsAsync(drawIn('<p>x <b>y</b></p>'.repeat(250_000)), { code: 'source_too_large' });
  t.is(small.metrics.browsers.overMemory, 1);
  t.deepEqual(pixel(await drawIn(`<div style="${FILL};background:#00f">`), 5, 50), [0, 0, 255]);
});

test('invalid input is refused', async (t) => {
  for (const body of [
    { html: '' },
    { html: 'a\ud800' },
    { html: 'x', width: 99 },
    { html: 'x', width: 3841 },
    { html: 'x', height: 4321 },
    { html: 'x', deviceScaleFactor: 3 },
    { html: 'x', quality: 39 },
    { html: 'x', format: 'gif' },
    { html: 'x', format: 'pdf', selector: 'p' },
    { html: 'x', device: 'Nokia 3310' },
    { html: 'x', userAgent: 'a\nb' },
    { html: 'x', headers: {} },
    { html: 'x', url: 'http://x' },
  ])
    t.is((await faultsOf(tool, body)).length, 1, JSON.stringify(body));
});
