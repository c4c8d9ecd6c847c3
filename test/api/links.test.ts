import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { readEnv } from '../../schemas/env.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { FILE_PIECE_BYTES } from '../../store/files/fileContents.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { batchesOf, linesOf } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { accountOf, callsOf } from '../helpers/ledgerCheck.ts';
import { callMessage, connectMcp } from '../helpers/mcp.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const CODE = { text: 'https://example.com/', size: 100 };
const LINKED = { ...CODE, output: 'link' };
const HOUR_MS = 3_600_000;

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
test.after.always(async () => {
  await store.close();
  await stack.stop();
});

const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

async function outputOf(t: ExecutionContext, response: Response): Promise<Json> {
  t.is(response.status, 200);
  return recordAt(await response.json());
}

const urlOf = ({ fileUrl }: Json): string => {
  if (typeof fileUrl !== 'string') throw new Error(`no address: ${fileUrl}`);
  return fileUrl;
};

test('a file is downloaded from its address without a key, with its name, whole and in parts', async (t) => {
  const account = await makeAccount(stack, 100);
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const picture = await sharp({ create: { width: 900, height: 900, channels: 3, background: '#000', noise } })
    .png()
    .toBuffer();
  const server = createServer((_, response) => response.end(picture));
  const target = await listenAsTarget(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const input = { fileUrl: `http://${target}/${encodeURIComponent('Näher am Meer')}.png`, text: 'a' };
  const inline = await outputOf(t, await account.call('watermark-image', input));
  t.like(inline, { fileUrl: null, fileExpiresAt: null });
  const bytes = Buffer.from(String(inline.fileBase64), 'base64');
  const size = bytes.length;
  t.true(size > FILE_PIECE_BYTES);

  const linked = await outputOf(
    t,
    await account.call('watermark-image', { ...input, output: 'link' }, { Accept: 'image/png' }),
  );
  t.deepEqual(
    { ...linked, fileUrl: null, fileExpiresAt: null },
    { ...inline, fileBase64: null },
    'the other fields are the same',
  );
  const leftMs = Date.parse(String(linked.fileExpiresAt)) - Date.now();
  t.true(leftMs > 23 * HOUR_MS && leftMs <= 24 * HOUR_MS);
  const url = urlOf(linked);
  t.true(url.startsWith(`${stack.baseUrl}/api/v1/links/`));

  const whole = await fetch(url);
  t.is(whole.status, 200);
  const { headers } = whole;
  t.is(headers.get('Content-Type'), 'image/png');
  t.is(headers.get('Content-Length'), String(size));
  t.is(
    headers.get('Content-Disposition'),
    `attachment; filename="N_her am Meer.png"; filename*=UTF-8''N%C3%A4her%20am%20Meer.png`,
  );
  t.true((await bytesOf(whole)).equals(bytes));
  const head = await fetch(url, { method: 'HEAD' });
  t.is(head.headers.get('Content-Length'), String(size));
  // Ranges are defined for GET only (RFC 9110, section 14.2).
  const headOfPart = await fetch(url, { method: 'HEAD', headers: { Range: 'bytes=0-9' } });
  t.is(headOfPart.status, 200);
  t.is(headOfPart.headers.get('Content-Length'), String(size));

  const edge = FILE_PIECE_BYTES;
  for (const [range, start, end] of [
    ['bytes=0-9', 0, 10],
    [`bytes=${edge - 5}-${edge + 4}`, edge - 5, edge + 5],
    [`bytes=${edge}-`, edge, size],
    ['bytes=-7', size - 7, size],
    [`bytes=5-${size * 2}`, 5, size],
  ] as const) {
    const part = await fetch(url, { headers: { Range: range } });
    t.is(part.status, 206, range);
    t.is(part.headers.get('Content-Range'), `bytes ${start}-${end - 1}/${size}`);
    t.is(part.headers.get('Content-Length'), String(end - start));
    t.true((await bytesOf(part)).equals(bytes.subarray(start, end)), range);
  }
  for (const range of [`bytes=${size}-`, 'bytes=-0']) {
    const none = await fetch(url, { headers: { Range: range } });
    t.is(none.status, 416, range);
    t.is(none.headers.get('Content-Range'), `bytes */${size}`);
  }
  for (const more of [{ Range: 'bytes=0-1,3-4' }, { Range: 'bytes=9-1' }, { Range: 'items=0-1' }])
    t.is((await fetch(url, { headers: more })).status, 200, more.Range);
  const etag = headers.get('ETag') ?? '';
  for (const [condition, status] of [
    [etag, 206],
    ['"other"', 200],
  ] as const)
    t.is((await fetch(url, { headers: { Range: 'bytes=0-1', 'If-Range': condition } })).status, status);
});

test('an address cannot be guessed, changed or listed, and its file is stored encrypted', async (t) => {
  const account = await makeAccount(stack, 10);
  const [one, two] = await Promise.all(
    [1, 2].map(async () => urlOf(await outputOf(t, await account.call('qr-generate', LINKED)))),
  );
  const [first, second] = [new URL(one ?? ''), new URL(two ?? '')];
  const token = first.searchParams.get('token') ?? '';
  const [callId = ''] = first.pathname.split('/').slice(-1);
  const file = recordAt(
    JSON.parse(
      loadKeyring(readEnv(stack.env)).open('link', callId, Buffer.from(token, 'base64url')).toString(),
    ),
  );
  const ended = loadKeyring(readEnv(stack.env))
    .seal('link', callId, Buffer.from(JSON.stringify({ ...file, expiresAt: Date.now() - 1 })))
    .toString('base64url');
  const changed = `${token.slice(0, -3)}${token.endsWith('AAA') ? 'BBB' : 'AAA'}`;
  for (const query of ['', '?token=', `?token=${changed}`, second.search, `?token=${ended}`])
    await isProblem(t, await fetch(`${first.origin}${first.pathname}${query}`), 'not_found');
  await isProblem(t, await fetch(`${first.origin}/api/v1/links`), 'not_found');
  await isProblem(t, await fetch(`${first.origin}/api/v1/links/${randomUUID()}${first.search}`), 'not_found');
  t.is((await fetch(first)).status, 200);

  const { id } = recordAt(file.content);
  const piece = await store.results.findOne({ _id: `${id}:0` }, { promoteBuffers: true });
  t.false(Buffer.from(piece?.data ?? []).includes('PNG'));
});

/** Decrypts what the token of an address says of its file. */
function tokenOf(url: string): Json {
  const { pathname, searchParams } = new URL(url);
  const [callId = ''] = pathname.split('/').slice(-1);
  const sealed = Buffer.from(searchParams.get('token') ?? '', 'base64url');
  return recordAt(JSON.parse(loadKeyring(readEnv(stack.env)).open('link', callId, sealed).toString()));
}

/** When the file of an address expires, in epoch milliseconds. */
async function expiryOf(url: string): Promise<number> {
  const { id } = recordAt(tokenOf(url).content);
  return (await store.results.findOne({ _id: `${id}:0` }))?.expiresAt.getTime() ?? 0;
}

test('the file stays until its address ends when its response was sent, or its job or its row has ended', async (t) => {
  const account = await makeAccount(stack, 10);
  const url = urlOf(await outputOf(t, await account.call('qr-generate', LINKED)));
  await until('the file is kept', async () => (await expiryOf(url)) === tokenOf(url).expiresAt);
  const jobs = jobsOf(account, stack.baseUrl);
  const { id } = await jobs.create({ tool: 'qr-generate', input: LINKED });
  await jobs.ended(id);
  const ofJob = urlOf(await outputOf(t, await jobs.result(id)));
  t.is(await expiryOf(ofJob), Number(tokenOf(ofJob).expiresAt));
  const batches = batchesOf(account, stack.baseUrl);
  const batch = await batches.create({ tool: 'qr-generate', inputs: [LINKED, LINKED] });
  await batches.reached(batch.id);
  const rows = linesOf(await (await batches.request(`/${batch.id}/results`)).text());
  t.is(rows.length, 2);
  for (const { output } of rows) {
    const ofRow = urlOf(recordAt(output));
    t.is(await expiryOf(ofRow), Number(tokenOf(ofRow).expiresAt));
  }
});

/** Serves a file that MCP links, because it is large. */
async function serveFile(t: ExecutionContext): Promise<string> {
  const bytes = randomBytes(4_500_000);
  const server = createServer((_, response) =>
    response.setHeader('Content-Type', 'application/pdf').end(bytes),
  );
  const target = await listenAsTarget(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://${target}/`;
}

test('a replay through MCP repeats the address, and the file ends when it would have ended', async (t) => {
  const account = await makeAccount(stack, 100);
  const input = { url: await serveFile(t) };
  await using connection = await connectMcp(stack.baseUrl, account.toolsKey);
  await connection.client.listTools();
  const call = async (): Promise<string> => {
    const { content } = await connection.client.callTool({
      name: 'http-request',
      arguments: input,
      _meta: { idempotencyKey: 'same' },
    });
    const [link] = recordsAt(content);
    t.like(link, { type: 'resource_link', mimeType: 'application/pdf' });
    return String(link?.uri);
  };
  const first = await call();
  const expiresAt = Number(tokenOf(first).expiresAt);
  await until('the file is kept', async () => (await expiryOf(first)) === expiresAt);
  const again = await call();
  t.deepEqual(tokenOf(again), tokenOf(first));
  t.is(await expiryOf(first), expiresAt);
  t.is((await fetch(again)).status, 200);
});

test('a file that MCP links ends in minutes if the response is lost and the price is returned', async (t) => {
  const account = await makeAccount(stack, 100);
  const input = { url: await serveFile(t) };
  const { headers, body } = callMessage('modern', 'http-request', input);
  const hangup = new AbortController();
  const lost = fetch(new URL('/mcp', stack.baseUrl), {
    method: 'POST',
    headers: { ...headers, Authorization: `Bearer ${account.toolsKey}` },
    body,
    signal: hangup.signal,
  }).then(
    (response) => response.text().catch(() => null),
    () => null,
  );
  const call = await until('the call runs', async () => (await callsOf(store, account.accountId))[0] ?? null);
  // Without a pause: the response follows the last piece of the file within milliseconds.
  const piece = { _id: `${call._id}:file:0` };
  while ((await store.results.findOne(piece, { projection: { _id: 1 } })) === null)
    if ((await callsOf(store, account.accountId))[0]?.state === 'refunded') return t.fail();
  hangup.abort();
  t.is(await lost, null, 'the response was sent before it could be lost');
  await until(
    'the price is returned',
    async () => (await accountOf(store, account.accountId)).balance === 100,
  );
  const expiresAt = (await store.results.findOne(piece))?.expiresAt.getTime() ?? 0;
  t.true(expiresAt < Date.now() + 15 * 60_000);
});

test('a replay and a job repeat the address, and MCP returns it as a link', async (t) => {
  const account = await makeAccount(stack, 10);
  const inline = await outputOf(t, await account.call('qr-generate', CODE));
  const image = Buffer.from(String(inline.imageBase64), 'base64');
  const key = { 'Idempotency-Key': 'link' };
  const first = await (await account.call('qr-generate', LINKED, key)).text();
  const replay = await account.call('qr-generate', LINKED, key);
  t.is(replay.headers.get('Idempotent-Replayed'), 'true');
  t.is(await replay.text(), first);
  await isProblem(t, await account.call('qr-generate', CODE, key), 'idempotency_key_mismatch');

  const jobs = jobsOf(account, stack.baseUrl);
  const { id } = await jobs.create({ tool: 'qr-generate', input: LINKED });
  await jobs.ended(id);
  const result = await outputOf(t, await jobs.result(id));
  t.true((await bytesOf(await fetch(urlOf(result)))).equals(image));

  await using connection = await connectMcp(stack.baseUrl, account.toolsKey);
  await connection.client.listTools();
  const answer = await connection.client.callTool({ name: 'qr-generate', arguments: LINKED });
  const [link] = recordsAt(answer.content);
  t.like(link, { type: 'resource_link', mimeType: 'image/png' });
  t.true((await bytesOf(await fetch(String(link?.uri)))).equals(image));
});

test('the address ends when the price of its call is returned, and when the account is closed', async (t) => {
  const account = await makeAccount(stack, 10);
  const url = urlOf(await outputOf(t, await account.call('qr-generate', LINKED)));
  const later = urlOf(await outputOf(t, await account.call('qr-generate', LINKED)));
  t.is((await fetch(url)).status, 200);
  const row = (await callsOf(store, account.accountId)).find(({ _id }) => url.includes(_id));
  if (row === undefined) return t.fail();
  const onError = (error: unknown) => t.fail(String(error));
  const [ledger, accounts] = [createLedger(store, onError), createAccounts(store)];
  t.true(await createPaybacks({ store, ledger, accounts }).settle(row, 'internal'));
  await isProblem(t, await fetch(url), 'not_found');
  t.is((await fetch(later)).status, 200);
  await store.accounts.updateOne({ _id: account.accountId }, { $set: { closedAt: new Date() } });
  await isProblem(t, await fetch(later), 'not_found');
});
