import { createServer, type ServerResponse } from 'node:http';
import { WorkflowNotFoundError } from '@temporalio/client';
import test from 'ava';
import { RUNNING_JOBS } from '../../activities/callJobs/jobActivities.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { type JobRow, MAX_OPEN_JOBS } from '../../schemas/jobs.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { accountOf, auditAccountWhenIdle, callsOf, untilHeld } from '../helpers/ledgerCheck.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const TEXT = { text: 'abc' };
const HASH = { tool: 'hash-text', input: TEXT };
const PREFER = { Prefer: 'respond-async' };
/** An input whose call the egress guard refuses. */
const REFUSED = { url: 'http://127.0.0.1:9/' };

/** The requests that the target has not answered. */
const open = new Set<ServerResponse>();
let isHolding = false;

/** Code of an error response that repeats the error of another request. */
const codeOf = async (response: Response): Promise<unknown> => (await response.json()).code;

const release = () => {
  for (const response of open) response.end('late');
  open.clear();
};

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const server = createServer((request, response) => {
  if (request.url === '/large') return response.end('x'.repeat(200_000));
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

test('a tool call that prefers it is accepted at once and has the result of the synchronous call', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const accepted = await account.call('hash-text', TEXT, { Prefer: 'wait=10, Respond-Async;q=1' });
  t.is(accepted.status, 202);
  t.is(accepted.headers.get('Preference-Applied'), 'respond-async');
  t.is(accepted.headers.get('X-Credits-Cost'), '1');
  t.is(accepted.headers.get('X-Credits-Charged'), '0');
  const row: JobRow = await accepted.json();
  t.is(accepted.headers.get('Location'), `/api/v1/jobs/${row.id}`);
  t.like(row, { tool: 'hash-text', cost: 1, charged: 0, code: null, metadata: null, callback: null });
  t.is(row.resultUrl, `${stack.baseUrl}/api/v1/jobs/${row.id}/result`);

  t.like(await jobs.ended(row.id), { state: 'succeeded', charged: 1, code: null });
  const result = await jobs.result(row.id);
  t.is(result.status, 200);
  t.is(result.headers.get('X-Credits-Cost'), '1');
  t.is(result.headers.get('X-Credits-Charged'), '1');
  t.is(result.headers.get('X-Credits-Remaining'), '9');
  const synchronous = await account.call('hash-text', TEXT);
  t.is(result.headers.get('Content-Type'), synchronous.headers.get('Content-Type'));
  t.is(await result.text(), await synchronous.text());

  const { items } = await (await account.manage('/api/v1/account/calls')).json();
  t.is(items.length, 2);
  t.like(items[1], { id: row.id, state: 'charged', charged: 1 });
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  t.is((await accountOf(store, account.accountId)).balance, 8);
});

test('requests that do not prefer it are answered as before', async (t) => {
  const account = await makeAccount(stack, 10);
  for (const preference of ['wait=5', 'respond-asynchronously', 'x="respond-async"'])
    t.is((await account.call('hash-text', TEXT, { Prefer: preference })).status, 200, preference);
});

test('the same Idempotency-Key gives the same job, also at the same time', async (t) => {
  const account = await makeAccount(stack, 10);
  const key = { 'Idempotency-Key': 'k' };
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      jobsOf(account, stack.baseUrls[i % stack.baseUrls.length] ?? '').post(HASH, key),
    ),
  );
  t.deepEqual([...new Set(responses.map(({ status }) => status))], [202]);
  t.is(responses.filter(({ headers }) => headers.get('Idempotent-Replayed') === null).length, 1);
  const rows: JobRow[] = await Promise.all(responses.map((response) => response.json()));
  const [id = ''] = new Set(rows.map((row) => row.id));
  t.true(rows.every((row) => row.id === id));

  const jobs = jobsOf(account, stack.baseUrl);
  await jobs.ended(id);
  t.is((await jobs.create(HASH, key)).id, id);
  t.is(((await (await account.call('hash-text', TEXT, { ...key, ...PREFER })).json()) as JobRow).id, id);
  await isProblem(t, await jobs.post({ ...HASH, input: { text: 'other' } }, key), 'idempotency_key_mismatch');
  await isProblem(t, await jobs.post({ ...HASH, metadata: { a: 'b' } }, key), 'idempotency_key_mismatch');
  t.is((await accountOf(store, account.accountId)).balance, 9);
  t.is((await callsOf(store, account.accountId)).length, 1);
});

test('a job that failed keeps or releases its key as a call does', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const refused = { tool: 'http-request', input: REFUSED };
  const key = { 'Idempotency-Key': 'final' };
  const { id } = await jobs.create(refused, key);
  t.like(await jobs.ended(id), { state: 'failed', code: 'target_refused', charged: 0 });
  t.is((await jobs.create(refused, key)).id, id);
});

test('the result of a failed job is the error of the call, with the id of the request that made it', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const accepted = await jobs.post({ tool: 'http-request', input: REFUSED });
  const { id } = await accepted.json();
  await jobs.ended(id);
  const result = await jobs.result(id);
  t.is(result.status, 422);
  t.is(result.headers.get('Content-Type'), 'application/problem+json');
  const problem = await result.json();
  t.is(problem.requestId, accepted.headers.get('X-Request-Id'));
  const synchronous = await (await account.call('http-request', REFUSED)).json();
  t.deepEqual({ ...problem, requestId: '' }, { ...synchronous, requestId: '' });
  t.is(result.headers.get('X-Credits-Charged'), '0');
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  t.is((await accountOf(store, account.accountId)).balance, 10);
});

test('large results, and files as raw bytes, are read like those of calls', async (t) => {
  const account = await makeAccount(stack, 100);
  const jobs = jobsOf(account, stack.baseUrl);
  const large = await jobs.create({ tool: 'http-request', input: { url: `http://${target}/large` } });
  const code = await jobs.create({ tool: 'qr-generate', input: { text: 'abc' } });
  t.like(await jobs.ended(large.id), { state: 'succeeded' });
  t.is((await (await jobs.result(large.id)).json()).body.length, 200_000);

  t.like(await jobs.ended(code.id), { state: 'succeeded' });
  const raw = await jobs.result(code.id, { Accept: 'image/png' });
  t.is(raw.headers.get('Content-Type'), 'image/png');
  const { imageBase64 } = await (await jobs.result(code.id)).json();
  t.is(Buffer.from(await raw.arrayBuffer()).toString('base64'), imageBase64);
});

test('faults of a job are reported before anything is stored', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const faults = await isProblem(
    t,
    await jobs.post({ tool: 'hash-text', input: { txt: 1 } }),
    'invalid_input',
  );
  t.deepEqual(
    [faults.errors]
      .flat()
      .map((fault) => (fault as { pointer: string }).pointer)
      .sort(),
    ['/input/text', '/input/txt'],
  );
  await isProblem(t, await jobs.post({ tool: 'none', input: {} }), 'unknown_tool');
  await isProblem(t, await jobs.post({ ...HASH, more: 1 }), 'invalid_input');
  await isProblem(t, await jobs.post({ ...HASH, metadata: { 'a.b': 'c' } }), 'invalid_input');
  await isProblem(t, await jobs.post(HASH, { 'X-Max-Credits': '0' }), 'price_above_max');
  for (const callbackUrl of ['http://example.com/', 'ftp://localhost/'])
    await isProblem(t, await jobs.post({ ...HASH, callbackUrl }), 'invalid_input');
  await isProblem(t, await jobs.post({ ...HASH, callbackUrl: 'https://10.0.0.1/' }), 'target_refused');
  const secret = { password: 'x', hash: '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy' };
  const refused = await isProblem(
    t,
    await jobs.post({ tool: 'bcrypt-verify', input: secret }),
    'invalid_input',
  );
  t.regex(JSON.stringify(refused.errors), /secrets \(.*password.*\) never are/);
  await isProblem(t, await account.call('bcrypt-verify', secret, PREFER), 'invalid_input');
  const poor = await makeAccount(stack, 0);
  await isProblem(t, await jobsOf(poor, stack.baseUrl).post(HASH), 'insufficient_credits');
  t.is(await store.jobs.countDocuments({ accountId: { $in: [account.accountId, poor.accountId] } }), 0);
});

test.serial(
  'jobs above the share of the account wait without a hold, and end when credits are gone',
  async (t) => {
    const waiting = 2;
    const account = await makeAccount(stack, 100);
    const jobs = jobsOf(account, stack.baseUrl);
    isHolding = true;
    t.teardown(release);
    const rows: JobRow[] = [];
    for (let i = 0; i < RUNNING_JOBS + waiting; i++)
      rows.push(await jobs.create({ tool: 'http-request', input: { url: `http://${target}/` } }));
    await until('the share of the account runs', async () => open.size === RUNNING_JOBS);
    await untilHeld(store, account.accountId, RUNNING_JOBS);
    t.deepEqual(
      (await Promise.all(rows.map(({ id }) => jobs.get(id)))).map(({ state }) => state),
      [...Array(RUNNING_JOBS).fill('running'), ...Array(waiting).fill('queued')],
    );
    const [first, last] = [rows[0]?.id ?? '', rows.at(-1)?.id ?? ''];
    await isProblem(t, await jobs.result(first), 'not_finished');

    // A synchronous call of the same account does not wait for them.
    t.is((await account.call('hash-text', TEXT)).status, 200);
    t.is((await jobs.cancel(last)).status, 204);
    t.like(await jobs.get(last), { state: 'cancelled', code: 'cancelled', charged: 0, startedAt: null });
    t.is(await codeOf(await jobs.result(last)), 'cancelled');

    await store.accounts.updateOne({ _id: account.accountId }, [{ $set: { balance: '$reserved' } }]);
    isHolding = false;
    release();
    const ended = await Promise.all(rows.map(({ id }) => jobs.ended(id)));
    t.deepEqual(
      ended.map(({ state, code }) => code ?? state),
      [...Array(RUNNING_JOBS).fill('succeeded'), 'insufficient_credits', 'cancelled'],
    );
    const refusal = await jobs.result(rows[RUNNING_JOBS]?.id ?? '');
    t.is(refusal.status, 402);
    t.like(await refusal.json(), { code: 'insufficient_credits', available: 0, cost: 2 });
    t.is((await jobs.cancel(first)).status, 204);
    t.is((await jobs.get(first)).state, 'succeeded');
  },
);

test.serial('a job that waits ends as cancelled when its key has been revoked', async (t) => {
  const account = await makeAccount(stack, 100);
  const jobs = jobsOf(account, stack.baseUrl);
  isHolding = true;
  t.teardown(() => {
    isHolding = false;
    release();
  });
  const input = { url: `http://${target}/` };
  for (let i = 0; i < RUNNING_JOBS; i++) await jobs.create({ tool: 'http-request', input });
  await until('the share of the account runs', async () => open.size === RUNNING_JOBS);
  const { id: keyId, key } = await account.addKey({});
  const accepted = await jobs.request(
    '',
    { method: 'POST', body: JSON.stringify({ tool: 'http-request', input }) },
    key,
  );
  const { id }: JobRow = await accepted.json();
  await store.apiKeys.updateOne({ _id: keyId }, { $set: { revokedAt: new Date() } });
  isHolding = false;
  release();
  t.like(await jobs.ended(id), { state: 'cancelled', code: 'cancelled', charged: 0 });
  t.regex(await (await jobs.result(id)).text(), /key of the job was revoked/);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});

test.serial('a running job is cancelled and refunded', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  isHolding = true;
  t.teardown(() => {
    isHolding = false;
    release();
  });
  const { id } = await jobs.create({ tool: 'http-request', input: { url: `http://${target}/` } });
  await until('it runs', async () => open.size === 1);
  const changed = jobs.request(`/${id}?wait=60`);
  t.is((await jobs.cancel(id)).status, 204);
  t.like(await (await changed).json(), { state: 'cancelled', code: 'cancelled', charged: 0 });
  t.is(await codeOf(await jobs.result(id)), 'cancelled');
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  t.is((await accountOf(store, account.accountId)).balance, 10);
});

test('jobs are listed newest first, by state and by the tools of the key', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const hashes = [await jobs.create({ ...HASH, metadata: { order: '7' } }), await jobs.create(HASH)];
  const failing = await jobs.create({ tool: 'http-request', input: REFUSED });
  for (const { id } of [...hashes, failing]) await jobs.ended(id);
  const list = async (query: string, key?: string) => {
    const response = await jobs.request(query, {}, key);
    const { items, nextCursor }: { items: JobRow[]; nextCursor: string | null } = await response.json();
    return { ids: items.map(({ id }) => id), nextCursor, items };
  };
  const [first, second] = hashes.map(({ id }) => id);
  const page = await list('?limit=2');
  t.deepEqual(page.ids, [failing.id, second]);
  const rest = await list(`?cursor=${page.nextCursor}`);
  t.deepEqual(rest.ids, [first]);
  t.deepEqual(rest.items[0]?.metadata, { order: '7' });
  t.deepEqual((await list('?state=failed')).ids, [failing.id]);

  const { key } = await account.addKey({ tools: ['http-request'] });
  t.deepEqual((await list('', key)).ids, [failing.id]);
  t.is((await jobs.request(`/${first}`, {}, key)).status, 404);
  const stranger = jobsOf(await makeAccount(stack, 1), stack.baseUrl);
  for (const path of [`/${first}`, `/${first}/result`])
    await isProblem(t, await stranger.request(path), 'not_found');
  await isProblem(t, await stranger.cancel(first ?? ''), 'not_found');
  await isProblem(t, await jobs.request('', {}, account.accountKey), 'insufficient_scope');
  await isProblem(t, await jobs.request(`/${first}/result`, {}, account.accountKey), 'insufficient_scope');
});

test('inputs and results of jobs are encrypted, and the input is deleted at the end', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const marker = 'find-me-in-the-clear';
  const input = { url: `http://${target}/`, method: 'POST', body: marker };
  const { id } = await jobs.create({ tool: 'http-request', input });
  await jobs.ended(id);
  await until(
    'the input is deleted',
    async () => (await store.results.findOne({ _id: `${id}:input:0` })) === null,
  );
  const job = await store.jobs.findOne({ _id: id });
  const result = await store.results.findOne({ _id: `${id}:output:0` }, { promoteBuffers: true });
  t.false(JSON.stringify(job).includes(marker));
  t.false(result?.data.toString('latin1').includes('statusCode') ?? true);
  t.true((job?.expiresAt.getTime() ?? 0) <= (result?.expiresAt.getTime() ?? 0));

  // When its time is over, it is gone at once. The row of its call stays.
  t.is((job?.expiresAt.getTime() ?? 0) - (job?.endedAt?.getTime() ?? 0), 72 * 3_600_000);
  await store.jobs.updateOne({ _id: id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
  for (const path of [`/${id}`, `/${id}/result`, `/${id}/callbacks`])
    await isProblem(t, await jobs.request(path), 'not_found');
  t.deepEqual((await (await jobs.request('')).json()).items, []);
  t.is((await callsOf(store, account.accountId))[0]?._id, id);
});

test('an account has a bounded number of jobs that wait', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const { id } = await jobs.create(HASH);
  await jobs.ended(id);
  const ended = await store.jobs.findOne({ _id: id });
  if (ended === null) throw new Error('no job');
  // Marked as running long in the future, so that neither the queue nor the sweeper takes them.
  const startedAt = new Date(Date.now() + 3_600_000);
  const waiting = Array.from({ length: MAX_OPEN_JOBS }, (_, i) => ({
    ...ended,
    _id: `${id}-${i}`,
    state: 'running' as const,
    startedAt,
    endedAt: null,
  }));
  await store.jobs.insertMany(waiting);
  await isProblem(t, await jobs.post(HASH), 'limit_reached');
  await store.jobs.deleteMany({ accountId: account.accountId, _id: { $ne: id } });
  t.is((await jobs.post(HASH)).status, 202);
});

test('the history of a job that was not charged is deleted from Temporal', async (t) => {
  const account = await makeAccount(stack, 10);
  const jobs = jobsOf(account, stack.baseUrl);
  const { id } = await jobs.create({ tool: 'http-request', input: REFUSED });
  await jobs.ended(id);
  const env = readEnv(stack.env);
  const client = await connectClient(env, loadKeyring(env));
  t.teardown(() => client.connection.close());
  const gone = until('the history is gone', async () => {
    const error = await client.workflow
      .getHandle(id)
      .describe()
      .then(
        () => null,
        (fault: unknown) => fault,
      );
    return error instanceof WorkflowNotFoundError;
  });
  await t.notThrowsAsync(gone);
});
