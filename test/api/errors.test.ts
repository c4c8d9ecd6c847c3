import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { codesOfOperation, codesOfTool } from '../../api/openapi/codes.ts';
import { CODES } from '../../api/openapi/problems.ts';
import { remedyInWords } from '../../api/openapi/remedies.ts';
import { ERRORS, isErrorCode } from '../../schemas/errors.ts';
import { OPERATIONS } from '../../schemas/operations.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { makeAccount, type TestAccount, withStore } from '../helpers/account.ts';
import { type Json, recordsAt } from '../helpers/json.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

/** Error codes in schemas/errors.ts that no source file raises yet, and what they are reserved for. */
const RESERVED: Record<string, string> = {
  source_too_large: 'tools that download files',
  unsupported_source: 'tools that download files',
  corrupt_source: 'tools that download files',
  tool_unavailable: 'tools that run programs',
  feed_unavailable: 'gold-price',
};
const NOT_OF_AN_OPERATION = ['unknown_tool', 'not_found', 'method_not_allowed'];

const FOLDERS = ['api', 'activities', 'workflows', 'workers', 'platform', 'store', 'egress', 'schemas'];
/** The table of error codes, and the lists that are derived from it. */
const LISTS = [
  'schemas/errors.ts',
  'api/openapi/codes.ts',
  'api/openapi/remedies.ts',
  'api/openapi/problems.ts',
];

const root = new URL('../../', import.meta.url);
const sources = FOLDERS.flatMap((folder) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.endsWith('.ts') && !LISTS.includes(path)),
).map((path) => readFileSync(new URL(path, root), 'utf8'));

/** All error codes that occur as strings in the source files. */
const named = new Set(
  sources.flatMap((text) => [...text.matchAll(/'([a-z]+(?:_[a-z]+)*)'/g)].map(([, code]) => code)),
);
/** The codes with which the source files construct errors, including any that are missing from the table. */
const raised = new Set(
  sources.flatMap((text) =>
    [...text.matchAll(/\b(?:ServiceError|refusal)\(\s*([^,)]*)/g)].flatMap(([, argument = '']) =>
      [...argument.matchAll(/'([a-z_]+)'/g)].map(([, code = '']) => code),
    ),
  ),
);

test('every error code that the source raises is in the table of error codes', (t) => {
  t.true(raised.size > 20);
  t.deepEqual(
    [...raised].filter((code) => !isErrorCode(code)),
    [],
  );
});

test('advice for people, clients and agents names no headers and no members of the response', (t) => {
  for (const code of CODES) {
    const advice = remedyInWords(code);
    t.notRegex(
      advice,
      /\b(?:X-|Retry-After|RateLimit|Authorization|Content-|Idempotency-Key|(?:Allow|Accept) header)/,
      code,
    );
    t.notRegex(advice, /"(?:detail|errors|pointer|available|cost|budget|moreErrors)/, code);
  }
});

test('every error code in the table is raised or reserved', (t) => {
  const idle = Object.keys(ERRORS).filter((code) => !named.has(code));
  t.deepEqual(
    idle.filter((code) => !Object.hasOwn(RESERVED, code)),
    [],
  );
  t.deepEqual(
    Object.keys(RESERVED).filter((code) => !isErrorCode(code)),
    [],
  );
});

test('every error code is documented for at least one operation', async (t) => {
  const registry = await loadRegistry();
  const listed = new Set<string>([
    ...[...registry.values()].flatMap(codesOfTool),
    ...OPERATIONS.flatMap(codesOfOperation),
    ...NOT_OF_AN_OPERATION,
    ...Object.keys(RESERVED),
  ]);
  // Any tool with a large output can raise this code, but no tool has a large output yet.
  listed.add('output_too_large');
  t.deepEqual(
    Object.keys(ERRORS).filter((code) => !listed.has(code)),
    [],
  );
});

let stack: SharedStack;
let account: TestAccount;

test.before(async () => {
  stack = await useStack();
  account = await makeAccount(stack, 1000);
});
test.after.always(() => stack?.stop());

const TEXT = { text: 'abc' };
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

test('400 malformed_json and invalid_header', async (t) => {
  await isProblem(t, await account.call('hash-text', '[]'), 'malformed_json');
  for (const headers of [
    { 'Idempotency-Key': 'two words' },
    { 'Idempotency-Key': 'k'.repeat(256) },
    { 'X-Max-Credits': '-1' },
    { 'X-Max-Credits': '1.5' },
  ])
    await isProblem(t, await account.call('hash-text', TEXT, headers), 'invalid_header');
});

/** Sends these lines as a request, because an HTTP client would refuse to send them. Returns the response. */
async function sendRaw(lines: readonly string[]): Promise<{ status: number; head: string; body: string }> {
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.end([...lines, 'Connection: close', '', ''].join('\r\n'));
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body };
}

test('malformed HTTP and unsupported methods get a problem details response', async (t) => {
  const get = 'GET /livez HTTP/1.1';
  for (const [status, code, ...lines] of [
    [400, 'invalid_header', get],
    [400, 'invalid_header', get, 'Host: a', 'Host: a'],
    [400, 'invalid_header', get, 'Host: a', 'hOST: b'],
    [400, 'invalid_header', get, 'Host: a b/c@'],
    [400, 'invalid_header', get, 'Host: user@a'],
    [405, 'method_not_allowed', 'CONNECT example.com:443 HTTP/1.1', 'Host: example.com:443'],
  ] as const) {
    const { head, body, ...answer } = await sendRaw(lines);
    t.is(answer.status, status, lines.join('|'));
    t.like(JSON.parse(body), { code, status });
    t.regex(head, /^X-Request-Id: req_/im);
    t.regex(head, /^Content-Type: application\/problem\+json/im);
  }
  for (const lines of [
    [get, 'Host:'],
    [get, 'Host: [::1]:8080'],
    [get, 'Host: a', 'Expect: the-unexpected'],
    ['GET /livez HTTP/1.0'],
  ])
    t.is((await sendRaw(lines)).status, 200, lines.join('|'));
});

test('a JSON body is recognised by its media type, with any parameters', async (t) => {
  for (const [type, status] of [
    ['application/json', 200],
    ['Application/JSON; Charset="UTF-8"', 200],
    ['application/json;', 200],
    ['application/json;charset=utf-8 ;', 200],
    ['application/json; version=1', 200],
    ['application/json; charset=latin1', 415],
    ['application/json; version=1; charset=utf-16', 415],
    ['application/jsonp', 415],
    ['application/problem+json', 415],
  ] as const)
    t.is((await account.call('hash-text', TEXT, { 'Content-Type': type })).status, status, type);
  t.is((await account.call('hash-text', TEXT, { 'Content-Encoding': 'Identity' })).status, 200);
});

test('401 missing_api_key and invalid_api_key: the responses to unknown, revoked and expired keys are equal', async (t) => {
  const url = `${stack.baseUrl}/api/v1/tools/hash-text`;
  await isProblem(t, await fetch(url, { method: 'POST' }), 'missing_api_key');
  const expired = await account.addKey({ expiresAt: new Date(Date.now() - 1000) });
  const revoked = await account.addKey({});
  const revoke = await account.manage(`/api/v1/account/keys/${revoked.id}`, undefined, { method: 'DELETE' });
  t.is(revoke.status, 204);
  const unknown = `${account.toolsKey.slice(0, -1)}${account.toolsKey.endsWith('0') ? '1' : '0'}`;
  const bodies = await Promise.all(
    [unknown, revoked.key, expired.key, 'x'].map(async (key) => {
      const response = await account.call('hash-text', TEXT, bearer(key));
      const { requestId: _own, ...body } = await isProblem(t, response, 'invalid_api_key');
      return JSON.stringify(body);
    }),
  );
  t.is(new Set(bodies).size, 1);
});

test('402 insufficient_credits and price_above_max', async (t) => {
  const poorer = await makeAccount(stack, 1);
  const body = await isProblem(
    t,
    await poorer.call('bcrypt-hash', { password: 'x' }),
    'insufficient_credits',
  );
  t.like(body, { available: 1, cost: 2 });
  await isProblem(t, await account.call('hash-text', TEXT, { 'X-Max-Credits': '0' }), 'price_above_max');
});

test('403 tool_not_allowed, insufficient_scope and account_suspended', async (t) => {
  const { key } = await account.addKey({ tools: ['qr-generate'] });
  await isProblem(t, await account.call('hash-text', TEXT, bearer(key)), 'tool_not_allowed');
  await isProblem(t, await account.call('hash-text', TEXT, bearer(account.accountKey)), 'insufficient_scope');
  const manage = await account.manage('/api/v1/account', undefined, { headers: bearer(account.toolsKey) });
  await isProblem(t, manage, 'insufficient_scope');

  const debtor = await makeAccount(stack, 10);
  await withStore(stack, (store) =>
    createAccounts(store).grant({
      accountId: debtor.accountId,
      type: 'adjustment',
      amount: -11,
      reference: 'taken back',
      reason: 'refund',
    }),
  );
  await isProblem(t, await debtor.call('hash-text', TEXT), 'account_suspended');
});

test('404 unknown_tool and not_found; 405 method_not_allowed', async (t) => {
  await isProblem(t, await account.call('hash', TEXT), 'unknown_tool');
  for (const path of ['/nothing', '/api/v1/tools/hash-text/more', '/docs/assets/../../package.json'])
    await isProblem(t, await fetch(`${stack.baseUrl}${path}`), 'not_found');
  const refused = await fetch(`${stack.baseUrl}/api/v1/tools`, { method: 'DELETE' });
  await isProblem(t, refused, 'method_not_allowed');
  t.deepEqual(refused.headers.get('Allow')?.split(', ').sort(), ['GET', 'HEAD']);
});

test('409 idempotency_key_used and limit_reached', async (t) => {
  const verify = { password: 'U*U', hash: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW' };
  const key = { 'Idempotency-Key': 'secret' };
  t.is((await account.call('bcrypt-verify', verify, key)).status, 200);
  await isProblem(t, await account.call('bcrypt-verify', verify, key), 'idempotency_key_used');

  const owner = await makeAccount(stack, 0);
  const create = () => owner.manage('/api/v1/account/keys', { name: 'one more', scopes: ['tools'] });
  // The account already has two keys.
  for (let count = 3; count <= 50; count++) t.is((await create()).status, 201);
  await isProblem(t, await create(), 'limit_reached');
});

test('a fault describes the expected value in words', async (t) => {
  const faultsOf = async (response: Response) =>
    Object.fromEntries(
      recordsAt((await isProblem(t, response, 'invalid_input')).errors).map(({ pointer, message }) => [
        pointer,
        message,
      ]),
    );
  const manage = (path: string, body: Json) => account.manage(`/api/v1/account/${path}`, body);
  const NAME = 'Name of the key: up to 100 characters, not only spaces, no control characters.';
  t.deepEqual(
    await faultsOf(
      await manage('keys', { name: ' ', scopes: [], tools: ['hash-text', 'hash-text'], expiresAt: 'soon' }),
    ),
    {
      '/name': `has an invalid format. ${NAME}`,
      '/scopes': 'must have at least 1 item',
      '/tools': 'must not contain duplicates',
      '/expiresAt': 'must be a time such as 2026-12-31T23:59:59Z',
    },
  );
  t.deepEqual(
    await faultsOf(
      await manage('keys', {
        name: 'a'.repeat(101),
        scopes: ['tools', 'account'],
        tools: 'all',
        expiresAt: 5,
      }),
    ),
    {
      '/name': 'must have at most 100 characters',
      '/scopes': 'must have at most 1 item',
      '/tools': 'must be an array or null',
      '/expiresAt': 'must be a string or null',
    },
  );
  t.deepEqual(
    await faultsOf(await account.call('qr-generate', { text: '', size: 63.5, errorCorrection: 'X' })),
    {
      '/text': 'must not be empty',
      '/size': 'must be at least 64',
      '/errorCorrection': 'must be one of L, M, Q, H',
    },
  );
  t.deepEqual(await faultsOf(await account.call('qr-generate', { text: 'a', size: 2001 })), {
    '/size': 'must be at most 2000',
  });
  const selector = await faultsOf(
    await account.call('web-scrape', { url: 'https://example.com/', selector: 'a > b' }),
  );
  t.regex(String(selector['/selector']), /^has an invalid format\. A tag name, `\.class` or `#id`;/);
});

test('413 body_too_large; 415 unsupported_media_type', async (t) => {
  await isProblem(t, await account.call('hash-text', { text: 'x'.repeat(2_000_000) }), 'body_too_large');
  const plain = await account.call('hash-text', TEXT, { 'Content-Type': 'text/plain' });
  await isProblem(t, plain, 'unsupported_media_type');
  const packed = await account.call('hash-text', TEXT, { 'Content-Encoding': 'gzip' });
  await isProblem(t, packed, 'unsupported_media_type');
});

test('422 invalid_input and idempotency_key_mismatch', async (t) => {
  const body = await isProblem(t, await account.call('hash-text', {}), 'invalid_input');
  t.deepEqual(body.errors, [{ pointer: '/text', message: 'is required' }]);
  const key = { 'Idempotency-Key': 'one' };
  t.is((await account.call('hash-text', TEXT, key)).status, 200);
  for (const [tool, input] of [
    ['hash-text', { text: 'other' }],
    ['qr-generate', TEXT],
  ] as const)
    await isProblem(t, await account.call(tool, input, key), 'idempotency_key_mismatch');
});

for (const [hostname, code] of [
  ['missing.example.com', 'host_not_found'],
  ['printer.local', 'target_refused'],
  ['failing.example.com', 'target_failed'],
  ['silent.example.com', 'target_timeout'],
] as const)
  test(`${ERRORS[code].status} ${code}`, async (t) => {
    await isProblem(t, await account.call('dns-lookup', { hostname }), code);
  });
