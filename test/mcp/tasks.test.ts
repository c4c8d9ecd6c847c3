import { createServer, type ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { batchesOf, linesOf } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { accountOf, auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { connectMcp, messageOf } from '../helpers/mcp.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** SHA-256 of "abc": FIPS 180-2, appendix B.1. */
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const EXTENSION = 'io.modelcontextprotocol/tasks';
const REVISION = '2026-07-28';
const CREDITS = 100;

/** A file that is too large for a conversation. */
const FILE = Buffer.alloc(150_000, 1);
/** Responses of the target that it does not send; it sends only the file. */
const waiting: ServerResponse[] = [];
const target = createServer(({ url }, response) => {
  if (url === '/file') response.setHeader('Content-Type', 'application/pdf').end(FILE);
  else if (url?.startsWith('/text/'))
    response.setHeader('Content-Type', 'text/plain').end('x'.repeat(Number(url.slice(6))));
  else waiting.push(response);
});

const origin = await listenAsTarget(target);
const stack = await useStack();
const store = await openStore(stack.mongodbUri);
test.after.always(async () => {
  target.close();
  target.closeAllConnections();
  await store.close();
  await stack.stop();
});

interface Options {
  /** Whether the request declares that the client handles tasks. */
  declares?: boolean;
  key?: string;
  signal?: AbortSignal;
}

/** A client of MCP that handles tasks, unless it is told not to declare it. */
function clientOf({ toolsKey }: Pick<TestAccount, 'toolsKey'>) {
  async function request(
    method: string,
    params: Json,
    { declares = true, key = toolsKey, signal }: Options = {},
  ): Promise<{ status: number; message: Json }> {
    const _meta = {
      ...(params._meta ?? {}),
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientCapabilities': declares ? { extensions: { [EXTENSION]: {} } } : {},
    };
    const response = await fetch(new URL('/mcp', stack.baseUrl), {
      method: 'POST',
      ...(signal && { signal }),
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': REVISION,
        'Mcp-Method': method,
        ...((params.name ?? params.taskId) !== undefined && {
          'Mcp-Name': String(params.name ?? params.taskId),
        }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    });
    return { status: response.status, message: messageOf(await response.text()) };
  }
  const result = async (method: string, params: Json): Promise<Json> => {
    const { message } = await request(method, params);
    if (message.result === undefined) throw new Error(JSON.stringify(message));
    return recordAt(message, 'result');
  };
  const get = (taskId: unknown): Promise<Json> => result('tasks/get', { taskId: String(taskId) });
  return {
    request,
    result,
    get,
    call: (name: string, args: Json, _meta: Json = {}): Promise<Json> =>
      result('tools/call', { name, arguments: args, _meta }),
    codeOf: async (...args: Parameters<typeof request>): Promise<unknown> =>
      recordAt((await request(...args)).message, 'error').code,
    /** Polls until the task is in a final state. */
    ended: (taskId: unknown): Promise<Json> =>
      until(`task ${taskId} has ended`, async () => {
        const task = await get(taskId);
        return task.status !== 'working' && task;
      }),
  };
}

async function assertCharged(
  t: ExecutionContext,
  { accountId }: TestAccount,
  credits: number,
): Promise<void> {
  t.deepEqual(await auditAccountWhenIdle(store, accountId), []);
  t.is((await accountOf(store, accountId)).balance, CREDITS - credits);
}

const ASYNC = { respondAsync: true };

test('the server declares the extension', async (t) => {
  const { toolsKey } = await makeAccount(stack, CREDITS);
  await using connection = await connectMcp(stack.baseUrl, toolsKey);
  t.deepEqual(connection.client.getServerCapabilities()?.extensions, { [EXTENSION]: {} });
});

test('a call becomes a task on request, which has the result that the call would have had', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  const meta = { ...ASYNC, idempotencyKey: crypto.randomUUID() };
  const created = await client.call('hash-text', { text: 'abc' }, meta);
  t.like(created, { resultType: 'task', _meta: { cost: 1, charged: 0 } });
  t.true(['working', 'completed'].includes(String(created.status)));
  t.true(Number.isInteger(created.ttlMs) && Number.isInteger(created.pollIntervalMs));
  t.true(!Number.isNaN(Date.parse(String(created.createdAt))));
  const task = await client.ended(created.taskId);
  t.like(task, {
    resultType: 'complete',
    taskId: created.taskId,
    status: 'completed',
    result: { structuredContent: { hash: ABC }, _meta: { cost: 1, charged: 1, replayed: false } },
  });
  // The task is a job, and a repetition of the call gives the same one.
  const job = await jobsOf(account, stack.baseUrl).get(String(created.taskId));
  t.like(job, { state: 'succeeded', charged: 1 });
  t.is((await client.call('hash-text', { text: 'abc' }, meta)).taskId, created.taskId);
  t.like(await client.call('hash-text', { text: 'abc' }), { structuredContent: { hash: ABC } });
  await assertCharged(t, account, 2);
});

test('a task whose tool fails is completed with the refusal, and nothing is charged', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  const { taskId } = await client.call('ping', { host: '10.0.0.1' }, ASYNC);
  t.like(await client.ended(taskId), {
    status: 'completed',
    result: { isError: true, structuredContent: { code: 'target_refused', retryable: false } },
  });
  for (const [args, meta, code] of [
    [{ algorithm: 'md5' }, ASYNC, 'invalid_input'],
    [{ text: 'abc' }, { ...ASYNC, maxCredits: 0 }, 'price_above_max'],
    [{ text: 'abc' }, { respondAsync: 'yes' }, 'invalid_input'],
  ] as const)
    t.like(await client.call('hash-text', args, meta), { isError: true, structuredContent: { code } });
  const secret = await client.call('bcrypt-hash', { password: 'x' }, ASYNC);
  t.like(secret, { isError: true, structuredContent: { code: 'invalid_input' } });
  await assertCharged(t, account, 0);
});

test('slow tools become tasks by themselves, unless the client wants to wait', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  // This stack has no worker for slow tools: a task waits without a call, and a call waits for its worker.
  const call = { name: 'word-to-pdf', arguments: { fileUrl: `http://${origin}/letter.docx` } };
  const created = await client.result('tools/call', call);
  t.like(created, { resultType: 'task', status: 'working' });
  t.deepEqual(await callsOf(store, account.accountId), []);
  await client.result('tasks/cancel', { taskId: String(created.taskId) });
  t.is((await client.get(created.taskId)).status, 'cancelled');

  const waits = async (params: Json, declares: boolean): Promise<void> => {
    const before = (await callsOf(store, account.accountId)).length;
    const hangup = new AbortController();
    const { signal } = hangup;
    const answer = client.request('tools/call', params, { declares, signal }).catch(() => null);
    await until('a call waits', async () => (await callsOf(store, account.accountId)).length > before);
    hangup.abort();
    t.is(await answer, null);
  };
  await waits({ ...call, _meta: { respondAsync: false } }, true);
  await waits(call, false);
  await assertCharged(t, account, 0);
});

test('a task that is cancelled is not charged', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  const { taskId } = await client.call('http-request', { url: `http://${origin}/` }, ASYNC);
  await until('the target is requested', async () => waiting.length > 0);
  t.like(await client.get(taskId), { status: 'working', resultType: 'complete' });
  t.is(
    (await client.result('tasks/update', { taskId: String(taskId), inputResponses: {} })).resultType,
    'complete',
  );
  t.is((await client.result('tasks/cancel', { taskId: String(taskId) })).resultType, 'complete');
  const task = await client.ended(taskId);
  t.is(task.status, 'cancelled');
  t.false('result' in task);
  // It has ended.
  await client.result('tasks/cancel', { taskId: String(taskId) });
  await assertCharged(t, account, 0);
});

test('the result of a task links a large file, at the same address each time', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  const { taskId } = await client.call('http-request', { url: `http://${origin}/file` }, ASYNC);
  const [first, second] = [await client.ended(taskId), await client.get(taskId)].map(
    ({ result }) => recordsAt(recordAt(result).content)[0],
  );
  t.like(first, { type: 'resource_link', mimeType: 'application/pdf' });
  for (const link of [first, second]) {
    const response = await fetch(String(link?.uri));
    t.deepEqual(Buffer.from(await response.arrayBuffer()), FILE);
  }
  const job = await store.jobs.findOne({ _id: String(taskId) });
  const piece = await store.results.findOne({ _id: `${taskId}:file:0` });
  t.deepEqual(piece?.expiresAt, job?.expiresAt, 'it is kept as long as the job');
});

test('a batch is a task with its sums and first results', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  const listed = recordsAt((await client.result('tools/list', {})).tools).map(({ name }) => name);
  t.true(listed.includes('run-batch'));
  const inputs = [{ text: 'abc' }, { text: 'def' }, { text: 'x'.repeat(300) }];
  const args = { tool: 'hash_text', inputs };
  const created = await client.call('run_batch', args, { idempotencyKey: 'the-key' });
  t.like(created, { resultType: 'task', _meta: { cost: 3, charged: 0 } });
  t.is((await client.call('run-batch', args, { idempotencyKey: 'the-key' })).taskId, created.taskId);
  const { result, ...task } = await client.ended(created.taskId);
  t.like(task, {
    status: 'completed',
    statusMessage: '3 of 3 rows have ended: 3 charged, 0 failed, 0 cancelled.',
  });
  const batch = recordAt(result, 'structuredContent');
  t.like(batch, { id: created.taskId, state: 'completed', hasMoreResults: false, credits: { charged: 3 } });
  const { request } = batchesOf(account, stack.baseUrl);
  t.deepEqual(batch.results, linesOf(await (await request(`/${created.taskId}/results`)).text()));

  const bad = await client.call('run-batch', { tool: 'hash-text', inputs: [{ text: 'a' }, { txt: 'b' }] });
  t.like(bad, { isError: true, structuredContent: { code: 'invalid_input' } });
  const dear = await client.call('run-batch', args, { maxCredits: 2 });
  t.like(dear, { isError: true, structuredContent: { code: 'price_above_max' } });
  await assertCharged(t, account, 3);
});

test('the results of a batch end before the first large one, which is not read', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  const inputs = [100, 70_000, 100].map((bytes) => ({ url: `http://${origin}/text/${bytes}` }));
  const { taskId } = await client.call('run-batch', { tool: 'http-request', inputs });
  const { result } = await client.ended(taskId);
  const { results, hasMoreResults } = recordAt(result, 'structuredContent');
  t.true(hasMoreResults);
  t.deepEqual(
    recordsAt(results).map(({ row }) => row),
    [0],
  );
});

test('the results of a large batch are cut, and say so', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  const inputs = Array.from({ length: 20 }, (_, index) => ({ text: `${index}`.repeat(500), size: 1000 }));
  const { taskId } = await client.call('run-batch', { tool: 'qr-generate', inputs });
  const { result } = await client.ended(taskId);
  const { results, hasMoreResults } = recordAt(result, 'structuredContent');
  const { length } = recordsAt(results);
  t.true(hasMoreResults === length < 20);
  t.true(JSON.stringify(results).length <= 100 * 1024);
});

test('other accounts and clients that do not handle tasks get errors', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = clientOf(account);
  const { taskId } = await client.call('hash-text', { text: 'abc' }, ASYNC);
  const batch = await client.call('run-batch', { tool: 'hash-text', inputs: [{ text: 'abc' }] });
  const stranger = clientOf(await makeAccount(stack, CREDITS));
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
    for (const id of [taskId, batch.taskId, crypto.randomUUID()])
      t.is(await stranger.codeOf(method, { taskId: String(id) }), -32_602, `${method} ${id}`);
  t.is(await client.codeOf('tasks/get', {}), -32_602);
  t.is(await client.codeOf('tasks/list', {}), -32_601, 'tasks are not listed');
  const limited = await account.addKey({ scope: 'tools', tools: ['qr-generate'] });
  t.is(await client.codeOf('tasks/get', { taskId: String(taskId) }, { key: limited.key }), -32_602);
  t.is(await client.codeOf('tasks/get', { taskId: String(taskId) }, { key: account.accountKey }), -32_603);

  const other = { declares: false };
  for (const [method, params] of [
    ['tasks/get', { taskId: String(taskId) }],
    ['tasks/cancel', { taskId: String(taskId) }],
    ['tools/call', { name: 'hash-text', arguments: { text: 'abc' }, _meta: ASYNC }],
    ['tools/call', { name: 'run-batch', arguments: { tool: 'hash-text', inputs: [{ text: 'abc' }] } }],
  ] as const) {
    const { status, message } = await client.request(method, params, other);
    const error = recordAt(message, 'error');
    t.is(error.code, -32_021, method);
    t.deepEqual(error.data, { requiredCapabilities: { extensions: { [EXTENSION]: {} } } });
    t.is(status, 400);
  }
  await client.ended(taskId);
  await client.ended(batch.taskId);
  await assertCharged(t, account, 2);
});
