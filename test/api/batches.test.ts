import { createServer, type ServerResponse } from 'node:http';
import test from 'ava';
import { ROWS_BESIDE_CALLS } from '../../activities/batches/runRows.ts';
import { RUNNING_JOBS } from '../../activities/callJobs/jobActivities.ts';
import { type BatchRow, MAX_OPEN_BATCHES } from '../../schemas/batches.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { batchesOf, CSV, linesOf, NDJSON } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { accountOf, auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** An input whose call the egress guard refuses. */
const REFUSED = { url: 'http://127.0.0.1:9/' };

/** The requests that the target has not answered. */
const open = new Set<ServerResponse>();
let isHolding = false;

const release = () => {
  isHolding = false;
  for (const response of open) response.end('late');
  open.clear();
};

const texts = (count: number) => Array.from({ length: count }, (_, i) => ({ text: `text ${i}` }));
const held = (count: number) => Array.from({ length: count }, () => ({ url: `http://${target}/` }));
const counts = (rows: number, charged: number, refused = 0, cancelled = 0): BatchRow['counts'] => ({
  rows,
  open: rows - charged - refused - cancelled,
  charged,
  refused,
  cancelled,
});

/** Checks that the ledger has moved exactly what the batches of the account say. */
async function isSettled(account: TestAccount, granted: number, ...batches: BatchRow[]): Promise<boolean> {
  const charged = batches.reduce((sum, { credits }) => sum + credits.charged, 0);
  const drift = await auditAccountWhenIdle(store, account.accountId);
  const { balance } = await accountOf(store, account.accountId);
  const calls = await callsOf(store, account.accountId);
  const paid = calls.reduce((sum, call) => sum + call.charged, 0);
  return drift.length === 0 && balance === granted - charged && paid === charged;
}

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const server = createServer((_request, response) => {
  if (!isHolding) return response.end('ok');
  return open.add(response);
});
const target = await listenAsTarget(server);
test.after.always(async () => {
  server.closeAllConnections();
  server.close();
  await store.close();
  await stack.stop();
});

test('the rows of a JSON body run, each with a call, a price and an outcome', async (t) => {
  const account = await makeAccount(stack, 100);
  const batches = batchesOf(account, stack.baseUrl);
  const accepted = await batches.post({ tool: 'hash-text', inputs: texts(12), metadata: { order: '7' } });
  t.is(accepted.status, 202);
  const created: BatchRow = await accepted.json();
  t.is(accepted.headers.get('Location'), `/api/v1/batches/${created.id}`);
  t.is(accepted.headers.get('X-Credits-Cost'), '12');
  t.like(created, { state: 'running', counts: counts(12, 0), endedAt: null, metadata: { order: '7' } });
  t.deepEqual(created.credits, { charged: 0, total: 12, max: null });

  const ended = await batches.reached(created.id);
  t.like(ended, { state: 'completed', pauseReason: null, counts: counts(12, 12) });
  t.is(ended.credits.charged, 12);
  t.true(await isSettled(account, 100, ended));
  const calls = await callsOf(store, account.accountId);
  t.is(new Set(calls.map(({ _id }) => _id)).size, 12);
  t.true(calls.every(({ tool, charged }) => tool === 'hash-text' && charged === 1));
  // Rows are read as jobs, and are not in the list of jobs.
  const jobs = jobsOf(account, stack.baseUrl);
  t.is((await jobs.result(calls[0]?._id ?? '')).status, 200);
  t.deepEqual((await (await jobs.request('')).json()).items, []);
});

test('rows of several tools run, and those that fail are not charged', async (t) => {
  const account = await makeAccount(stack, 100);
  const batches = batchesOf(account, stack.baseUrl);
  const lines = [
    { custom_id: 'a', method: 'POST', url: '/api/v1/tools/hash-text', body: { text: 'abc' } },
    { id: 'b', tool: 'http-request', input: { url: `http://${target}/` } },
    { tool: 'http-request', input: REFUSED },
    { tool: 'qr-generate', input: { text: 'x'.repeat(1000) } },
  ];
  const body = lines.map((line) => JSON.stringify(line)).join('\n');
  const accepted = await batches.send(NDJSON, body, {}, '?order=completion');
  t.is(accepted.status, 202);
  const created: BatchRow = await accepted.json();
  t.is(created.order, 'completion');
  const ended = await batches.reached(created.id);
  t.like(ended, { state: 'completed', counts: counts(4, 3, 1) });
  t.true(await isSettled(account, 100, ended));
});

test('rows that run together end as single calls do', async (t) => {
  const account = await makeAccount(stack, 1000);
  const batches = batchesOf(account, stack.baseUrl);
  const calls = [
    { tool: 'hash-text', input: { text: 'abc', algorithm: 'md5' } },
    { tool: 'qr-generate', input: { text: 'abc', size: 1000 } },
    // The code needs more pixels.
    { tool: 'qr-generate', input: { text: 'x'.repeat(1000), size: 64 } },
    // Its input is too large to run together with others.
    { tool: 'hash-text', input: { text: 'y'.repeat(20_000) } },
  ];
  const [hash, code, failing, large] = calls;
  const sent = [...Array.from({ length: 40 }, () => [hash, code, failing]).flat(), large];
  const accepted = await batches.send(NDJSON, sent.map((line) => JSON.stringify(line)).join('\n'));
  const ended = await batches.reached((await accepted.json()).id);
  t.like(ended, { state: 'completed', counts: counts(121, 81, 40) });
  t.true(await isSettled(account, 1000, ended));

  const lines = linesOf(await (await batches.request(`/${ended.id}/results`)).text());
  const expected = await Promise.all(
    calls.map(async ({ tool, input }) => {
      const response = await account.call(tool, input);
      const { requestId: _, ...body } = recordAt(await response.json());
      return { ...body, charged: Number(response.headers.get('X-Credits-Charged')) };
    }),
  );
  for (const [i, line] of lines.entries()) {
    const { requestId: _, ...body } = recordAt(line.output ?? line.error);
    const call = i === 120 ? 3 : i % 3;
    t.deepEqual({ ...body, charged: line.charged }, expected[call], JSON.stringify(calls[call]));
  }
  t.is(lines[2]?.code, 'invalid_input');
  const rows = await callsOf(store, account.accountId);
  const codes = new Map(rows.map(({ _id, code }) => [_id, code]));
  t.true(lines.every(({ callId, code }) => codes.get(String(callId)) === code));
});

test('the rows of CSV run', async (t) => {
  const account = await makeAccount(stack, 10);
  const batches = batchesOf(account, stack.baseUrl);
  const accepted = await batches.send(CSV, 'id,text\n1,abc\n2,"d, e"\n', {}, '?tool=hash-text');
  const ended = await batches.reached((await accepted.json()).id);
  t.like(ended, { state: 'completed', counts: counts(2, 2) });
  t.true(await isSettled(account, 10, ended));
});

test('all bad rows are named, and nothing is stored', async (t) => {
  const account = await makeAccount(stack, 1000);
  const batches = batchesOf(account, stack.baseUrl);
  const inputs = texts(600).map((input, i) => (i % 4 === 3 ? { txt: 'x' } : input));
  const body = await isProblem(t, await batches.post({ tool: 'hash-text', inputs }), 'invalid_input');
  const faults = recordsAt(body.errors);
  t.is(faults.length, 100);
  t.is(body.moreErrors, 50);
  t.true(faults.every(({ pointer }, i) => String(pointer).startsWith(`/inputs/${i * 4 + 3}/`)));

  const twice = ['{"id":"a","tool":"hash-text","input":{"text":"x"}}', '{"id":"a","tool":"none","input":{}}'];
  const unknown = await isProblem(t, await batches.send(NDJSON, twice.join('\n')), 'invalid_input');
  t.deepEqual(unknown.errors, [{ pointer: '/1', message: 'line 2: the id is that of an earlier row' }]);
  const csv = await isProblem(
    t,
    await batches.send(CSV, 'text,algorithm\nabc,sha256\nabc,none\n', {}, '?tool=hash-text'),
    'invalid_input',
  );
  t.regex(
    JSON.stringify(csv.errors),
    /^\[\{"pointer":"\/1\/algorithm","message":"line 3, column algorithm: must be one of/,
  );

  await isProblem(t, await batches.post({ tool: 'none', inputs: [{}] }), 'unknown_tool');
  const secret = { password: 'x', hash: '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy' };
  const refused = await isProblem(
    t,
    await batches.post({ tool: 'bcrypt-verify', inputs: [secret] }),
    'invalid_input',
  );
  t.regex(JSON.stringify(refused.errors), /"\/tool".*secrets \(.*password.*\) never are/);
  for (const options of [{ maxCredits: 0 }, { order: 'random' }, { more: 1 }, { metadata: { 'a.b': 'c' } }])
    await isProblem(
      t,
      await batches.post({ tool: 'hash-text', inputs: texts(1), ...options }),
      'invalid_input',
    );
  const hash = { tool: 'hash-text', inputs: texts(3) };
  await isProblem(t, await batches.post(hash, { 'X-Max-Credits': '2' }), 'price_above_max');
  await isProblem(t, await batches.post({ ...hash, callbackUrl: 'http://example.com/' }), 'invalid_input');
  await isProblem(t, await batches.send('text/plain', 'x'), 'unsupported_media_type');
  await isProblem(t, await batches.send(CSV, 'text\nx\n'), 'invalid_input');
  const poor = await makeAccount(stack, 0);
  await isProblem(t, await batchesOf(poor, stack.baseUrl).post(hash), 'insufficient_credits');
  const { key } = await account.addKey({ tools: ['http-request'] });
  const init = {
    method: 'POST',
    body: JSON.stringify(hash),
    headers: { 'Content-Type': 'application/json' },
  };
  await isProblem(t, await batches.request('', init, key), 'tool_not_allowed');
  await isProblem(t, await batches.request('', init, account.accountKey), 'insufficient_scope');

  const own = { accountId: { $in: [account.accountId, poor.accountId] } };
  await until('all of it is deleted', async () => (await store.batches.countDocuments(own)) === 0);
  t.is(await store.jobs.countDocuments(own), 0);
});

test('the same Idempotency-Key gives the same batch, also at the same time', async (t) => {
  const account = await makeAccount(stack, 100);
  const batches = batchesOf(account, stack.baseUrl);
  const body = { tool: 'hash-text', inputs: texts(3) };
  const key = { 'Idempotency-Key': 'k' };
  const responses = await Promise.all(
    [0, 1].map((i) => batchesOf(account, stack.baseUrls[i] ?? '').post(body, key)),
  );
  const rows: BatchRow[] = await Promise.all(responses.map((response) => response.json()));
  const [id = ''] = new Set(rows.map((row) => row.id));
  t.true(rows.every((row) => row.id === id));
  t.is(responses.filter(({ headers }) => headers.get('Idempotent-Replayed') === null).length, 1);
  t.is((await batches.create(body, key)).id, id);
  await isProblem(t, await batches.post({ ...body, inputs: texts(2) }, key), 'idempotency_key_mismatch');
  const ended = await batches.reached(id);
  t.true(await isSettled(account, 100, ended));
  await until(
    'the rows of the other request are deleted',
    async () => (await store.jobs.countDocuments({ accountId: account.accountId })) === 3,
  );
});

test.serial('a batch keeps the share of its account busy, after single jobs', async (t) => {
  const account = await makeAccount(stack, 1000);
  const batches = batchesOf(account, stack.baseUrl);
  isHolding = true;
  t.teardown(release);
  const { id } = await batches.create({ tool: 'http-request', inputs: held(RUNNING_JOBS + 6) });
  await until('the share of the account runs', async () => open.size === RUNNING_JOBS);
  const jobs = jobsOf(account, stack.baseUrl);
  const single = await jobs.create({ tool: 'http-request', input: held(1)[0] });
  // A synchronous call of the same account does not wait for them.
  t.is((await account.call('hash-text', { text: 'abc' })).status, 200);
  t.like(await batches.get(id), { counts: counts(RUNNING_JOBS + 6, 0) });
  const [first] = open;
  if (first === undefined) throw new Error('nothing runs');
  open.delete(first);
  first.end('ok');
  await until('the job has overtaken rows', async () => (await jobs.get(single.id)).state === 'running');
  t.is(await store.jobs.countDocuments({ batchId: id, state: 'queued' }), 6);
  release();
  const ended = await batches.reached(id);
  t.like(ended, { state: 'completed', counts: counts(RUNNING_JOBS + 6, RUNNING_JOBS + 6) });
  t.is((await jobs.ended(single.id)).state, 'succeeded');
});

test.serial('a paused batch starts no row until it is resumed', async (t) => {
  const account = await makeAccount(stack, 1000);
  const batches = batchesOf(account, stack.baseUrl);
  isHolding = true;
  t.teardown(release);
  const rows = RUNNING_JOBS + 2;
  const { id } = await batches.create({ tool: 'http-request', inputs: held(rows) });
  await until('the share of the account runs', async () => open.size === RUNNING_JOBS);
  t.like(await batches.act(id, 'pause'), { state: 'paused', pauseReason: 'requested', rate: null });
  release();
  await until('the running rows have ended', async () => {
    const { counts } = await batches.get(id);
    return counts.charged === RUNNING_JOBS;
  });
  t.is(await store.jobs.countDocuments({ batchId: id, state: 'queued' }), 2);
  t.like(await batches.get(id), { state: 'paused' });
  t.like(await batches.act(id, 'resume'), { state: 'running', pauseReason: null });
  const ended = await batches.reached(id);
  t.like(ended, { state: 'completed', counts: counts(rows, rows) });
  t.true(await isSettled(account, 1000, ended));
});

test.serial('a cancelled batch ends with its running rows', async (t) => {
  const account = await makeAccount(stack, 1000);
  const batches = batchesOf(account, stack.baseUrl);
  isHolding = true;
  t.teardown(release);
  const { id } = await batches.create({ tool: 'http-request', inputs: held(RUNNING_JOBS + 5) });
  await until('the share of the account runs', async () => open.size === RUNNING_JOBS);
  t.is((await batches.cancel(id)).status, 204);
  t.like(await batches.get(id), { state: 'cancelling', counts: counts(RUNNING_JOBS + 5, 0, 0, 5) });
  release();
  const ended = await batches.reached(id);
  t.like(ended, { state: 'cancelled', counts: counts(RUNNING_JOBS + 5, RUNNING_JOBS, 0, 5) });
  t.true(await isSettled(account, 1000, ended));
  t.is((await batches.cancel(id)).status, 204);
  t.is(await store.jobs.countDocuments({ batchId: id, sealedInput: { $exists: true } }), 0);
});

test('a batch pauses at maxCredits, and goes on with another limit', async (t) => {
  const account = await makeAccount(stack, 100);
  const batches = batchesOf(account, stack.baseUrl);
  const { id } = await batches.create({ tool: 'hash-text', inputs: texts(20), maxCredits: 5 });
  const paused = await batches.reached(id, 'paused');
  t.like(paused, { pauseReason: 'max_credits', counts: counts(20, 5) });
  t.deepEqual(paused.credits, { charged: 5, total: 20, max: 5 });
  t.like(await batches.act(id, 'resume', { maxCredits: 12 }), { credits: { max: 12 } });
  await until('it has used the new limit', async () => (await batches.get(id)).credits.charged === 12);
  await batches.reached(id, 'paused');
  await batches.act(id, 'resume', { maxCredits: null });
  const ended = await batches.reached(id);
  t.like(ended, { state: 'completed', counts: counts(20, 20) });
  t.true(await isSettled(account, 100, ended));
});

test('a batch pauses when credits are gone, and goes on when there are some', async (t) => {
  const account = await makeAccount(stack, 137);
  const batches = batchesOf(account, stack.baseUrl);
  const { id } = await batches.create({ tool: 'hash-text', inputs: texts(230) });
  const paused = await batches.reached(id, 'paused');
  t.is(paused.pauseReason, 'insufficient_credits');
  await until('all credits are spent', async () => (await batches.get(id)).credits.charged === 137);
  t.is((await batches.get(id)).counts.refused, 0);
  const { accountId } = account;
  const more = { accountId, type: 'adjustment', amount: 100, reason: 'test', reference: 'more' } as const;
  await createAccounts(store).grant(more);
  const ended = await batches.reached(id);
  t.like(ended, { state: 'completed', counts: counts(230, 230) });
  t.true(await isSettled(account, 237, ended));
});

test('a batch of rows that run together can be paused and cancelled between them', async (t) => {
  const rows = 1500;
  const account = await makeAccount(stack, rows);
  const batches = batchesOf(account, stack.baseUrl);
  const { id } = await batches.create({ tool: 'hash-text', inputs: texts(rows) });
  const hasMore = (than: number) =>
    until('rows have ended', async () => (await batches.get(id)).counts.charged > than);
  await hasMore(0);
  await batches.act(id, 'pause');
  const paused = await until('no row runs', async () => {
    const waiting = await store.jobs.countDocuments({ batchId: id, state: 'queued' });
    const batch = await batches.get(id);
    return batch.counts.charged + waiting === rows && batch;
  });
  t.like(paused, { state: 'paused', pauseReason: 'requested' });
  t.true(paused.counts.open > 0);
  await batches.act(id, 'resume');
  await hasMore(paused.counts.charged);
  await batches.cancel(id);
  const ended = await batches.reached(id);
  const { charged, cancelled } = ended.counts;
  t.like(ended, { state: 'cancelled', counts: counts(rows, charged, 0, rows - charged) });
  t.true(cancelled > 0);
  t.true(await isSettled(account, rows, ended));
  const manifest = await (await batches.request(`/${id}/manifest`)).json();
  t.like(manifest, { rows, charged, refused: 0, cancelled, credits: charged });
});

// Alone, because rows of all batches rest meanwhile, so that those of other tests take too long on a busy machine.
test.serial('few rows run at the same time while another account calls', async (t) => {
  const rows = 300;
  const [owner, other] = [await makeAccount(stack, rows), await makeAccount(stack, 1_000_000)];
  const batches = batchesOf(owner, stack.baseUrl);
  let isOver = false;
  const call = async () => (await other.call('hash-text', { text: 'beside' })).arrayBuffer();
  await call();
  const callers = Array.from({ length: 3 }, async () => {
    while (!isOver) await call();
  });
  try {
    const { id: batchId } = await batches.create({ tool: 'hash-text', inputs: texts(rows) });
    t.true(await isSettled(owner, rows, await batches.reached(batchId)));
    // The rows of a group start at the same time.
    const groups = await store.jobs
      .aggregate<{ size: number }>([
        { $match: { batchId } },
        { $group: { _id: '$startedAt', size: { $sum: 1 } } },
        { $sort: { size: 1 } },
      ])
      .toArray();
    // Not the largest: on a busy machine, calls can be out of the fast lane for longer than rows wait for the next one.
    const usual = groups[groups.length >> 1]?.size;
    t.true(usual !== undefined && usual <= ROWS_BESIDE_CALLS, `groups have ${usual} rows`);
  } finally {
    isOver = true;
    await Promise.all(callers);
  }
});

test('with onEmptyBalance: stop, the other rows are cancelled', async (t) => {
  const account = await makeAccount(stack, 4);
  const batches = batchesOf(account, stack.baseUrl);
  const { id } = await batches.create({ tool: 'hash-text', inputs: texts(40), onEmptyBalance: 'stop' });
  const ended = await batches.reached(id);
  t.is(ended.state, 'cancelled');
  t.is(ended.counts.charged, 4);
  t.is(ended.counts.charged + ended.counts.refused + ended.counts.cancelled, 40);
  t.true(await isSettled(account, 4, ended));
});

test.serial('a batch whose key is revoked is cancelled', async (t) => {
  const account = await makeAccount(stack, 1000);
  const { id: keyId, key } = await account.addKey({});
  isHolding = true;
  t.teardown(release);
  const own = batchesOf({ toolsKey: key }, stack.baseUrl);
  const { id } = await own.create({ tool: 'http-request', inputs: held(RUNNING_JOBS + 5) });
  await until('the share of the account runs', async () => open.size === RUNNING_JOBS);
  await store.apiKeys.updateOne({ _id: keyId }, { $set: { revokedAt: new Date() } });
  release();
  const ended = await batchesOf(account, stack.baseUrl).reached(id);
  t.like(ended, { state: 'cancelled', counts: counts(RUNNING_JOBS + 5, RUNNING_JOBS, 0, 5) });
  t.true(await isSettled(account, 1000, ended));
});

test.serial('batches are listed by state and by the tools of the key, and limited in number', async (t) => {
  const account = await makeAccount(stack, 1000);
  const batches = batchesOf(account, stack.baseUrl);
  isHolding = true;
  t.teardown(release);
  const ids: string[] = [];
  for (let i = 0; i < MAX_OPEN_BATCHES; i++)
    ids.push((await batches.create({ tool: 'http-request', inputs: held(2) })).id);
  await isProblem(t, await batches.post({ tool: 'hash-text', inputs: texts(1) }), 'limit_reached');
  const { items, nextCursor }: { items: BatchRow[]; nextCursor: string } = await (
    await batches.request('?limit=4')
  ).json();
  t.deepEqual(
    items.map(({ id }) => id),
    ids.slice(-4).reverse(),
  );
  const rest = await (await batches.request(`?limit=100&cursor=${nextCursor}`)).json();
  t.is(rest.items.length, MAX_OPEN_BATCHES - 4);
  for (const id of ids) await batches.cancel(id);
  release();
  for (const id of ids) await batches.reached(id);
  t.is((await (await batches.request('?state=running')).json()).items.length, 0);

  const { key } = await account.addKey({ tools: ['hash-text'] });
  t.is((await (await batches.request('', {}, key)).json()).items.length, 0);
  const [first = ''] = ids;
  await isProblem(t, await batches.request(`/${first}`, {}, key), 'not_found');
  const stranger = batchesOf(await makeAccount(stack, 1), stack.baseUrl);
  await isProblem(t, await stranger.request(`/${first}`), 'not_found');
  await isProblem(t, await stranger.cancel(first), 'not_found');
});
