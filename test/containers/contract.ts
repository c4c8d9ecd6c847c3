import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Registry } from '../../schemas/registry.ts';
import { type Account, type Client, type Exchange, type HttpResult, useFixture } from './client.ts';
import { step } from './harness.ts';

/** Body of the largest request that the API accepts for hash-text, plus one byte. */
const TOO_LARGE = 1_048_577;
/** Concurrent calls with one Idempotency-Key. */
const CALLS = 20;

/** Program that sends requests to the API of its own container, and prints the responses. */
const DIRECT = `import { request } from 'node:http';
  const ask = ({ method, path, headers, body }) => new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: 8080, method, path, headers, timeout: 60000 }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => { text += part; });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    sent.once('timeout', () => sent.destroy(new Error('no response')));
    sent.once('error', reject);
    sent.end(typeof body === 'number' ? 'a'.repeat(body) : body);
  });
  // One after the other, because a running call changes the credits that others report as remaining.
  const responses = [];
  for (const exchange of JSON.parse(process.argv[1])) responses.push(await ask(exchange));
  console.log(JSON.stringify(responses));`;

/** Headers of one connection, and those that differ with each request or name the proxy. */
const UNCOMPARED = [
  ...['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'via', 'server', 'alt-svc'],
  ...['date', 'x-request-id', 'ratelimit', 'ratelimit-remaining', 'ratelimit-reset'],
];

/** Returns what must be equal with and without the proxy. */
function comparable({ status, headers, text }: Pick<HttpResult, 'status' | 'headers' | 'text'>) {
  const { requestId, ...body } = text === '' ? {} : JSON.parse(text);
  if (requestId !== undefined) assert.equal(headers['x-request-id'], requestId);
  const compared = Object.entries(headers).filter(([name]) => !UNCOMPARED.includes(name));
  return { status, headers: Object.fromEntries(compared.sort()), body };
}

/** Compares the errors of the API through the proxy with those without it. */
export async function testErrors(client: Client): Promise<void> {
  await step('errors are the same through the proxy as without it, and nothing is charged', async () => {
    const { apiKey, accountKey } = await client.createAccount(`${randomUUID()}@example.com`, 10);
    const poor = await client.createAccount(`${randomUUID()}@example.com`, 1);
    const call = (tool: string, body: unknown, headers: Record<string, string> = {}): Exchange => ({
      method: 'POST',
      path: `/api/v1/tools/${tool}`,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' || typeof body === 'number' ? body : JSON.stringify(body),
    });
    const text = { text: 'a' };
    const http = (url: string) => call('http-request', { url });
    const cases: [status: number, code: string, exchange: Exchange][] = [
      [400, 'malformed_json', call('hash-text', '{"text":')],
      [400, 'malformed_json', call('hash-text', '[]')],
      [400, 'invalid_header', call('hash-text', text, { 'idempotency-key': 'two words' })],
      [400, 'invalid_header', call('hash-text', text, { 'x-max-credits': '-1' })],
      [401, 'missing_api_key', { method: 'POST', path: '/api/v1/tools/hash-text', headers: {} }],
      [401, 'invalid_api_key', call('hash-text', text, { authorization: 'Bearer ut_wrong' })],
      [
        402,
        'insufficient_credits',
        call('bcrypt-hash', { password: 'x' }, { authorization: `Bearer ${poor.apiKey}` }),
      ],
      [402, 'price_above_max', call('hash-text', text, { 'x-max-credits': '0' })],
      [403, 'insufficient_scope', call('hash-text', text, { authorization: `Bearer ${accountKey}` })],
      [404, 'unknown_tool', call('hash', text)],
      [404, 'not_found', { method: 'GET', path: '/api/v1/nothing', headers: {} }],
      [405, 'method_not_allowed', { method: 'DELETE', path: '/api/v1/tools', headers: {} }],
      [413, 'body_too_large', call('hash-text', TOO_LARGE)],
      [415, 'unsupported_media_type', call('hash-text', text, { 'content-type': 'text/plain' })],
      [422, 'invalid_input', call('hash-text', { text: 4 })],
      [422, 'target_refused', http('http://mongodb:27017/')],
      [422, 'host_not_found', http('http://nowhere.example.com/')],
      [502, 'target_failed', http('http://example.com:81/')],
    ];
    const direct: Pick<HttpResult, 'status' | 'headers' | 'text'>[] = JSON.parse(
      await client.inside('api', DIRECT, JSON.stringify(cases.map(([, , exchange]) => exchange))),
    );
    for (const [index, [status, code, exchange]] of cases.entries()) {
      const result = await client.exchange(exchange);
      assert.deepEqual([result.status, result.json.code], [status, code], result.text);
      assert.match(String(result.headers['content-type']), /^application\/problem\+json/);
      const expected = direct[index];
      assert.ok(expected !== undefined);
      assert.deepEqual(comparable(result), comparable(expected), code);
    }
    const { json } = await client.send('/api/v1/account', { key: accountKey });
    assert.equal(json.balance, 10);
  });
}

/** Tests Idempotency-Key through the proxy, with any number of API replicas behind it. */
export async function testIdempotency(client: Client, registry: Registry): Promise<void> {
  const [ping, bcrypt] = ['ping', 'bcrypt-hash'].map((name) => registry.get(name));
  assert.ok(ping !== undefined && bcrypt !== undefined);
  const [example] = ping.examples;
  const input = useFixture(ping.pool, example?.input ?? {});
  const initial = 10 * ping.price;
  let account: Account;
  let spent = 0;
  const send = (tool: string, body: unknown, key: string) =>
    client.call(tool, body, { 'Idempotency-Key': key }, account.apiKey);
  const assertBalance = async () => {
    const { json } = await client.send('/api/v1/account', { key: account.accountKey });
    assert.equal(json.balance, initial - spent);
  };
  const isError = ({ status, json, text }: HttpResult, expected: number, code: string) =>
    assert.deepEqual([status, json.code], [expected, code], text);

  await step(`${CALLS} concurrent calls with one Idempotency-Key: one execution, one charge`, async () => {
    account = await client.createAccount(`${randomUUID()}@example.com`, initial);
    // The result of ping contains times, so two executions would have different results.
    const results = await Promise.all(Array.from({ length: CALLS }, () => send('ping', input, 'joined')));
    spent += ping.price;
    assert.deepEqual([...new Set(results.map(({ status }) => status))], [200], results[0]?.text);
    assert.equal(new Set(results.map(({ text }) => text)).size, 1);
    assert.equal(new Set(results.map(({ headers }) => headers['x-request-id'])).size, CALLS);
    const charges = results.map(
      ({ headers }) => `${headers['x-credits-charged']} ${headers['idempotent-replayed']}`,
    );
    assert.deepEqual(charges.sort(), [
      ...Array.from({ length: CALLS - 1 }, () => '0 true'),
      `${ping.price} undefined`,
    ]);
    const later = await send('ping', input, 'joined');
    assert.deepEqual([later.text, later.headers['idempotent-replayed']], [results[0]?.text, 'true']);
    await assertBalance();
  });

  await step(
    'an Idempotency-Key fits one request: its refusal is repeated, another request is refused',
    async () => {
      isError(
        await send('ping', { ...input, host: 'mail.example.com' }, 'joined'),
        422,
        'idempotency_key_mismatch',
      );
      isError(await send('hash-text', { text: 'a' }, 'joined'), 422, 'idempotency_key_mismatch');
      const unknown = { hostname: 'nowhere.example.com', recordType: 'A' };
      const refused = await send('dns-lookup', unknown, 'refused');
      isError(refused, 422, 'host_not_found');
      const again = await send('dns-lookup', unknown, 'refused');
      assert.deepEqual([again.text, again.headers['idempotent-replayed']], [refused.text, 'true']);
      assert.notEqual(again.headers['x-request-id'], refused.headers['x-request-id']);
      await assertBalance();
    },
  );

  await step('an Idempotency-Key with secret inputs is used up by the first call', async () => {
    const body = { password: 'secret' };
    const first = await send('bcrypt-hash', body, 'secret');
    assert.equal(first.status, 200, first.text);
    spent += bcrypt.price;
    isError(await send('bcrypt-hash', body, 'secret'), 409, 'idempotency_key_used');
    await assertBalance();
  });

  await step('an Idempotency-Key can be used again after a refusal for lack of credits', async () => {
    const poor = await client.createAccount(`${randomUUID()}@example.com`, bcrypt.price - 1);
    const attempt = () =>
      client.call('bcrypt-hash', { password: 'x' }, { 'Idempotency-Key': 'poor' }, poor.apiKey);
    isError(await attempt(), 402, 'insufficient_credits');
    const grant = ['adjust', '--account', poor.accountId, '--credits', '1', '--reason', 'test'];
    await client.compose(['exec', '-T', 'api', 'node', 'api/cli/admin.ts', ...grant]);
    const result = await attempt();
    assert.equal(result.status, 200, result.text);
    const { 'x-credits-charged': charged, 'x-credits-remaining': remaining } = result.headers;
    assert.deepEqual([charged, remaining], [String(bcrypt.price), '0']);
  });
}
