import { createHash, X509Certificate } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import Koa from 'koa';
import { respond } from '../../api/calls/answer.ts';
import type { State } from '../../api/http/context.ts';
import { findBrowser, openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { issueCertificate } from '../helpers/certificates.ts';
import { listen } from '../helpers/egress.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
const scrape = await loadTool('web-scrape');
const meta = await loadTool('seo-meta');
const sslCheck = await loadTool('ssl-check');

const ALL = ['text', 'links', 'metadata', 'certificate'];
const NOTHING = { text: null, links: null, metadata: null, certificate: null };
const SMALL = { width: 100, height: 100 };

/** A page that is the same before and after its scripts have run. */
const STATIC = `<!doctype html><html lang=en><head><meta charset=utf-8><title>Ein Blatt – 紙</title>
<meta name=description content="What it is."><meta name=robots content=noindex><link rel=canonical href=/canonical>
<meta property=og:title content=OG><meta name=twitter:card content=summary></head>
<body><h1>One <em>two</em></h1><p>First line.<p hidden>Hidden.</p><ul><li>a<li>b</ul>
<a href=/a rel=nofollow>A</a> <a href="https://other.test/#x">Other</a>
<div><template shadowrootmode=open><p>Open <slot></slot></p></template>shadow</div>
<div><template shadowrootmode=closed><a href=/closed>Closed</a></template></div></body></html>`;

/** A page whose content comes from its script. */
const SCRIPTED = `<!doctype html><html><head><title>Before</title></head><body><script>
document.title = 'After';
document.head.insertAdjacentHTML('beforeend', '<meta name=description content="By a script.">');
document.body.insertAdjacentHTML('beforeend', '<h2>Made</h2><p>By a script.</p><a href="/made">Link</a><x-closed></x-closed>');
customElements.define('x-closed', class extends HTMLElement {
  constructor() { super(); this.attachShadow({ mode: 'closed' }).innerHTML = '<p>In a closed root.</p>'; }
});
Element.prototype.getHTML = () => 'changed by the page';
document.addEventListener('DOMContentLoaded', () => document.querySelector('script').remove());
</script></body></html>`;

let site: Site;
let resource: Awaited<ReturnType<typeof openBrowsers>>;

test.before(async () => {
  resource = await openBrowsers();
  site = await startSite({
    '/static': STATIC,
    '/scripted': SCRIPTED,
    '/large': '<p>x</p><script>document.body.append("x".repeat(6e6))</script>',
  });
});
test.after.always(async () => {
  site?.close();
  await resource?.[Symbol.asyncDispose]();
});

const shoot = (path: string, input: Record<string, unknown>) =>
  tool.call({ url: site.origin + path, ...SMALL, ...input }, { egress: site.guard(), resource });

test.serial('the parts of a page are those that web-scrape and seo-meta return', async (t) => {
  const context = { egress: site.guard() };
  const url = `${site.origin}/static`;
  const scraped = await scrape.call({ url }, context);
  const { url: _, ...metadata } = await meta.call({ url }, context);
  const loads = site.requests.length;
  const output = await shoot('/static', { also: ALL });
  t.is(site.requests.slice(loads).filter((line) => line === 'GET /static').length, 1);
  t.like(output, { statusCode: 200, mimeType: 'image/png', width: 100, certificate: null });
  t.is(output.text, scraped.text);
  t.regex(String(output.text), /Open shadow.*Closed/s);
  t.deepEqual(output.links, scraped.links);
  t.deepEqual(output.metadata, metadata);
});

test.serial(
  'the parts are those of the document after its scripts, whatever they have changed',
  async (t) => {
    const output = await shoot('/scripted', { also: ['text', 'links', 'metadata'] });
    t.like(output, {
      text: 'Made\n\nBy a script.\n\nLink\n\nIn a closed root.',
      links: [{ url: `${site.origin}/made`, text: 'Link', internal: true, nofollow: false }],
      metadata: { title: 'After', description: 'By a script.', headings: [{ level: 2, text: 'Made' }] },
    });
  },
);

test.serial('without the option, and for parts that were not asked for, the fields are null', async (t) => {
  t.like(await shoot('/static', {}), NOTHING);
  const output = await shoot('/static', { also: ['links'], format: 'pdf' });
  t.like(output, { mimeType: 'application/pdf', text: null, metadata: null, certificate: null });
  t.true(Array.isArray(output.links));
  for (const also of [['text', 'text'], ['picture'], 'text'])
    t.deepEqual(
      (await faultsOf(tool, { url: site.origin, also })).map(({ pointer }) => pointer.split('/')[1]),
      ['also'],
    );
});

test.serial('a document that is too large for its parts is refused, but not its picture', async (t) => {
  await t.throwsAsync(shoot('/large', { also: ['text'] }), { code: 'source_too_large' });
  t.like(await shoot('/large', { also: ['certificate'] }), NOTHING);
});

test.serial('the certificate is described as by ssl-check', async (t) => {
  const root = await issueCertificate({ subject: '/CN=Root', issuer: null, authority: true });
  const leaf = await issueCertificate({
    subject: '/CN=Site/O=Söhne',
    names: ['IP.1=127.0.0.1'],
    issuer: root,
  });
  const server = createTlsServer({ key: leaf.key, cert: leaf.cert + root.cert }, (_, response) =>
    response.setHeader('Content-Type', 'text/html').end('<title>Safe</title><p>Safe'),
  );
  const port = await listen(server);
  t.teardown(() => server.close());
  // Chromium trusts no other authority than those of the system, but accepts certificates with a certain key.
  const key = new X509Certificate(root.cert).publicKey.export({ type: 'spki', format: 'der' });
  const pin = createHash('sha256').update(key).digest('base64');
  const folder = await mkdtemp(join(tmpdir(), 'chromium-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await chmod(folder, 0o755);
  const program = join(folder, 'chromium');
  const flag = `--ignore-certificate-errors-spki-list=${pin}`;
  await writeFile(program, `#!/bin/sh\nexec '${await findBrowser()}' '${flag}' "$@"\n`, { mode: 0o755 });
  await using trusting = await openBrowsers({ program });
  const egress = site.guard(`127.0.0.1:${port}`);
  const { certificate, text } = await tool.call(
    { url: `https://127.0.0.1:${port}/#part`, ...SMALL, also: ['certificate', 'text'] },
    { egress, resource: trusting },
  );
  t.is(text, 'Safe');
  const checked = await sslCheck.call({ host: `127.0.0.1:${port}` }, { egress });
  const { issuer, subject, validFrom, validTo, serialNumber, fingerprint256 } = checked;
  const { daysRemaining, lifetimeDays, renewalDue, subjectAlternativeNames, chain } = checked;
  t.deepEqual(certificate, {
    ...{ issuer, subject, validFrom, validTo, serialNumber, fingerprint256 },
    ...{ daysRemaining, lifetimeDays, renewalDue, subjectAlternativeNames, chain },
  });
});

test.serial('a response that is the picture itself is without the parts', async (t) => {
  const output = await shoot('/static', { also: ALL });
  const app = new Koa<State>();
  app.use((ctx) =>
    respond(ctx, tool.definition, {
      ending: { output: JSON.stringify(output) },
      ...{ available: 1, replayed: false, charged: 25, reused: null, requestId: 'req_1' },
    }),
  );
  const server = createServer(app.callback());
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${await listen(server)}/`;
  const { headers } = await fetch(url, { headers: { Accept: 'image/png' } });
  t.is(headers.get('Content-Type'), 'image/png');
  t.is(headers.get('X-Result-Status-Code'), '200');
  for (const name of ALL) t.is(headers.get(`X-Result-${name}`), null, name);
  t.deepEqual(await (await fetch(url)).json(), output);
});
