import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test from 'ava';
import { openApiDocument } from '../../api/openapi/openapi.ts';
import { ERRORS } from '../../schemas/errors.ts';
import { EVENT_KINDS } from '../../schemas/events.ts';
import { OPERATIONS } from '../../schemas/operations.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { isRecord, type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { type Stack, startStack } from '../helpers/stack.ts';

const registry = await loadRegistry();
const METHODS = ['get', 'post', 'patch', 'delete'];

let stack: Stack;
let spec: Json;

test.before(async () => {
  stack = await startStack({ pools: [] });
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

test('operation ids are unique, and every operation is described', (t) => {
  const all = operations().map(({ operation }) => operation);
  const ids = all.map(({ operationId }) => operationId);
  t.is(new Set(ids).size, ids.length);
  for (const operation of all) t.is(typeof operation.summary, 'string');
});

test('a tool lists its price, headers, errors by status and raw types', (t) => {
  for (const [name, tool] of registry) {
    const post = recordAt(spec, 'paths', `/api/v1/tools/${name}`, 'post');
    t.is(post['x-price'], tool.price);
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

for (const path of ['/api/v1/tools', '/openapi.json', '/docs', '/docs/errors'])
  test(`${path} answers HEAD, and 304 to a matching If-None-Match`, async (t) => {
    const url = `${stack.baseUrl}${path}`;
    const head = await fetch(url, { method: 'HEAD', headers: { 'Accept-Encoding': 'identity' } });
    t.is(head.status, 200);
    t.is(await head.text(), '');
    const get = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
    t.is(head.headers.get('Content-Length'), String((await get.arrayBuffer()).byteLength));
    const etag = head.headers.get('ETag') ?? '';
    t.is(get.headers.get('ETag'), etag);
    // As browsers revalidate; fetch would add the no-cache of a reload.
    const again = await fetch(url, { headers: { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' } });
    t.is(again.status, 304);
  });

test('the pages load nothing from other origins, and their policy forbids it', async (t) => {
  for (const path of ['/docs', '/docs/errors']) {
    const page = await fetch(`${stack.baseUrl}${path}`);
    t.is(page.headers.get('Content-Type'), 'text/html; charset=utf-8');
    const policy = page.headers.get('Content-Security-Policy') ?? '';
    t.regex(policy, /^default-src 'none'; script-src 'self';/);
    t.notRegex(policy, /https?:|\*|unsafe-eval/);
    const html = await page.text();
    t.notRegex(html, /<script>|\son\w+=/);
    const parts = [...html.matchAll(/<(?:script|link)\b[^>]*\b(?:src|href)="([^"]+)"/g)].map(
      ([, url]) => url,
    );
    t.true(parts.length > 1);
    for (const part of parts.filter((url) => url !== 'data:,')) {
      const url = new URL(part ?? '', page.url);
      t.is(url.origin, stack.baseUrl);
      t.is((await fetch(url)).status, 200, part);
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
