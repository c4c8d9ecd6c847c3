import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import test from 'ava';
import { toolInput } from '../../api/dashboard/pages/tools/input.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { withStore } from '../helpers/account.ts';
import { KEY_VARIABLE } from '../helpers/agentClients.ts';
import { madeKey, newOwner } from '../helpers/dashboard.ts';
import {
  attribute,
  type Element,
  fieldValue,
  find,
  linksOf,
  mainText,
  pageOf,
  rowsOf,
  textOf,
} from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

const registry = await loadRegistry();

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

test('a trial call is charged like any call, and once when its form is submitted twice', async (t) => {
  const owner = await newOwner(stack);
  const form = await pageOf(t, await owner.get('/tools/hash-text'));
  t.regex(mainText(form), /1 credit per call \(\$0\.009\); 30 credits available/);
  const fields = { text: 'abc', algorithm: 'md5', '.attempt': fieldValue(form, '.attempt') };
  for (const [says, available] of [
    ['1 credit charged', 29],
    ['the call was charged once', 29],
  ] as const) {
    const result = await owner.post('/tools/hash-text', fields);
    t.is(result.status, 200);
    const text = mainText(await pageOf(t, result));
    // RFC 1321, appendix A.5
    for (const shown of ['900150983cd24fb0d6963f7d28e17f72', says, `${available} credits available`])
      t.true(text.includes(shown), shown);
  }
  t.deepEqual(
    rowsOf(await pageOf(t, await owner.get('/calls'))).map((row) =>
      row.replace(/^.*UTC /, '').replace(/[\d.]+ m?s /, ''),
    ),
    ['hash-text charged 1 dashboard'],
  );
});

test('multi-line input reaches a tool with the line breaks as typed', async (t) => {
  const owner = await newOwner(stack);
  const result = await owner.post('/tools/hash-text', { text: 'a\r\nb', algorithm: 'sha256' });
  // printf 'a
  // b' | sha256sum
  t.true(
    mainText(await pageOf(t, result)).includes(
      '7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78',
    ),
  );
});

test("an image is shown, and a tool's refusal is explained on its form", async (t) => {
  const owner = await newOwner(stack);
  const picture = await pageOf(
    t,
    await owner.post('/tools/qr-generate', { text: 'a', size: '64', errorCorrection: 'M' }),
  );
  const source =
    attribute(picture.find(({ tagName }) => tagName === 'img') ?? t.fail('no picture'), 'src') ?? '';
  t.is(Buffer.from(source.replace('data:image/png;base64,', ''), 'base64').subarray(1, 4).toString(), 'PNG');

  const refused = await owner.post('/tools/qr-generate', { text: 'a', size: '1', errorCorrection: 'M' });
  t.is(refused.status, 422);
  const elements = await pageOf(t, refused);
  t.truthy(find(elements, 'id', 'size-fault'));
  t.is(fieldValue(elements, 'size'), '1');
  t.regex(mainText(elements), /29 credits available/);
  t.regex(mainText(elements), /Invalid input .* Nothing was charged\. Error invalid_input, request req_/);
});

test('numbers are accepted in every notation that browsers accept', async (t) => {
  const owner = await newOwner(stack);
  const make = (size: string) => owner.post('/tools/qr-generate', { text: 'a', size, errorCorrection: 'M' });
  for (const size of ['2e2', '2E+2', '20000e-2', '200.0']) {
    const made = await make(size);
    t.is(made.status, 200, size);
    t.regex(mainText(await pageOf(t, made)), /mimeType image\/png size 200 View as JSON/, size);
  }
  for (const wrong of ['.5', '200.5', '2e', '1e400', '0x80', '2 00', '+200', '200.'])
    t.is((await make(wrong)).status, 422, wrong);
});

test('a password in a trial call is not repeated in the response', async (t) => {
  const owner = await newOwner(stack);
  for (const workFactor of ['4', '99']) {
    const password = randomUUID();
    const response = await owner.post('/tools/bcrypt-hash', { password, workFactor });
    t.is(response.status, workFactor === '4' ? 200 : 422);
    t.false((await response.text()).includes(password));
  }
});

for (const [title, program, ...options] of [
  ['curl', 'bash', '-c'],
  ['Node.js', process.execPath, '--input-type=module', '-e'],
  ['Python', 'python3', '-c'],
] as const)
  test(`the snippet for ${title} makes the same call as the form, whatever the input`, async (t) => {
    const owner = await newOwner(stack);
    const key = await madeKey(owner);
    const text = `it's "$HOME" \\ {url} \`id\` <b>&amp;\n\u{1f600}`;
    const page = await pageOf(t, await owner.post('/tools/hash-text', { text, algorithm: 'sha256' }));
    const snippet = textOf(find(page, 'aria-label', title) ?? t.fail('no snippet'));
    const env = { ...process.env, [KEY_VARIABLE]: key };
    const { stdout } = await promisify(execFile)(program, [...options, snippet], { env, timeout: 60_000 });
    t.true(stdout.includes(createHash('sha256').update(text).digest('hex')), stdout);
  });

test('every tool has a form with a field for each input property', async (t) => {
  const owner = await newOwner(stack);
  const { items } = await (await fetch(`${stack.baseUrl}/api/v1/tools`)).json();
  t.true(items.length >= 19);
  for (const { name, price, input } of items) {
    const elements = await pageOf(t, await owner.get(`/tools/${name}`));
    t.regex(mainText(elements), new RegExp(`^.*${price} credits? per call`));
    for (const field of Object.keys(input.properties))
      t.truthy(find(elements, 'name', field), `${name} ${field}`);
  }
});

test('a number of milliseconds in the form reaches a tool as a number', async (t) => {
  const tool = registry.get('website-screenshot') ?? t.fail('no tool');
  const waitFor = (text: string) =>
    toolInput(tool, new URLSearchParams({ url: 'http://a/', waitFor: text })).waitFor;
  t.deepEqual(['2000', '#main', '.a2', ''].map(waitFor), [2000, '#main', '.a2', undefined]);
  const owner = await newOwner(stack);
  const fields = { url: 'https://example.com/', waitFor: '20000' };
  const refused = await pageOf(t, await owner.post('/tools/website-screenshot', fields));
  t.truthy(find(refused, 'id', 'waitFor-fault'));
  t.is(fieldValue(refused, 'waitFor'), '20000');
});

test('a form has the defaults of the schema, and the example only on request', async (t) => {
  const owner = await newOwner(stack);
  const form = await pageOf(t, await owner.get('/tools/website-screenshot'));
  const field = (elements: readonly Element[], name: string, of: string) =>
    attribute(find(elements, 'name', name) ?? t.fail(name), of);
  const { width, height } = registry.get('website-screenshot')?.input.properties ?? {};
  t.is(field(form, 'width', 'value'), String(width?.default));
  t.is(field(form, 'height', 'value'), String(height?.default));
  t.is(field(form, 'url', 'value') ?? '', '');
  t.is(field(form, 'url', 'placeholder'), 'e.g. https://example.com/');
  t.true(linksOf(form).includes('/dashboard/tools/website-screenshot?example=1'));
  const example = await pageOf(t, await owner.get('/tools/website-screenshot?example=1'));
  t.is(field(example, 'url', 'value'), 'https://example.com/');
  const secret = await pageOf(t, await owner.get('/tools/bcrypt-hash?example=1'));
  t.is(field(secret, 'password', 'value'), undefined);
  t.is(field(secret, 'workFactor', 'value'), '11');
});

test('further options stay closed unless one was changed or refused', async (t) => {
  const owner = await newOwner(stack);
  const isOpen = async (fields: Record<string, string>) => {
    const url = 'no address';
    const page = await owner.post('/tools/website-screenshot', { url, ...fields });
    return /<details class="more" open>/.test(await page.text());
  };
  const form = await pageOf(t, await owner.get('/tools/website-screenshot'));
  const defaults = Object.fromEntries(
    Object.keys(registry.get('website-screenshot')?.input.properties ?? {}).flatMap((name) => {
      const field = find(form, 'name', name);
      const isUnchecked =
        field !== undefined &&
        attribute(field, 'type') === 'checkbox' &&
        attribute(field, 'checked') === undefined;
      return name === 'url' || isUnchecked ? [] : [[name, fieldValue(form, name) ?? '']];
    }),
  );
  // Each request is refused because of its address, which is not among the further options.
  t.false(await isOpen(defaults));
  t.true(await isOpen({ ...defaults, headers: '{"Accept": "x"}' }));
  t.true(await isOpen({ ...defaults, cookies: '[{"name": "a"}]' }));
});

test('a refusal says what to do in words, with the button that leads there', async (t) => {
  const owner = await newOwner(stack);
  await withStore(stack, ({ accounts }) =>
    accounts.updateOne({ email: owner.email }, { $set: { balance: 0 } }),
  );
  const page = await pageOf(t, await owner.post('/tools/hash-text', { text: 'a' }));
  t.regex(
    mainText(page),
    /Insufficient credits .*Buy credits in the dashboard\. .*Buy credits Nothing was charged\./,
  );
  t.notRegex(mainText(page), /"available"|X-|Retry-After/);
  t.true(linksOf(page).includes('/dashboard/credits'));
});

test('fields of lists and objects are JSON', async (t) => {
  const owner = await newOwner(stack);
  const run = async (headers: string, cookies: string) => {
    const url = 'http://10.0.0.1/';
    const fields = { url, width: '800', height: '600', headers, cookies, format: 'png' };
    return mainText(await pageOf(t, await owner.post('/tools/website-screenshot', fields)));
  };
  t.regex(await run('Accept: x', ''), /headers must be an object/);
  t.regex(await run('{"Host": "x"}', ''), /headers cannot be set/);
  t.regex(await run('{}', '[{"name": "a"}]'), /cookies is required/);
});

test('tools are found by a search, in groups', async (t) => {
  const owner = await newOwner(stack);
  const names = async (query: string) =>
    linksOf(await pageOf(t, await owner.get(`/tools${query}`))).flatMap(
      (href) => /^\/dashboard\/tools\/([\w-]+)$/.exec(href)?.[1] ?? [],
    );
  t.deepEqual((await names('')).sort(), [...registry.keys()].sort());
  t.deepEqual(await names('?q=QR+code'), ['qr-generate']);
  t.deepEqual(await names('?q=password'), ['bcrypt-hash', 'bcrypt-verify', 'argon2-verify']);
  t.regex(mainText(await pageOf(t, await owner.get('/tools?q=zzz'))), /No tool matches/);
  const links = await (await owner.get('/tools.json')).json();
  t.deepEqual(
    links.map(({ name }: { name: string }) => name),
    [...registry.keys()],
  );
});
