import test from 'ava';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { isRecord, type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

const PATH = '/api/v1/account/webhooks';
const LOCAL = 'http://localhost:3000/hook';

let stack: SharedStack;

test.before(async (t) => {
  t.timeout(180_000);
  stack = await useStack();
});
test.after.always(() => stack?.stop());

async function json(response: Response): Promise<Json> {
  const body: unknown = await response.json();
  return isRecord(body) ? body : {};
}

async function problem(response: Response) {
  const { code, errors } = await json(response);
  return { status: response.status, code, pointers: recordsAt(errors).map(({ pointer }) => pointer) };
}

const method = (name: string, body?: Json): RequestInit => ({
  method: name,
  ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
});

const create = async (account: TestAccount, body: Json = { url: LOCAL }) =>
  json(await account.manage(PATH, body));

test('an endpoint can be created, listed, read, changed and deleted', async (t) => {
  const account = await makeAccount(stack, 0);
  const response = await account.manage(PATH, { url: LOCAL, events: ['credits.low'] });
  t.is(response.status, 201);
  const { secret, ...row } = await json(response);
  t.regex(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.like(row, { url: LOCAL, state: 'active', consecutiveFailures: 0, disabledAt: null });
  t.deepEqual(row.events, ['credits.low']);
  t.deepEqual(await json(await account.manage(`${PATH}/${row.id}`)), row);
  t.deepEqual(await json(await account.manage(PATH)), { items: [row], nextCursor: null });

  const changed = await account.manage(
    `${PATH}/${row.id}`,
    undefined,
    method('PATCH', { url: 'http://localhost:4000/', events: null }),
  );
  t.is(changed.status, 200);
  t.like(await json(changed), { id: row.id, url: 'http://localhost:4000/' });
  const all = recordAt({ it: await json(await account.manage(`${PATH}/${row.id}`)) }, 'it').events;
  t.is(Array.isArray(all) && all.length, 8);

  t.is((await account.manage(`${PATH}/${row.id}`, undefined, method('DELETE'))).status, 204);
  t.is((await account.manage(`${PATH}/${row.id}`)).status, 404);
  t.deepEqual(await json(await account.manage(PATH)), { items: [], nextCursor: null });
});

test('another account sees none of the endpoints', async (t) => {
  const [owner, other] = [await makeAccount(stack, 0), await makeAccount(stack, 0)];
  const { id } = await create(owner);
  for (const [path, init] of [
    ['', method('GET')],
    ['', method('PATCH', { events: null })],
    ['', method('DELETE')],
    ['/test', method('POST')],
    ['/enable', method('POST')],
    ['/rotate-secret', method('POST')],
    ['/activate-secret', method('POST')],
    ['/resend', method('POST', { since: '2026-01-01T00:00:00Z' })],
    ['/attempts', method('GET')],
  ] as const) {
    const response = await other.manage(`${PATH}/${id}${path}`, undefined, init);
    t.deepEqual(await problem(response), { status: 404, code: 'not_found', pointers: [] }, path);
  }
  t.is((await owner.manage(`${PATH}/${id}`)).status, 200);
});

test("URLs must be https; http is allowed only for localhost, and never for the service's own ports", async (t) => {
  const account = await makeAccount(stack, 0);
  for (const url of [
    'http://hooks.example.com/',
    'http://127.0.0.1:3000/hook',
    'http://localhost.:3000/hook',
    'ftp://localhost/hook',
    'localhost:3000',
    'https://user:password@hooks.example.com/',
    'not a url',
    '',
  ])
    t.like(
      await problem(await account.manage(PATH, { url })),
      { code: 'invalid_input', pointers: ['/url'] },
      url,
    );
  for (const url of [
    'https://127.0.0.1/hook',
    'https://[::1]/hook',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest',
    'https://localhost.localdomain/',
    'https://localhost./hook',
    'https://localhost%2e/x',
    'https://sub.localhost/hook',
    'https://intranet/',
    'https://localhost:22/',
    ...[stack.baseUrl, stack.internalUrl, `tcp://${stack.temporalAddress}`, stack.mongodbUri].map(
      (own) => `http://localhost:${new URL(own).port}/`,
    ),
  ])
    t.deepEqual(
      await problem(await account.manage(PATH, { url })),
      { status: 422, code: 'target_refused', pointers: [] },
      url,
    );
  for (const url of ['http://localhost/hook', 'https://localhost:8443/hook', 'http://LOCALHOST:3000/'])
    t.is((await account.manage(PATH, { url })).status, 201, url);
});

test('creating an endpoint resolves its host name and sends no request to it', async (t) => {
  const { createServer } = await import('node:net');
  let connections = 0;
  const server = createServer(() => {
    connections += 1;
  });
  const port = await listen(server);
  t.teardown(() => server.close());
  await create(await makeAccount(stack, 0), { url: `http://localhost:${port}/` });
  t.is(connections, 0);
});

test('the 11th endpoint is refused, also under concurrency', async (t) => {
  const account = await makeAccount(stack, 0);
  const answers = await Promise.all(
    Array.from({ length: 13 }, (_, i) => account.manage(PATH, { url: `http://localhost:${4000 + i}/` })),
  );
  t.is(answers.filter(({ status }) => status === 201).length, 10);
  for (const refused of answers.filter(({ status }) => status !== 201))
    t.deepEqual(await problem(refused), { status: 409, code: 'limit_reached', pointers: [] });
});

test('invalid bodies are refused', async (t) => {
  const account = await makeAccount(stack, 0);
  const { id } = await create(account);
  const wrong: [string, RequestInit, string[]][] = [
    ['', method('POST', {}), ['/url']],
    ['', method('POST', { url: `${LOCAL}\ud800` }), ['/url']],
    ['', method('POST', { url: LOCAL, events: ['credits.gone'] }), ['/events/0']],
    ['', method('POST', { url: LOCAL, events: [] }), ['/events']],
    ['', method('POST', { url: LOCAL, secret: 'mine' }), ['/secret']],
    [`/${id}`, method('PATCH', {}), ['']],
    [`/${id}`, method('PATCH', { state: 'active' }), ['/state']],
    [`/${id}/resend`, method('POST', {}), ['']],
    [`/${id}/resend`, method('POST', { since: 'yesterday' }), ['/since']],
    [`/${id}/resend`, method('POST', { since: '2026-01-01T00:00:00Z', deliveryIds: ['dlv_1'] }), ['']],
    [`/${id}/rotate-secret`, method('POST', { force: 'yes' }), ['/force']],
  ];
  for (const [path, init, pointers] of wrong)
    t.deepEqual(
      await problem(await account.manage(`${PATH}${path}`, undefined, init)),
      { status: 422, code: 'invalid_input', pointers },
      `${path} ${init.body}`,
    );
});

test('a key with the scope `tools` has no access to endpoints', async (t) => {
  const account = await makeAccount(stack, 0);
  const headers = { Authorization: `Bearer ${account.toolsKey}` };
  const response = await account.manage(PATH, undefined, { headers });
  t.is((await problem(response)).code, 'insufficient_scope');
});

test('a new secret is used only after its activation; creating another one before that requires force', async (t) => {
  const account = await makeAccount(stack, 0);
  const { id, secret } = await create(account);
  const rotate = (body?: Json) =>
    account.manage(`${PATH}/${id}/rotate-secret`, undefined, method('POST', body));
  const first = await rotate();
  t.is(first.status, 200);
  t.not((await json(first)).secret, secret);
  t.deepEqual(await problem(await rotate({ force: false })), {
    status: 409,
    code: 'rotation_pending',
    pointers: [],
  });
  t.is((await rotate({ force: true })).status, 200);
  const activated = await account.manage(`${PATH}/${id}/activate-secret`, undefined, method('POST'));
  t.is((await json(activated)).id, id);
  t.is((await rotate()).status, 200);
});
