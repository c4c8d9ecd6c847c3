import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import test from 'ava';
import { RUNNING_JOBS } from '../../activities/callJobs/jobActivities.ts';
import type { BatchManifest } from '../../schemas/batches.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { batchesOf, linesOf, NDJSON } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { callsOf } from '../helpers/ledgerCheck.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** The requests that the target has not answered, by path. */
const open = new Map<string, ServerResponse>();

/** Answers a request when it has arrived. */
const release = (path: string) =>
  until(`${path} has arrived`, async () => open.get(path) ?? null).then((response) => response.end('ok'));

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const server = createServer(({ url = '' }, response) => {
  if (url === '/large') response.end('x'.repeat(200_000));
  else if (url.startsWith('/held')) open.set(url, response);
  else response.end('ok');
});
const target = await listenAsTarget(server);
test.after.always(async () => {
  server.closeAllConnections();
  server.close();
  await store.close();
  await stack.stop();
});

/** Reads an archive with another program than the one that wrote it. Returns the base64 of each file by its name. */
const READ_ZIP = `
import base64, io, json, sys, zipfile
archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(sys.argv[1])))
assert archive.testzip() is None
print(json.dumps({name: base64.b64encode(archive.read(name)).decode() for name in archive.namelist()}))`;

async function unzip(archive: Buffer): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)('python3', ['-c', READ_ZIP, archive.toString('base64')]);
  return JSON.parse(stdout);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test('results are those of the calls, in the order of the input, as lines and as CSV', async (t) => {
  const account = await makeAccount(stack, 100);
  const batches = batchesOf(account, stack.baseUrl);
  const lines = [
    '{"id":"first","tool":"hash-text","input":{"text":"abc"}}',
    '{"tool":"http-request","input":{"url":"http://127.0.0.1:9/"}}',
    `{"tool":"http-request","input":{"url":"http://${target}/large"}}`,
    '{"tool":"qr-generate","input":{"text":"abc"}}',
  ];
  const body = lines.join('\n');
  const { id } = await (await batches.send(NDJSON, body)).json();
  const ended = await batches.reached(id);
  const response = await batches.request(`/${id}/results`);
  t.is(response.headers.get('Content-Type'), NDJSON);
  const rows = linesOf(await response.text());
  t.deepEqual(
    rows.map(({ row, id, tool, state, charged, code }) => ({ row, id, tool, state, charged, code })),
    [
      { row: 0, id: 'first', tool: 'hash-text', state: 'succeeded', charged: 1, code: null },
      { row: 1, id: null, tool: 'http-request', state: 'failed', charged: 0, code: 'target_refused' },
      { row: 2, id: null, tool: 'http-request', state: 'succeeded', charged: 2, code: null },
      { row: 3, id: null, tool: 'qr-generate', state: 'succeeded', charged: 1, code: null },
    ],
  );
  const synchronous = await (await account.call('hash-text', { text: 'abc' })).json();
  t.deepEqual(rows[0]?.output, synchronous);
  t.is(rows[0]?.error, null);
  t.is(rows[1]?.output, null);
  t.like(rows[1]?.error, { code: 'target_refused', status: 422 });
  t.is(String(Object(rows[2]?.output).body).length, 200_000);

  const after = linesOf(await (await batches.request(`/${id}/results?after=1`)).text());
  t.deepEqual(after, rows.slice(2));
  const completed = linesOf(await (await batches.request(`/${id}/results?order=completion`)).text());
  const numbers = completed.map(({ seq }) => Number(seq));
  t.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  t.is(new Set(completed.map(({ row }) => row)).size, 4);
  const [first] = numbers;
  const rest = linesOf(
    await (await batches.request(`/${id}/results?order=completion&after=${first}`)).text(),
  );
  t.deepEqual(rest, completed.slice(1));

  const csv = await batches.request(`/${id}/results`, { headers: { Accept: 'text/csv' } });
  t.is(csv.headers.get('Content-Type'), 'text/csv; charset=utf-8');
  const [head = '', line = ''] = (await csv.text()).split('\r\n');
  t.is(head, 'row,id,callId,tool,state,charged,code,detail,endedAt,output');
  t.regex(line, /^0,first,[0-9a-f-]{36},hash-text,succeeded,1,,,.*ba7816bf/);

  const manifest: BatchManifest = await (await batches.request(`/${id}/manifest`)).json();
  t.like(manifest, { id, state: 'completed', rows: 4, charged: 3, refused: 1, cancelled: 0 });
  t.is(manifest.credits, ended.credits.charged);
  t.deepEqual(manifest.input, { sha256: sha256(body), bytes: Buffer.byteLength(body) });
  const digests = rows.flatMap(({ row, output }) =>
    output === null ? [] : [`${row} ${sha256(JSON.stringify(output))}\n`],
  );
  t.deepEqual(manifest.output, { sha256: sha256(digests.join('')), missing: 0 });
  t.deepEqual(
    manifest.tools.map(({ name, rows, credits }) => [name, rows, credits]),
    [
      ['hash-text', 1, 1],
      ['http-request', 2, 2],
      ['qr-generate', 1, 1],
    ],
  );

  const zip = await batches.request(`/${id}/files.zip`);
  t.is(zip.headers.get('Content-Type'), 'application/zip');
  t.deepEqual(await unzip(Buffer.from(await zip.arrayBuffer())), {
    '00003-qr-generate.png': Object(rows[3]?.output).imageBase64,
  });

  await store.results.deleteMany({ _id: { $regex: `^${rows[0]?.callId}:` } });
  const gone = linesOf(await (await batches.request(`/${id}/results`)).text());
  t.like(gone[0], { state: 'succeeded', charged: 1, output: null, error: null });
  const callId = String(rows[0]?.callId);
  await isProblem(t, await jobsOf(account, stack.baseUrl).result(callId), 'not_found');
  t.true((await callsOf(store, account.accountId)).some(({ _id }) => _id === callId));

  await store.batches.updateOne({ _id: id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
  for (const path of ['', '/events', '/results', '/files.zip', '/manifest', '/callbacks'])
    await isProblem(t, await batches.request(`/${id}${path}`), 'not_found');
});

test('while a batch runs, results come up to the first open row, or as they end', async (t) => {
  const account = await makeAccount(stack, 100);
  const batches = batchesOf(account, stack.baseUrl);
  const inputs = ['/a', '/held-1', '/b', '/c'].map((path) => ({ url: `http://${target}${path}` }));
  const { id } = await batches.create({ tool: 'http-request', inputs });
  await until('all others have ended', async () => (await batches.get(id)).counts.charged === 3);
  const rowsOf = async (query: string) =>
    linesOf(await (await batches.request(`/${id}/results${query}`)).text()).map(({ row }) => Number(row));
  t.deepEqual(await rowsOf(''), [0]);
  t.deepEqual((await rowsOf('?order=completion')).sort(), [0, 2, 3]);
  await isProblem(t, await batches.request(`/${id}/manifest`), 'not_finished');
  await isProblem(t, await batches.request(`/${id}/results?after=-1`), 'invalid_input');
  await release('/held-1');
  await batches.reached(id);
  t.deepEqual(await rowsOf(''), [0, 1, 2, 3]);
});

interface Event {
  event: string;
  id: string;
  data: { state: string; revision?: number; counts: { charged: number } };
}

const eventsOf = (text: string): Event[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [, event = '', id = '', data = ''] = /^event: (\w+)\nid: (\d+)\ndata: (.+)$/.exec(block) ?? [];
      return { event, id, data: JSON.parse(data) };
    });

test('events follow a batch to its end, and continue after the last one that was received', async (t) => {
  const account = await makeAccount(stack, 100);
  const batches = batchesOf(account, stack.baseUrl);
  const inputs = ['/held-2', '/d'].map((path) => ({ url: `http://${target}${path}` }));
  const { id } = await batches.create({ tool: 'http-request', inputs });
  const stream = batches.request(`/${id}/events`);
  await until('a row has ended', async () => (await batches.get(id)).counts.charged === 1);
  await release('/held-2');
  const response = await stream;
  t.regex(response.headers.get('Content-Type') ?? '', /^text\/event-stream/);
  const events = eventsOf(await response.text());
  t.is(events[0]?.event, 'progress');
  t.like(events.at(-1), { event: 'end', data: { state: 'completed', counts: { charged: 2 } } });
  const ids = events.map((event) => Number(event.id));
  t.deepEqual(
    ids,
    [...new Set(ids)].sort((a, b) => a - b),
  );

  const since = (last: string) => batches.request(`/${id}/events`, { headers: { 'Last-Event-ID': last } });
  t.deepEqual(eventsOf(await (await since(events[0]?.id ?? '')).text()), events.slice(-1));
  t.is((await since(events.at(-1)?.id ?? '')).status, 204);
});

async function withReceiver(use: (receiver: Receiver) => Promise<void>): Promise<void> {
  const receiver = await startReceiver();
  try {
    await use(receiver);
  } finally {
    receiver.close();
  }
}

test('the pause and the end of a batch are posted once each, and listed', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 100);
    const batches = batchesOf(account, stack.baseUrl);
    const inputs = Array.from({ length: RUNNING_JOBS }, (_, i) => ({ text: `${i}` }));
    const options = { maxCredits: 3, callbackUrl: receiver.url, metadata: { order: '7' } };
    const { id } = await batches.create({ tool: 'hash-text', inputs, ...options });
    const [paused] = await receiver.until(1);
    t.is(paused?.headers['x-service-event'], 'batch.paused');
    t.like(JSON.parse(paused?.body ?? ''), {
      event: 'batch.paused',
      data: { id, state: 'paused', pauseReason: 'max_credits', metadata: { order: '7' } },
    });
    await batches.act(id, 'resume', { maxCredits: null });
    const [, completed] = await receiver.until(2);
    const ended = await batches.reached(id);
    t.like(JSON.parse(completed?.body ?? ''), {
      event: 'batch.completed',
      data: { id, state: 'completed', counts: ended.counts, endedAt: ended.endedAt },
    });
    const listed = await until('both are delivered', async () => {
      const { items } = await (await batches.request(`/${id}/callbacks`)).json();
      return items.every(({ state }: { state: string }) => state === 'delivered') && items;
    });
    t.is(listed.length, 2);
    t.like(listed[0], { event: 'batch.completed', attempts: 1, statusCode: 200, url: receiver.url });
    t.is(listed[0].id, completed?.headers['webhook-id']);
    t.is(receiver.received.length, 2);
  }));
