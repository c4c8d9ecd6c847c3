import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { loadRegistry } from '../../schemas/registry.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { isRecord, recordAt } from '../helpers/json.ts';
import { accountOf, auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { connectMcp, ERAS, resultOf } from '../helpers/mcp.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** SHA-256 of "abc": FIPS 180-2, appendix B.1. */
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const CREDITS = 100;

/** Files of the target by path: its Content-Type, and its bytes in base64. The first is a GIF of one pixel. */
const FILES: Readonly<Record<string, { type: string; data: string }>> = {
  '/dot.gif': {
    type: 'image/gif',
    data: 'R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==',
  },
  '/sound.mp3': { type: 'audio/mpeg', data: 'SUQzAwAAAAAAAA==' },
  '/mislabelled.png': { type: 'image/png', data: 'AAECAwQFBgc=' },
  // More than 5 MB in base64, the maximum of Anthropic's API.
  '/large.png': { type: 'image/png', data: `iVBORw0KGgoA${'A'.repeat(5_000_000)}` },
};
/** Responses of the slow target that the test has not sent yet. */
const waiting: ServerResponse[] = [];
const target = createServer(({ url = '' }, response) => {
  const file = FILES[url];
  if (file === undefined) waiting.push(response);
  else response.setHeader('Content-Type', file.type).end(Buffer.from(file.data, 'base64'));
});

const origin = await listenAsTarget(target);
const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const account = await makeAccount(stack, CREDITS);
test.after.always(async () => {
  target.close();
  target.closeAllConnections();
  await store.close();
  await stack.stop();
});

const balance = async () => (await accountOf(store, account.accountId)).balance;
const post = (body: unknown, headers: Record<string, string> = {}) =>
  fetch(new URL('/mcp', stack.baseUrl), {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${account.toolsKey}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

const ACCEPTS: [accept: string, type: RegExp][] = [
  ['application/json, text/event-stream', /^text\/event-stream/],
  ['text/event-stream', /^text\/event-stream/],
  ['application/json', /^application\/json/],
  ['*/*', /^text\/event-stream/],
  ['Application/JSON, Text/Event-Stream', /^text\/event-stream/],
  ['application/*;q=0.5, text/event-stream;q=0', /^application\/json/],
  ['application/json; charset=UTF-8', /^application\/json/],
  ['application/json;charset=utf-8, text/event-stream;charset=utf-8;q=0.9', /^text\/event-stream/],
];
test.serial('clients of 2025 get a response for each Accept that includes one of its types', async (t) => {
  for (const [accept, type] of ACCEPTS) {
    const response = await post(LIST, { Accept: accept });
    t.is(response.status, 200, accept);
    t.regex(response.headers.get('Content-Type') ?? '', type, accept);
    t.true(Array.isArray(resultOf(await response.text()).tools), accept);
  }
  t.is((await post(LIST, { Accept: 'image/png' })).status, 406);
  // `fetch` always sends the header.
  const bare = request(new URL('/mcp', stack.baseUrl), {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.toolsKey}`, 'Content-Type': 'application/json' },
  });
  bare.end(JSON.stringify(LIST));
  const [response]: IncomingMessage[] = await once(bare, 'response');
  t.is(response?.resume().statusCode, 200);
});

for (const era of ERAS) {
  test.serial(`${era} clients: the list of tools has prices, schemas and hints`, async (t) => {
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey, era);
    const { tools } = await connection.client.listTools();
    const registry = await loadRegistry();
    t.deepEqual(tools.map(({ name }) => name).sort(), [...registry.keys()]);
    const hash = tools.find(({ name }) => name === 'hash-text');
    t.like(hash, {
      title: 'Hash text',
      annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
      _meta: { price: 1 },
    });
    t.regex(hash?.description ?? '', /^Computes the .* digest of text\.\n\nPrice: 1 credit\.$/);
    for (const { name, description = '' } of tools)
      t.regex(description, /^[A-Z][^\n`]{20,120}\.\n\n./, `${name} has a summary of one line`);
    t.like(
      tools.find(({ name }) => name === 'http-request'),
      {
        annotations: { readOnlyHint: false, idempotentHint: false, openWorldHint: true },
      },
    );
    const picture = tools.find(({ name }) => name === 'website-screenshot');
    t.notRegex(JSON.stringify(picture?.outputSchema), /base64/i, 'the file is not part of the fields');
    t.true(JSON.stringify({ tools }).length < 30_000, 'the list is in the context of each conversation');
    const device = recordAt(picture?.inputSchema, 'properties', 'device');
    t.deepEqual([device.type, device.enum], ['string', undefined]);
    t.regex(String(device.description), /such as iPad/);
    const names = tools.map(({ name }) => name);
    t.false(
      names.some((name) => name.includes('_')),
      'underscores stand for hyphens',
    );
  });

  test.serial(`${era} clients: a call returns the result and is charged once`, async (t) => {
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey, era);
    const before = await balance();
    const result = await connection.client.callTool({ name: 'hash-text', arguments: { text: 'abc' } });
    t.deepEqual(result.structuredContent, { algorithm: 'sha256', hash: ABC });
    t.falsy(result.isError);
    t.like(result._meta, { cost: 1, charged: 1, remaining: before - 1 });
    t.is(await balance(), before - 1);
  });

  test.serial(`${era} clients: the body of a response that is a file is a content item`, async (t) => {
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey, era);
    // After listing the tools, the client validates results against the listed output schema.
    await connection.client.listTools();
    for (const [path, { type, data }] of Object.entries(FILES)) {
      const args = { url: `http://${origin}${path}` };
      const result = await connection.client.callTool({ name: 'http-request', arguments: args });
      t.like(result.structuredContent, { statusCode: 200, bodyEncoding: 'base64', body: null }, path);
      const [file, text] = result.content;
      if (path === '/dot.gif') t.deepEqual(file, { type: 'image', data, mimeType: type });
      else if (file?.type === 'resource_link') {
        t.is(file.mimeType, type);
        const linked = Buffer.from(await (await fetch(file.uri)).arrayBuffer());
        t.is(linked.toString('base64'), Buffer.from(data, 'base64').toString('base64'));
      } else t.like(file, { type: 'resource', resource: { mimeType: type, blob: data } }, path);
      t.is(file?.type === 'resource_link', path === '/large.png', path);
      t.false(JSON.stringify(text).includes(data), path);
      t.is(JSON.stringify(text).includes('too large for a model'), path === '/large.png', path);
    }
  });

  test.serial(`${era} clients: a name with underscores is the tool with hyphens`, async (t) => {
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey, era);
    const result = await connection.client.callTool({ name: 'hash_text', arguments: { text: 'abc' } });
    t.like(result.structuredContent, { hash: ABC });
    await using own = await connectMcp(stack.baseUrl, account.accountKey, era);
    const read = await own.client.callTool({ name: 'account_balance', arguments: {} });
    t.like(read.structuredContent, { id: account.accountId });
  });

  test.serial(`${era} clients: the lists of prompts and resources are empty`, async (t) => {
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey, era);
    const { client } = connection;
    t.deepEqual((await client.listPrompts()).prompts, []);
    t.deepEqual((await client.listResources()).resources, []);
    t.deepEqual((await client.listResourceTemplates()).resourceTemplates, []);
    await t.throwsAsync(client.readResource({ uri: 'file:///none' }), { message: /Resource not found/ });
    await t.throwsAsync(client.getPrompt({ name: 'none' }), { message: /Unknown prompt: none/ });
  });

  test.serial(`${era} clients: a call repeated with its idempotency key is not charged again`, async (t) => {
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey, era);
    const before = await balance();
    const call = () =>
      connection.client.callTool({
        name: 'hash-text',
        arguments: { text: 'abc' },
        _meta: { idempotencyKey: `repeat-${era}` },
      });
    const results = await Promise.all([call(), call(), call()]);
    for (const { structuredContent } of results) t.like(structuredContent, { hash: ABC });
    t.deepEqual(results.map(({ _meta }) => _meta?.charged).sort(), [0, 0, 1]);
    t.is(await balance(), before - 1);
    const replayed = await account.call('hash-text', { text: 'abc' }, { 'Idempotency-Key': `repeat-${era}` });
    t.is(replayed.headers.get('Idempotent-Replayed'), 'true', 'the key applies to HTTP requests too');
  });

  test.serial(`${era} clients: a failed call returns its problem details and is free`, async (t) => {
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey, era);
    const before = await balance();
    const call = connection.client.callTool.bind(connection.client);
    const { tools } = await connection.client.listTools();
    const output = recordAt(tools.find(({ name }) => name === 'hash-text')?.outputSchema);
    const wrong = await call({ name: 'hash-text', arguments: { text: 'abc', algorithm: 'crc32' } });
    t.true(wrong.isError);
    t.like(wrong.structuredContent, { code: 'invalid_input', status: 422, retryable: false });
    t.deepEqual(isRecord(wrong.structuredContent) && wrong.structuredContent.errors, [
      { pointer: '/algorithm', message: 'must be one of md5, sha1, sha256, sha512' },
    ]);
    t.regex(JSON.stringify(wrong.content), /Nothing was charged/);
    // Clients of the first SDK generation validate refusals too, with the output schema of the tool.
    const matches = new Ajv2020({ strict: false }).compile(output);
    t.true(matches(wrong.structuredContent), JSON.stringify(matches.errors));
    t.true(matches({ algorithm: 'sha256', hash: ABC }));
    t.false(matches({ algorithm: 'sha256' }));
    const dear = await call({ name: 'hash-text', arguments: { text: 'abc' }, _meta: { maxCredits: 0 } });
    t.like(dear.structuredContent, { code: 'price_above_max' });
    const badKey = await call({
      name: 'hash-text',
      arguments: { text: 'abc' },
      _meta: { idempotencyKey: '' },
    });
    t.like(badKey.structuredContent, { code: 'invalid_input' });
    await t.throwsAsync(call({ name: 'no-such-tool', arguments: {} }), {
      message: /Unknown tool: no-such-tool/,
    });
    t.is(await balance(), before);
  });

  test.serial(`${era} clients: a disconnect cancels the call, and nothing is charged`, async (t) => {
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey, era);
    const before = await balance();
    const hangup = new AbortController();
    const progress: number[] = [];
    const call = connection.client.callTool(
      { name: 'http-request', arguments: { url: `http://${origin}/` } },
      { signal: hangup.signal, onprogress: (update) => progress.push(update.progress) },
    );
    await until(
      'the tool runs and progress is reported',
      async () => waiting.length > 0 && progress.length > 0,
    );
    hangup.abort();
    await connection.client.close();
    await t.throwsAsync(call);
    const stateOf = async () =>
      (await callsOf(store, account.accountId)).filter(({ tool }) => tool === 'http-request').at(-1)?.state;
    await until('the call is refunded', async () => (await stateOf()) === 'refunded');
    t.is(await balance(), before);
    for (const response of waiting.splice(0)) response.destroy();
  });
}

test.serial('with a key for one tool, only that tool is listed and can be called', async (t) => {
  const { key } = await account.addKey({ tools: ['hash-text'] });
  await using connection = await connectMcp(stack.baseUrl, key);
  t.deepEqual(
    (await connection.client.listTools()).tools.map(({ name }) => name),
    ['hash-text'],
  );
  const refused = await connection.client.callTool({
    name: 'http-request',
    arguments: { url: 'http://example.com/' },
  });
  t.like(refused.structuredContent, { code: 'tool_not_allowed', retryable: false });
});

test.serial('a key of the scope `account` can read the account and cannot call paid tools', async (t) => {
  await using connection = await connectMcp(stack.baseUrl, account.accountKey);
  const { client } = connection;
  const { tools } = await client.listTools();
  t.deepEqual(tools.map(({ name }) => name).sort(), ['account-balance', 'account-calls', 'account-plan']);
  const own = await client.callTool({ name: 'account-balance', arguments: {} });
  t.like(own.structuredContent, { id: account.accountId, balance: await balance() });
  const calls = await client.callTool({ name: 'account-calls', arguments: { tool: 'hash-text', limit: 1 } });
  t.like(calls.structuredContent, { items: [{ tool: 'hash-text', charged: 1 }] });
  const plan = {
    calls: [
      { tool: 'hash-text', count: 50 },
      { tool: 'image-upscale', count: 1000 },
    ],
  };
  const registry = await loadRegistry();
  t.like((await client.callTool({ name: 'account-plan', arguments: plan })).structuredContent, {
    price: 50 + 1000 * (registry.get('image-upscale')?.price ?? 0),
    sufficient: false,
  });
  const unknown = await client.callTool({
    name: 'account-plan',
    arguments: { calls: [{ tool: 'x', count: 1 }] },
  });
  t.like(unknown.structuredContent, { code: 'invalid_input' });
  const paid = await client.callTool({ name: 'hash-text', arguments: { text: 'abc' } });
  t.like(paid.structuredContent, { code: 'insufficient_scope' });
});

test.serial('requests without a valid key get 401 with the metadata of the resource', async (t) => {
  for (const Authorization of ['', 'Bearer wrong']) {
    const response = await post(LIST, { Authorization });
    t.is(response.status, 401);
    const challenge = response.headers.get('WWW-Authenticate') ?? '';
    const [, url = ''] =
      /^Bearer (?:error="invalid_token", )?resource_metadata="(.+)"$/.exec(challenge) ?? [];
    const metadata: unknown = await (await fetch(url)).json();
    t.like(metadata, { resource: `${stack.baseUrl}/mcp`, bearer_methods_supported: ['header'] });
  }
});

test.serial('requests with another origin, another method or a malformed body are refused', async (t) => {
  t.is((await post(LIST, { Origin: 'https://example.com' })).status, 403);
  t.is((await post(LIST, { Origin: stack.baseUrl })).status, 200);
  const url = new URL('/mcp', stack.baseUrl);
  for (const method of ['GET', 'DELETE']) t.is((await fetch(url, { method })).status, 405);
  t.is((await post('{')).status, 400);
  t.is((await post(LIST, { 'Content-Type': 'text/plain' })).status, 415);
  t.is(
    (await post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(100_000)}`)).status,
    422,
  );
});

test.serial('a page whose host name resolves to loopback is refused', async (t) => {
  const { port } = new URL(stack.baseUrl);
  const statusFor = (host: string, origin?: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = {
        Authorization: `Bearer ${account.toolsKey}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        Host: host,
        ...(origin !== undefined && { Origin: origin }),
      };
      request(new URL('/mcp', stack.baseUrl), { method: 'POST', headers, timeout: 10_000 }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end(JSON.stringify(LIST));
    });
  t.is(await statusFor(`page.example:${port}`, `http://page.example:${port}`), 403);
  t.is(await statusFor(`page.example:${port}`), 200, 'a client that is not a browser');
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    t.is(await statusFor(`${host}:${port}`, `http://${host}:${port}`), 200, host);
});

test.serial('after these calls, the audit finds no drift', async (t) => {
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});
