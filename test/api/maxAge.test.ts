import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { closeAccount } from '../../store/accounts/closeAccount.ts';
import { OPERATOR } from '../../store/accounts/securityLog.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { batchesOf, linesOf } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { accountOf, auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { connectMcp } from '../helpers/mcp.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const TOOL = 'web-scrape';
const PRICE = 3;
const CREDITS = 100;
/** Links with long URLs: together more than the operating system buffers for a connection that nobody reads. */
const LONG = { links: 9000, url: 2000 } as const;
const LONG_PAGE = `<base href="http://127.0.0.1/${'x'.repeat(LONG.url)}/">${Array.from(
  { length: LONG.links },
  (_, index) => `<a href="${index}">link</a>`,
).join('')}`;

/** Requests for each path. */
const hits = new Map<string, number>();

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const server = createServer(({ url = '' }, response) => {
  const count = (hits.get(url) ?? 0) + 1;
  hits.set(url, count);
  if (url.endsWith('/broken')) return void response.destroy();
  response.setHeader('Content-Type', 'text/html');
  response.end(`<title>Load ${count}</title><p>Text</p>${url.endsWith('/long') ? LONG_PAGE : ''}`);
});
const target = await listenAsTarget(server);
test.after.always(async () => {
  server.closeAllConnections();
  server.close();
  await store.close();
  await stack.stop();
});

const pageOf = (path: string): string => `http://${target}/${path}`;

interface Given {
  body: string;
  title: unknown;
  charged: string | null;
  from: string | null;
  age: string | null;
  replayed: string | null;
}

async function read(t: ExecutionContext, response: Response): Promise<Given> {
  const { status, headers } = response;
  const body = await response.text();
  t.is(status, 200, body);
  return {
    body,
    title: recordAt(JSON.parse(body)).title,
    charged: headers.get('X-Credits-Charged'),
    from: headers.get('X-Result-From'),
    age: headers.get('Age'),
    replayed: headers.get('Idempotent-Replayed'),
  };
}

const callFor =
  (t: ExecutionContext, account: TestAccount) =>
  async (input: object, headers: Record<string, string> = {}): Promise<Given> =>
    read(t, await account.call(TOOL, input, headers));

test('an equal call is answered from the store at no cost, says so, and is listed', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const call = callFor(t, account);
  const url = pageOf('equal');
  const first = await call({ url, maxAge: 3600 });
  t.like(first, { title: 'Load 1', charged: String(PRICE), from: null, age: null });
  const again = await call({ maxAge: 60, format: 'text', url });
  t.like(again, { title: 'Load 1', charged: '0', replayed: null });
  t.is(again.body, first.body);
  t.regex(again.age ?? '', /^\d{1,2}$/);
  t.is(hits.get('/equal'), 1);

  const listed = await (await account.manage('/api/v1/account/calls')).json();
  const [second, source] = recordsAt(recordAt(listed).items);
  t.is(source?.id, again.from);
  t.like(second, { cost: 0, charged: 0, state: 'charged', code: null, resultFrom: again.from, phases: null });
  t.like(source, { cost: PRICE, charged: PRICE, state: 'charged', resultFrom: null });
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - PRICE);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);

  const receipt = await account.manage(`/api/v1/account/calls/${second?.id}/receipt`);
  const { receipt: signed, outputKey } = recordAt(await receipt.json());
  const claims = recordAt(
    JSON.parse(Buffer.from(String(signed).split('.')[1] ?? '', 'base64url').toString()),
  );
  const key = Buffer.from(String(outputKey), 'base64url');
  const outputDigest = createHmac('sha256', key).update(again.body).digest('base64url');
  t.like(claims, { callId: second?.id, credits: 0, outputDigest });

  await using mcp = await connectMcp(stack.baseUrl, account.toolsKey);
  await mcp.client.listTools();
  const { _meta } = await mcp.client.callTool({ name: TOOL, arguments: { url, maxAge: 60 } });
  t.like(_meta, { charged: 0, resultFrom: again.from });
  t.is(hits.get('/equal'), 1);
});

test('other inputs, other accounts, older results and calls without maxAge run the tool', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const call = callFor(t, account);
  const other = callFor(t, await makeAccount(stack, CREDITS));
  const url = pageOf('others');
  t.is((await call({ url })).title, 'Load 1');
  t.like(await call({ url, maxAge: 60 }), { title: 'Load 2', from: null });
  t.like(await other({ url, maxAge: 60 }), { title: 'Load 3', charged: String(PRICE), from: null });
  t.like(await call({ url, maxAge: 60, includeText: false }), { title: 'Load 4', from: null });
  t.like(await call({ url }), { title: 'Load 5', from: null, age: null });
  t.like(await call({ url, maxAge: 60 }), { title: 'Load 2', charged: '0' });
  const { accountId } = account;
  const madeAt = new Date(Date.now() - 30_000);
  await store.reusableResults.updateMany({ accountId }, { $set: { madeAt } });
  const age = Number((await call({ url, maxAge: 60 })).age);
  t.true(age >= 30 && age <= (Date.now() - madeAt.getTime()) / 1000, `${age} s`);
  t.like(await call({ url, maxAge: 20 }), { title: 'Load 6', from: null });
  t.like(await call({ url, maxAge: 60 }), { title: 'Load 6', charged: '0' });
  for (const maxAge of [0, 72 * 3600 + 1, '60'])
    await isProblem(t, await account.call(TOOL, { url, maxAge }), 'invalid_input');
});

test('without credits, and below its price, a call gets a stored result', async (t) => {
  const account = await makeAccount(stack, PRICE);
  const call = callFor(t, account);
  const url = pageOf('poor');
  await call({ url, maxAge: 60 });
  t.like(await call({ url, maxAge: 60 }, { 'X-Max-Credits': '0' }), { title: 'Load 1', charged: '0' });
  await isProblem(t, await account.call(TOOL, { url }), 'insufficient_credits');
});

test('results of failed, refunded and undelivered calls answer no other call', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const call = callFor(t, account);
  const { accountId } = account;
  const broken = { url: pageOf('broken'), maxAge: 60 };
  for (const loads of [1, 2]) {
    await isProblem(t, await account.call(TOOL, broken), 'target_failed');
    t.true((hits.get('/broken') ?? 0) >= loads);
  }
  t.is(await store.reusableResults.countDocuments({ accountId }), 0);

  const url = pageOf('refunded');
  await call({ url, maxAge: 60 });
  const row = (await callsOf(store, accountId)).find(({ state }) => state === 'charged');
  if (row === undefined) return t.fail();
  const onError = (error: unknown) => t.fail(String(error));
  const [ledger, accounts] = [createLedger(store, onError), createAccounts(store)];
  const paybacks = createPaybacks({ store, ledger, accounts });
  await until('the response is recorded', async () => {
    const now = await store.calls.findOne({ _id: row._id });
    return now?.pendingAnswer === undefined;
  });
  t.true(await paybacks.settle(row, 'internal'));
  t.like(await call({ url, maxAge: 60 }), { title: 'Load 2', charged: String(PRICE), from: null });

  // A caller who does not read the response to its end may still be paid back.
  const body = JSON.stringify({ url: pageOf('long'), maxAge: 60 });
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  const head = `POST /api/v1/tools/${TOOL} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${account.toolsKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.pause();
  socket.write(head + body);
  await until('the result is kept', async () =>
    store.reusableResults.findOne({ accountId, bytes: { $gt: LONG.links * LONG.url } }),
  );
  t.like(await call(JSON.parse(body)), { title: 'Load 2', charged: String(PRICE), from: null });
  socket.destroy();
  t.like(await call(JSON.parse(body)), { title: 'Load 2', charged: '0' });
  await until('the price is returned', async () =>
    (await callsOf(store, accountId)).every(({ pendingAnswer }) => pendingAnswer === undefined),
  );
  t.deepEqual(await auditAccountWhenIdle(store, accountId), []);
});

test('an Idempotency-Key is bound to a stored result, and replays it when that is gone', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const call = callFor(t, account);
  const { accountId } = account;
  const input = { url: pageOf('keyed'), maxAge: 60 };
  const key = { 'Idempotency-Key': 'again' };
  const first = await call(input, { 'Idempotency-Key': 'first' });
  const both = await Promise.all([call(input, key), call(input, key)]);
  for (const answer of both) t.like(answer, { body: first.body, charged: '0' });
  t.is((await callsOf(store, accountId)).length, 2);
  const rows = await store.reusableResults.find({ accountId }).toArray();
  for (const { content } of rows) await store.results.deleteMany({ _id: { $regex: `^${content.id}:` } });
  const replay = await call(input, key);
  t.like(replay, { body: first.body, charged: '0', replayed: 'true', from: both[0]?.from });
  await isProblem(t, await account.call(TOOL, { ...input, maxAge: 61 }, key), 'idempotency_key_mismatch');
  // A result that is gone answers no call, and is replaced.
  t.like(await call(input), { title: 'Load 2', charged: String(PRICE) });
  t.like(await call(input), { title: 'Load 2', charged: '0' });
});

test('jobs and rows of batches are answered from the store, and answer others', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const call = callFor(t, account);
  const { accountId } = account;
  const jobs = jobsOf(account, stack.baseUrl);
  const input = { url: pageOf('job'), maxAge: 60 };
  const { id } = await jobs.create({ tool: TOOL, input });
  t.like(await jobs.ended(id), { state: 'succeeded', charged: PRICE });
  const result = await read(t, await jobs.result(id));
  t.like(result, { title: 'Load 1', charged: String(PRICE), from: null });
  t.like(await call(input), { body: result.body, charged: '0', from: id });

  const { id: second } = await jobs.create({ tool: TOOL, input });
  t.like(await jobs.ended(second), { state: 'succeeded', charged: 0 });
  t.like(await read(t, await jobs.result(second)), { body: result.body, charged: '0', from: id });

  const batches = batchesOf(account, stack.baseUrl);
  const fresh = { ...input, url: pageOf('row') };
  const batch = await batches.create({ tool: TOOL, inputs: [input, fresh, { ...fresh, maxAge: 1 }] });
  const ended = await batches.reached(batch.id);
  t.like(ended.counts, { charged: 3, refused: 0, cancelled: 0 });
  const lines = linesOf(await (await batches.request(`/${batch.id}/results`)).text());
  t.is(lines[0]?.charged, 0);
  const manifest = recordAt(await (await batches.request(`/${batch.id}/manifest`)).json());
  const spent = lines.reduce((sum, { charged }) => sum + Number(charged), 0);
  t.like(manifest, { rows: 3, charged: 3, credits: spent });
  t.is(hits.get('/job'), 1);

  const row = (await callsOf(store, accountId)).find(({ _id }) => _id === lines[0]?.callId);
  t.like(row, { cost: 0, charged: 0, state: 'charged', reused: { callId: id } });
  t.is((await accountOf(store, accountId)).balance, CREDITS - PRICE - spent);
  t.deepEqual(await auditAccountWhenIdle(store, accountId), []);
});

test('what is stored is encrypted, and gone when the account is closed', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const call = callFor(t, account);
  const { accountId, email } = account;
  const input = { url: pageOf('secret'), maxAge: 60 };
  await call(input);
  const [kept, ...more] = await store.reusableResults.find({ accountId }).toArray();
  t.is(more.length, 0);
  t.false(JSON.stringify(kept).includes('secret'));
  const pieces = await store.results
    .find({ _id: { $regex: `^${kept?.content.id}:` } }, { promoteBuffers: true })
    .toArray();
  t.is(pieces.length, 1);
  for (const { data, expiresAt } of pieces) {
    t.false(data.includes('Load 1'));
    t.true(expiresAt.getTime() < Date.now() + 5 * 60_000);
  }
  await closeAccount(store, { accountId, email, actor: OPERATOR });
  t.is(await store.reusableResults.countDocuments({ accountId }), 0);
});
