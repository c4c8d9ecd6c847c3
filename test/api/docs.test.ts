import { createHash } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test from 'ava';
import { LinkChecker } from 'linkinator';
import sharp from 'sharp';
import { codesOfTool } from '../../api/openapi/codes.ts';
import { openApiDocument } from '../../api/openapi/openapi.ts';
import { ERRORS } from '../../schemas/errors.ts';
import { EVENT_KINDS } from '../../schemas/events.ts';
import { OPERATIONS } from '../../schemas/operations.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { secretFields } from '../../schemas/tool.ts';
import { makeAccount } from '../helpers/account.ts';
import { ACCOUNT_KEY_VARIABLE, agentConnections, KEY_VARIABLE } from '../helpers/agentClients.ts';
import { runSnippet, snippetsOf } from '../helpers/guideSnippets.ts';
import { isRecord, type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

const registry = await loadRegistry();
const METHODS = ['get', 'post', 'patch', 'delete'];

let stack: SharedStack;
let spec: Json;

test.before(async () => {
  stack = await useStack();
  const body: unknown = await (await fetch(`${stack.baseUrl}/openapi.json`)).json();
  if (!isRecord(body)) throw new Error('openapi.json is no object');
  spec = body;
});
test.after.always(() => stack?.stop());

/** Resolves `$ref` within the document. */
function resolve(value: unknown): unknown {
  if (!isRecord(value) || typeof value.$ref !== 'string') return value;
  return resolve(
    value.$ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, key) => recordAt(at)[key], spec),
  );
}

/** Every operation of the document, including webhooks, with its location. */
const operations = (): { place: string; operation: Json }[] =>
  ['paths', 'webhooks'].flatMap((section) =>
    Object.entries(recordAt(spec, section)).flatMap(([path, item]) =>
      Object.entries(recordAt(item))
        .filter(([method]) => METHODS.includes(method))
        .map(([method, operation]) => ({ place: `${method} ${path}`, operation: recordAt(operation) })),
    ),
  );

test('openapi.json is a valid OpenAPI 3.1 document', async (t) => {
  const { valid, errors } = await new Validator().validate(structuredClone(spec));
  t.true(valid, JSON.stringify(errors));
  t.is(spec.openapi, '3.1.0');
  t.deepEqual(spec.servers, [{ url: '/' }]);
});

test('every reference in openapi.json resolves', (t) => {
  const dangling: string[] = [];
  const walk = (value: unknown) => {
    if (Array.isArray(value)) value.forEach(walk);
    if (!isRecord(value)) return;
    if (typeof value.$ref === 'string' && resolve(value) === undefined) dangling.push(value.$ref);
    Object.values(value).forEach(walk);
  };
  walk(spec);
  t.deepEqual(dangling, []);
});

test('every example matches its schema', (t) => {
  // Keywords such as `x-` are unknown to ajv; other tests compile the tools' schemas strictly.
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'spec', components: recordAt(spec, 'components') });
  const absolute = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(absolute);
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        key === '$ref' && typeof item === 'string' ? item.replace(/^#/, 'spec#') : absolute(item),
      ]),
    );
  };
  let checked = 0;
  const faults: string[] = [];
  for (const { place, operation } of operations()) {
    const answers = Object.values(recordAt(operation, 'responses'));
    for (const part of [operation.requestBody, ...answers].map(resolve)) {
      if (!isRecord(part)) continue;
      for (const [type, media] of Object.entries(recordAt(part, 'content'))) {
        if (!isRecord(media) || !isRecord(media.schema)) continue;
        const check = ajv.compile(recordAt(absolute(media.schema)));
        for (const [name, example] of Object.entries(recordAt(media, 'examples'))) {
          const value = recordAt(resolve(example)).value;
          checked += 1;
          if (!check(value)) faults.push(`${place} ${type} ${name}: ${ajv.errorsText(check.errors)}`);
        }
      }
    }
  }
  t.deepEqual(faults, []);
  // Each tool has at least an input, an output and an example of ten errors.
  t.true(checked > registry.size * 12, `${checked} examples`);
});

test('operation ids are unique, and every operation, tag, parameter, header and response is described', (t) => {
  const all = operations();
  const ids = all.map(({ operation }) => operation.operationId);
  t.is(new Set(ids).size, ids.length);
  const tags = recordsAt(spec.tags);
  const undescribed = tags.filter(({ description }) => !description).map(({ name }) => `tag ${name}`);
  const names = tags.map(({ name }) => name);
  for (const { place, operation } of all) {
    if (!operation.summary || !operation.description) undescribed.push(place);
    for (const tag of [operation.tags].flat())
      if (!names.includes(tag)) undescribed.push(`${place}: tag ${tag}`);
    for (const parameter of recordsAt(operation.parameters).map((it) => recordAt(resolve(it))))
      if (!parameter.description) undescribed.push(`${place}: parameter ${parameter.name}`);
    for (const [status, reference] of Object.entries(recordAt(operation, 'responses'))) {
      const response = recordAt(resolve(reference));
      if (!response.description) undescribed.push(`${place}: response ${status}`);
      for (const [name, header] of Object.entries(recordAt(response.headers ?? {})))
        if (!recordAt(resolve(header)).description) undescribed.push(`${place}: header ${name} of ${status}`);
    }
  }
  t.deepEqual(undescribed, []);
});

test('a tool lists its price, headers, errors by status and raw types', (t) => {
  for (const [name, tool] of registry) {
    const post = recordAt(spec, 'paths', `/api/v1/tools/${name}`, 'post');
    t.is(post['x-price'], tool.price);
    const isJob = secretFields(tool).length === 0;
    t.is(String(post.description).includes('`Prefer: respond-async`'), isJob, name);
    t.deepEqual(
      recordsAt(post.parameters).map((parameter) => recordAt(resolve(parameter)).name),
      ['Idempotency-Key', 'X-Max-Credits'],
    );
    const responses = Object.fromEntries(
      Object.entries(recordAt(post, 'responses')).map(([status, response]) => [status, resolve(response)]),
    );
    t.deepEqual(recordAt(responses, '200', 'content', 'application/json').schema, {
      $ref: `#/components/schemas/${name.replaceAll(/(?:^|-)(\w)/g, (_all, letter) => letter.toUpperCase())}Output`,
    });
    for (const code of tool.errors) {
      const { status } = ERRORS[code];
      const examples = recordAt(responses, String(status), 'content', 'application/problem+json', 'examples');
      t.true(Object.hasOwn(examples, code), `${name}: ${code}`);
    }
    t.true(Object.hasOwn(recordAt(responses, '401', 'headers'), 'WWW-Authenticate'));
    t.true(Object.hasOwn(recordAt(responses, '429', 'headers'), 'Retry-After'));
    t.is(Object.keys(recordAt(responses, '200', 'content')).length > 1, tool.raw !== undefined, name);
  }
});

test('operations with the same errors share one response', (t) => {
  const shared = Object.values(recordAt(spec, 'components', 'responses'));
  t.is(new Set(shared.map((response) => JSON.stringify(response))).size, shared.length);
  for (const { place, operation } of operations())
    for (const [status, response] of Object.entries(recordAt(operation, 'responses')))
      if (/^[45]\d\d$/.test(status))
        t.true(isRecord(response) && typeof response.$ref === 'string', `${place} ${status}`);
});

test('the names of errors depend on neither the order nor the number of operations', (t) => {
  const responsesOf = (document: Json): Json => ({
    ...recordAt(document, 'components', 'responses'),
    ...Object.fromEntries(
      Object.entries(recordAt(document, 'components', 'schemas')).filter(([name]) =>
        name.endsWith('Problem'),
      ),
    ),
  });
  const options = { operations: OPERATIONS, serverUrl: null };
  const all = responsesOf(openApiDocument({ ...options, registry }));
  const reversed = { registry: new Map([...registry].reverse()), operations: OPERATIONS.toReversed() };
  t.deepEqual(responsesOf(openApiDocument({ ...options, ...reversed })), all);
  for (const name of registry.keys()) {
    const others = new Map([...registry].filter(([other]) => other !== name));
    const kept = responsesOf(openApiDocument({ ...options, registry: others }));
    for (const [response, value] of Object.entries(kept)) t.deepEqual(value, all[response], response);
  }
  for (const name of Object.keys(all)) t.regex(name, /^[A-Za-z]+$/);
});

test('each event has its entry among the webhooks', (t) => {
  t.deepEqual(Object.keys(recordAt(spec, 'webhooks')), [...EVENT_KINDS]);
  for (const kind of EVENT_KINDS) {
    const body = recordAt(spec, 'webhooks', kind, 'post', 'requestBody', 'content', 'application/json');
    t.deepEqual(recordAt(body, 'schema').required, ['id', 'event', 'createdAt', 'data']);
  }
});

test('PUBLIC_URL is the server of the document', (t) => {
  const document = openApiDocument({
    registry,
    operations: OPERATIONS,
    serverUrl: 'https://tools.example.com',
  });
  t.deepEqual(document.servers, [{ url: 'https://tools.example.com' }]);
});

test('every documented operation answers over HTTP, and requires a key where documented', async (t) => {
  for (const [path, item] of Object.entries(recordAt(spec, 'paths')))
    for (const [method, operation] of Object.entries(recordAt(item))) {
      const url = stack.baseUrl + path.replaceAll(/\{\w+\}/g, 'none');
      const { status } = await fetch(url, { method: method.toUpperCase() });
      const open = recordsAt(recordAt(operation).security).length === 0;
      t.is(status, open ? 200 : 401, `${method} ${path}`);
    }
});

test('the catalogue lists every tool with its schemas, without a key', async (t) => {
  const response = await fetch(`${stack.baseUrl}/api/v1/tools`);
  t.is(response.status, 200);
  t.deepEqual(await response.json(), {
    items: [...registry.values()].map(({ name, title, description, price, pool, input, output }) => ({
      ...{ name, title, description, price, pool, input, output },
    })),
  });
});

for (const path of [
  '/api/v1/tools',
  '/openapi.json',
  '/',
  '/docs',
  '/docs/errors',
  '/docs/reference',
  '/llms.txt',
])
  test(`${path} answers HEAD, and 304 to a matching If-None-Match`, async (t) => {
    const url = `${stack.baseUrl}${path}`;
    const head = await fetch(url, { method: 'HEAD', headers: { 'Accept-Encoding': 'identity' } });
    t.is(head.status, 200);
    t.is(await head.text(), '');
    const get = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
    t.is(head.headers.get('Content-Length'), String((await get.arrayBuffer()).byteLength));
    const etag = head.headers.get('ETag') ?? '';
    t.is(get.headers.get('ETag'), etag);
    // Browsers revalidate with `max-age=0`; without this header, fetch would add `no-cache`.
    const again = await fetch(url, { headers: { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' } });
    t.is(again.status, 304);
  });

test('documents are compressed as the client accepts it', async (t) => {
  const url = `${stack.baseUrl}/docs/errors`;
  const plain = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
  t.is(plain.headers.get('Content-Encoding'), null);
  const text = await plain.text();
  for (const [accepted, coding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip, br;q=0', 'gzip'],
    ['gzip', 'gzip'],
  ] as const) {
    const response = await fetch(url, { headers: { 'Accept-Encoding': accepted } });
    t.is(response.headers.get('Content-Encoding'), coding);
    t.is(response.headers.get('Vary'), 'Accept-Encoding');
    t.is(await response.text(), text);
  }
});

test('the pages load nothing from other origins, and their policy forbids it', async (t) => {
  for (const path of ['/', '/docs', '/docs/errors', '/docs/reference']) {
    const page = await fetch(`${stack.baseUrl}${path}`);
    t.is(page.headers.get('Content-Type'), 'text/html; charset=utf-8');
    const policy = page.headers.get('Content-Security-Policy') ?? '';
    t.regex(policy, /^default-src 'none'; script-src 'self';/);
    t.notRegex(policy, /https?:|\*|unsafe-eval/);
    const html = await page.text();
    t.notRegex(html, /<script>|<style |\sstyle=|\son\w+=/);
    const styles = [...html.matchAll(/<style>(.*?)<\/style>/gs)].map(([, style = '']) => style);
    t.is(styles.length, 1);
    for (const style of styles)
      t.true(policy.includes(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}';`));
    const parts = [...html.matchAll(/<(?:script|link)\b[^>]*\b(?:src|href)="([^"]+)"/g)].map(
      ([, url]) => url,
    );
    t.true(parts.length > 1);
    for (const part of parts) {
      const url = new URL(part ?? '', page.url);
      t.is(url.origin, stack.baseUrl);
      const answer = await fetch(url);
      t.is(answer.status, 200, part);
      await answer.body?.cancel();
    }
  }
});

test('the error page lists every code with its status and advice', async (t) => {
  const html = await (await fetch(`${stack.baseUrl}/docs/errors`)).text();
  const rows = [
    ...html.matchAll(/<tr id="(\w+)">\s*<td class="status">(\d+)<\/td>.*?class="remedy">([^<]+)</gs),
  ];
  const found = Object.fromEntries(rows.map(([, code, status]) => [code, Number(status)]));
  t.deepEqual(found, Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status])));
  for (const [, code, , remedy] of rows) t.true((remedy ?? '').length > 10, code);
});

const textOf = async (path: string): Promise<string> => {
  const response = await fetch(`${stack.baseUrl}${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.text();
};

/** Paths of the pages in the sitemap. */
const sitemap = async (): Promise<string[]> =>
  [...(await textOf('/sitemap.xml')).matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url = '']) => {
    if (!url.startsWith(`${stack.baseUrl}/`)) throw new Error(`${url} is not on this site`);
    return url.slice(stack.baseUrl.length);
  });

test('every page of the sitemap answers, and every link leads to an existing page and heading', async (t) => {
  const paths = await sitemap();
  t.true(paths.includes('/') && paths.includes('/docs/quickstart'));
  const { passed, links } = await new LinkChecker().check({
    path: paths.map((path) => `${stack.baseUrl}${path}`),
    recurse: true,
    checkFragments: true,
    concurrency: 10,
    linksToSkip: async (url) => new URL(url).origin !== stack.baseUrl,
  });
  const broken = links.filter(({ state }) => state === 'BROKEN');
  t.deepEqual(
    broken.map(({ url, parent, status }) => `${parent} -> ${url} ${status}`),
    [],
  );
  t.true(passed);
  const found = new Set(links.map(({ url }) => new URL(url).pathname));
  for (const path of paths) t.true(found.has(path), path);
});

test('every page has its content without scripts, one title, a description, and itself as Markdown', async (t) => {
  const titles = new Set<string>();
  for (const path of await sitemap()) {
    const html = await textOf(path);
    t.is(html.match(/<h1/g)?.length, 1, path);
    t.regex(html, /<meta name="description" content="[^"]{20,}">/, path);
    t.regex(html, new RegExp(`<link rel="canonical" href="${stack.baseUrl}${path}">`), path);
    const [, title = ''] = /<title>([^<]+)<\/title>/.exec(html) ?? [];
    t.false(titles.has(title), `${path}: ${title}`);
    titles.add(title);
    const main = html.slice(html.indexOf('<main'), html.indexOf('</main>')).replaceAll(/<[^>]+>/g, '');
    t.true(main.length > 300, path);
    t.notRegex(main, /JavaScript is|enable JavaScript/i);
    if (path === '/') continue;
    const markdown = await fetch(`${stack.baseUrl}${path}.md`);
    t.is(markdown.headers.get('Content-Type'), 'text/markdown; charset=utf-8', path);
    const text = await markdown.text();
    t.regex(text, /^# \S/, path);
    t.notRegex(text, /<!-- /, path);
  }
});

test('each tool has a page that agrees with its schemas, and is on the landing page', async (t) => {
  const landing = await textOf('/');
  for (const [name, tool] of registry) {
    const html = await textOf(`/docs/tools/${name}`);
    const markdown = await textOf(`/docs/tools/${name}.md`);
    const price = tool.price === 1 ? '1 credit' : `${tool.price} credits`;
    t.true(html.includes(`<span class="tag price">${price}</span>`), name);
    t.true(html.includes(`href="/dashboard/tools/${name}"`), name);
    for (const field of Object.keys(tool.input.properties)) {
      t.true(html.includes(`id="request-${field}"`), `${name}: ${field}`);
      t.true(markdown.includes(`- \`${field}\` (`), `${name}: ${field}`);
    }
    for (const field of Object.keys(tool.output.properties))
      t.true(html.includes(`id="response-${field}"`), `${name}: ${field}`);
    for (const code of codesOfTool(tool)) {
      t.true(html.includes(`href="/docs/errors#${code}"`), `${name}: ${code}`);
      t.true(markdown.includes(`\`${code}\``), `${name}: ${code}`);
    }
    t.regex(landing, new RegExp(`href="/docs/tools/${name}">[^<]+</a> <span class="tag">${price}<`));
  }
});

test('each operation has a page in the reference with its fields, errors and examples in five languages', async (t) => {
  const overview = await textOf('/docs/reference');
  for (const { place, operation } of operations()) {
    const id = String(operation.operationId);
    const [tag] = [operation.tags].flat();
    if (tag === 'Webhooks' || tag === 'Tools') continue;
    const path = `/docs/reference/${id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    t.true(overview.includes(`href="${path}"`), id);
    const html = await textOf(path);
    t.regex(html, new RegExp(`<code>${place.replace(/^\w+/, (method) => method.toUpperCase())}</code>`));
    for (const language of ['curl', 'Node.js', 'Python', 'Go', 'PHP'])
      t.true(html.includes(`<summary>${language}</summary>`), `${path}: ${language}`);
    // The form sends JSON only.
    t.is(/<details class="try run" hidden>/.test(html), id !== 'createFile', id);
    const bodies = [operation.requestBody, ...Object.values(recordAt(operation, 'responses')).map(resolve)];
    for (const body of bodies.map((it) => recordAt(recordAt(it ?? {}).content ?? {})['application/json']))
      if (body !== undefined)
        t.true(Object.keys(recordAt(recordAt(body).examples ?? {})).length > 0, `${id} has no example`);
    for (const parameter of recordsAt(operation.parameters).map((it) => recordAt(resolve(it))))
      t.true(html.includes(`id="${parameter.in}-${parameter.name}"`), `${path}: ${parameter.name}`);
    for (const response of Object.values(recordAt(operation, 'responses')).map(resolve))
      for (const media of Object.values(recordAt(recordAt(response).content ?? {})).map((it) => recordAt(it)))
        for (const code of Object.keys(recordAt(media.examples ?? {})))
          if (code in ERRORS) t.true(html.includes(`href="/docs/errors#${code}"`), `${path}: ${code}`);
    t.notRegex(html, /\$ref|undefined|\[object/);
  }
  for (const name of registry.keys()) t.true(overview.includes(`href="/docs/tools/${name}"`), name);
  const events = await textOf('/docs/reference/events');
  for (const kind of EVENT_KINDS) t.true(events.includes(`<code>${kind}</code>`), kind);
  for (const path of ['/docs/assets/swagger-ui.css', '/docs/assets/reference.js'])
    t.is((await fetch(`${stack.baseUrl}${path}`)).status, 404);
});

test('every picture has its own text, its real proportions, and little weight', async (t) => {
  const texts = new Map<string, string>();
  for (const path of ['/', ...[...registry.keys()].map((name) => `/docs/tools/${name}`)])
    for (const [tag, source = ''] of (await textOf(path)).matchAll(
      /<img src="(\/docs\/assets\/[^"]+)"[^>]*>/g,
    )) {
      const [, alt = '', width, height] = /alt="([^"]{20,})".* width="(\d+)" height="(\d+)"/.exec(tag) ?? [];
      t.is(texts.get(alt) ?? source, source, `${path}: ${alt}`);
      texts.set(alt, source);
      const file = Buffer.from(await (await fetch(`${stack.baseUrl}${source}`)).arrayBuffer());
      const real = await sharp(file).metadata();
      t.is(Number(width) * real.height, Number(height) * real.width, tag);
      t.true(file.length < 30_000, `${source}: ${file.length} bytes`);
    }
  t.is(texts.size, 7);
});

test('llms.txt has the form of llmstxt.org, and its links resolve to Markdown', async (t) => {
  const text = await textOf('/llms.txt');
  t.regex(text, /^# [^\n]+\n\n> [^\n]+\n/);
  const links = [...text.matchAll(/^- \[[^\]]+\]\((\S+)\): \S/gm)].map(([, url = '']) => url);
  t.true(links.length > registry.size + 10);
  for (const url of links) {
    const response = await fetch(url);
    t.is(response.status, 200, url);
    t.regex(response.headers.get('Content-Type') ?? '', /^text\/markdown/, url);
  }
});

test('robots.txt names the sitemap, and icons and the social card match their media types', async (t) => {
  t.regex(await textOf('/robots.txt'), new RegExp(`^Sitemap: ${stack.baseUrl}/sitemap.xml$`, 'm'));
  for (const [path, type, start] of [
    ['/favicon.svg', 'image/svg+xml', '<svg'],
    ['/favicon.ico', 'image/x-icon', '\0\0\u0001'],
    ['/social-card.png', 'image/png', '\u0089PNG'],
  ] as const) {
    const response = await fetch(`${stack.baseUrl}${path}`);
    t.is(response.headers.get('Content-Type'), type);
    t.true(
      Buffer.from(await response.arrayBuffer())
        .toString('latin1')
        .startsWith(start),
      path,
    );
  }
});

/** Questions of visitors, some with typing errors, and the pages of which one answers each. */
const QUESTIONS: readonly (readonly [string, ...string[]])[] = [
  ['refund', '/docs/billing'],
  ['do I pay for failed calls?', '/docs/billing'],
  ['invoice', '/docs/billing'],
  ['how much does a screenshot cost', '/pricing', '/docs/tools/website-screenshot'],
  ['price per month', '/pricing'],
  ['sdk', '/docs/clients'],
  ['npm package', '/docs/clients'],
  ['retry', '/docs/retries'],
  ['what to do after error 503', '/docs/retries', '/docs/errors'],
  ['too many requests', '/docs/rate-limits'],
  ['avoid duplicate charges', '/docs/idempotency'],
  ['pdf from html', '/docs/tools/website-screenshot', '/docs/tools/html-to-image'],
  ['png file', '/docs/files'],
  ['how do I save an image', '/docs/files'],
  ['screnshot of a web page', '/docs/tools/website-screenshot'],
  ['convert docx', '/docs/tools/word-to-pdf'],
  ['when does my ssl certificate expire', '/docs/tools/ssl-check'],
  ['mx records', '/docs/tools/dns-lookup'],
  ['store passwords', '/docs/tools/bcrypt-hash'],
  ['enlarge a photo', '/docs/tools/image-upscale'],
  ['dead links', '/docs/tools/broken-links'],
  ['claude', '/docs/agents'],
  ['run in the background', '/docs/jobs'],
  ['verify webhok signature', '/docs/webhooks'],
  ['api key leaked', '/docs/authentication'],
  ['limit spending of a key', '/docs/account'],
  ['delete my acount', '/docs/account'],
  ['maximum upload size', '/docs/limits', '/docs/files'],
  ['how long do you keep my data', '/docs/security', '/privacy'],
  ['first call with curl', '/docs/quickstart'],
];

/** A second set of questions, by another author. */
const FURTHER_QUESTIONS: typeof QUESTIONS = [
  ['how do i cancel a running call', '/docs/account', '/docs/jobs', '/docs/contract'],
  ['get my money back', '/docs/billing'],
  ['call from a browser cors', '/docs/clients', '/docs/authentication', '/docs/security'],
  ['golang', '/docs/clients', '/docs/quickstart'],
  ['github action', '/docs/clients'],
  ['n8n', '/docs/clients'],
  ['postman collection', '/docs/clients', '/docs/reference'],
  ['zapier webhook', '/docs/webhooks'],
  ['upload a file', '/docs/files', '/docs/reference/create-file'],
  ['add logo to picture', '/docs/tools/watermark-image'],
  ['check spf record', '/docs/tools/smtp-test', '/docs/tools/dns-lookup'],
  ['full page screenshot without cookie banner', '/docs/tools/website-screenshot'],
  ['screenshot as pdf', '/docs/tools/website-screenshot'],
  ['price of gold in euro', '/docs/tools/gold-price'],
  ['md5', '/docs/tools/hash-text'],
  ['is my server reachable', '/docs/tools/ping'],
  ['notify me when credits are low', '/docs/billing', '/docs/webhooks'],
  ['rotate api key', '/docs/authentication', '/docs/reference/rotate-key'],
  ['restrict key to ip', '/docs/account', '/docs/authentication'],
  ['run every day', '/docs/schedules'],
  ['monitor a page for changes', '/docs/schedules'],
  ['10000 urls at once', '/docs/batches'],
  ['csv', '/docs/batches', '/docs/account'],
  ['proof of charge', '/docs/receipts'],
  ['mcp server', '/docs/agents'],
  ['cursor ide', '/docs/agents'],
  ['test webhook localhost', '/docs/webhooks'],
  ['what happens if the server crashes', '/docs/contract', '/docs/idempotency', '/docs/security'],
  ['two factor authentification', '/docs/account'],
  ['402 payment required', '/docs/agents', '/docs/errors', '/docs/billing', '/docs/contract'],
];

/** Paths of the pages that a search lists, the best first. */
async function foundBy(query: string, scope = 'customers'): Promise<string[]> {
  const html = await textOf(`/docs/search?${new URLSearchParams({ q: query, for: scope })}`);
  const [, list = ''] = /<ol class="results">(.*?)<\/ol>/s.exec(html) ?? [];
  return [...list.matchAll(/<li><a href="([^"#]+)">/g)].map(([, path = '']) => path);
}

for (const [name, questions] of Object.entries({ QUESTIONS, FURTHER_QUESTIONS }))
  test(`${name}: of 30, the search answers at least 28 with the right page among the first three`, async (t) => {
    t.is(questions.length, 30);
    const missed: string[] = [];
    for (const [question, ...answers] of questions) {
      const first = (await foundBy(question)).slice(0, 3);
      if (!answers.some((path) => first.includes(path))) missed.push(`${question}: ${first.join(', ')}`);
    }
    t.log(`${30 - missed.length} of 30`);
    t.true(missed.length <= 2, missed.join('\n'));
  });

test('results of a search show sentences, not code', async (t) => {
  const html = await textOf('/docs/search?q=webhook');
  const [, list = ''] = /<ol class="results">(.*?)<\/ol>/s.exec(html) ?? [];
  const excerpts = [...list.matchAll(/<p>([^<]*)<\/p>/g)].map(([, text = '']) => text);
  t.true(excerpts.length >= 10);
  for (const excerpt of excerpts) {
    t.notRegex(excerpt, /curl |&quot;id&quot;/);
    t.regex(excerpt, /\w/);
  }
});

test('customers and operators search their own pages', async (t) => {
  t.is((await foundBy('backup', 'operators'))[0], '/docs/operations');
  t.is((await foundBy('environment variables', 'operators'))[0], '/docs/configuration');
  for (const query of ['backup', 'environment variables', 'kubernetes'])
    t.notRegex((await foundBy(query)).join(' '), /operations|configuration|capacity/, query);
  t.notRegex((await foundBy('screenshot', 'operators')).join(' '), /\/docs\/tools\//);
  const page = await textOf('/docs/operations');
  t.regex(page, /<input type="hidden" name="for" value="operators">/);
  t.regex(await textOf('/docs/search?q=backup'), /<a href="\/docs\/search\?q=backup&amp;for=operators">/);
  t.notRegex(await textOf('/docs/quickstart'), /name="for"|<a href="\/docs\/operations">/);
});

test('the search finds pages by words, names and codes, and escapes what was searched for', async (t) => {
  for (const [query, target] of [
    ['screenshot', '/docs/tools/website-screenshot'],
    ['hash-text', '/docs/tools/hash-text'],
    ['idempotency key', '/docs/idempotency'],
    ['IDEMPOTENT-REPLAYED', '/docs/idempotency'],
    ['rotate secret', '/docs/webhooks#rotate-the-secret'],
    ['list my calls', '/docs/reference/list-calls'],
  ] as const)
    t.true(
      (await textOf(`/docs/search?q=${encodeURIComponent(query)}`)).includes(`<a href="${target}">`),
      query,
    );
  const hostile = await textOf(`/docs/search?q=${encodeURIComponent('"><script>alert(1)</script>')}`);
  t.notRegex(hostile, /<script>alert/);
  t.regex(await textOf('/docs/search?q=zzzzqqq'), /No page contains/);
  t.regex(await textOf('/docs/search'), /Enter a word/);
  // More words than a search uses.
  await textOf(`/docs/search?q=${'a+b+c+'.repeat(500)}`);
});

test('an unknown page answers 404 with a link to the overview', async (t) => {
  for (const path of [
    '/docs/nothing',
    '/docs/tools/nothing',
    '/docs/../package.json',
    '/docs/assets/site.ts',
  ]) {
    const response = await fetch(`${stack.baseUrl}${path}`);
    t.is(response.status, 404, path);
  }
  const browser = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
  for (const path of ['/docs/nothing', '/nothing', '/nothing/here']) {
    const response = await fetch(`${stack.baseUrl}${path}`, { headers: browser });
    t.is(response.status, 404, path);
    t.regex(await response.text(), /Page not found.*href="\/docs"/s);
  }
  t.is((await fetch(`${stack.baseUrl}/clients/`)).url, `${stack.baseUrl}/docs/clients`);
  for (const [path, headers] of [
    ['/nothing', {}],
    ['/api/v1/nothing', browser],
  ] as const) {
    const response = await fetch(`${stack.baseUrl}${path}`, { headers });
    t.is(response.headers.get('Content-Type'), 'application/problem+json', path);
  }
});

/** A shell would otherwise succeed with the JSON of an error. */
const failOnErrors = (code: string): string =>
  code.replaceAll(/^( *)curl (?!--fail)/gm, '$1curl -sS --fail-with-body ');

test('the snippets of the guides run as they are printed', async (t) => {
  const { toolsKey, accountKey } = await makeAccount(stack, 1000);
  const ran: Record<string, number> = {};
  for (const page of [
    'quickstart',
    'authentication',
    'idempotency',
    'jobs',
    'batches',
    'schedules',
    'files',
    'billing',
    'account',
    'webhooks',
    'agents',
  ])
    for (const { language, code } of snippetsOf(await textOf(`/docs/${page}.md`))) {
      // Go and PHP: test/clients/quickstart.test.ts.
      if (!['sh', 'js', 'ts', 'python'].includes(language) || !code.includes(stack.baseUrl)) continue;
      // The program of the agent is not installed.
      if (code.startsWith('claude mcp add')) continue;
      const printed = await runSnippet(
        { language, code: failOnErrors(code) },
        { [KEY_VARIABLE]: toolsKey, [ACCOUNT_KEY_VARIABLE]: accountKey },
      );
      ran[language] = (ran[language] ?? 0) + 1;
      if (['quickstart', 'agents'].includes(page))
        t.regex(printed, /ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/, language);
    }
  t.deepEqual(ran, { sh: 12, js: 5, python: 1, ts: 1 });

  const [retries] = snippetsOf(await textOf('/docs/retries.md')).filter(({ language }) => language === 'js');
  const use = "\nconsole.log(await call('hash-text', { text: 'abc' }));\nawait call('hash-text', {});\n";
  const failed = await t.throwsAsync(
    runSnippet({ language: 'js', code: `${retries?.code}${use}` }, { [KEY_VARIABLE]: toolsKey }),
    { message: /Error: invalid_input: .*\(req_/s },
  );
  t.like(failed, {
    stdout:
      "{\n  algorithm: 'sha256',\n  hash: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'\n}\n",
  });
});

test('no block of code that a reader copies sets a key', async (t) => {
  const setting = /(?:export|set|setenv|env) +\w*KEY\b|^\s*\w*KEY=/m;
  let asked = 0;
  for (const path of await sitemap()) {
    if (path === '/') continue;
    for (const { code } of snippetsOf(await textOf(`${path}.md`))) {
      t.notRegex(code.replaceAll(/^read -r (\w+) && export \1$/gm, ''), setting, path);
      asked += code.startsWith('read -r ') ? 1 : 0;
    }
  }
  t.true(asked >= 3);
});

test('each client of the guide for agents connects with its configuration', async (t) => {
  const { toolsKey } = await makeAccount(stack, 0);
  const guide = await textOf('/docs/agents.md');
  const connections = await agentConnections(guide, toolsKey);
  t.deepEqual(
    [...connections.keys(), 'TypeScript'],
    [...(guide.split('\n## ').find((it) => it.startsWith('Clients\n')) ?? '').matchAll(/^### (.+)$/gm)].map(
      ([, name]) => name,
    ),
  );
  for (const [name, { url, authorization }] of connections) {
    const client = new Client({ name, version: '1' });
    const headers = { Authorization: authorization };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    t.is((await client.listTools()).tools.length, registry.size, name);
    await client.close();
  }
});
