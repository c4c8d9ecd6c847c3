import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import test from 'ava';
import sharp from 'sharp';
import { RUNNING_JOBS } from '../../activities/callJobs/jobActivities.ts';
import { type FileRow, MAX_FILE_BYTES } from '../../schemas/files.ts';
import type { JobRow } from '../../schemas/jobs.ts';
import { FILE_PIECE_BYTES } from '../../store/files/fileContents.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { batchesOf, linesOf } from '../helpers/batches.ts';
import { filesOf } from '../helpers/files.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { makePdf, ONE_PAGE } from '../helpers/pdf.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const PDF = makePdf({ objects: ONE_PAGE });
const MB = 1024 * 1024;

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
test.after.always(async () => {
  await store.close();
  await stack.stop();
});

const usageOf = async (account: TestAccount): Promise<unknown> =>
  (await (await account.manage('/api/v1/account')).json()).files;
const EMPTY = { count: 0, storedBytes: 0, maxStoredBytes: null };

async function piecesOf(id: string) {
  const row = await store.files.findOne({ _id: id });
  if (row === null) throw new Error(`no file ${id}`);
  const { content } = row;
  const ids = Array.from({ length: content.pieces }, (_, piece) => `${content.id}:${piece}`);
  return store.results.find({ _id: { $in: ids } }, { promoteBuffers: true }).toArray();
}

test('a file is stored encrypted, described by its content, and deleted without a trace', async (t) => {
  const account = await makeAccount(stack, 10);
  const files = filesOf(account, stack.baseUrl);
  const marker = randomUUID();
  const bytes = Buffer.concat([PDF, Buffer.from(marker), Buffer.alloc(3 * FILE_PIECE_BYTES), randomBytes(9)]);
  const sent = Date.now();
  const response = await files.post(new Uint8Array(bytes), { 'Content-Type': 'text/plain' });
  t.is(response.status, 201);
  const row: FileRow = await response.json();
  t.is(response.headers.get('Location'), `/api/v1/files/${row.id}`);
  t.deepEqual(row, {
    id: row.id,
    name: null,
    sizeBytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    type: 'application/pdf',
    expiresAt: row.expiresAt,
  });
  const keptMs = Date.parse(row.expiresAt) - sent;
  t.true(keptMs >= 24 * 3_600_000 && keptMs < 25 * 3_600_000);
  t.deepEqual(await (await files.get(row.id)).json(), row);
  t.deepEqual(await usageOf(account), { ...EMPTY, count: 1, storedBytes: bytes.length });

  const pieces = await piecesOf(row.id);
  t.is(pieces.length, 4);
  for (const { data, expiresAt } of pieces) {
    t.false(Buffer.from(data).includes(marker));
    t.true(expiresAt.getTime() >= Date.parse(row.expiresAt));
  }
  t.false(JSON.stringify(await store.files.findOne({ _id: row.id })).includes(marker));
  const ttl = (await store.files.indexes()).find(({ expireAfterSeconds }) => expireAfterSeconds === 0);
  t.deepEqual(ttl?.key, { expiresAt: 1 });

  t.is((await files.delete(row.id)).status, 204);
  await isProblem(t, await files.get(row.id), 'not_found');
  await isProblem(t, await files.delete(row.id), 'not_found');
  t.is(await store.results.countDocuments({ _id: { $in: pieces.map(({ _id }) => _id) } }), 0);
  t.deepEqual(await usageOf(account), EMPTY);
});

test('a form with one file is the same as its bytes, and its name is stored encrypted', async (t) => {
  const account = await makeAccount(stack, 10);
  const files = filesOf(account, stack.baseUrl);
  const name = `${randomUUID()}.pdf`;
  const row = await files.create(PDF, `C:\\folder\\${name}`);
  t.like(row, { name, sizeBytes: PDF.length, sha256: createHash('sha256').update(PDF).digest('hex') });
  t.false(JSON.stringify(await store.files.findOne({ _id: row.id })).includes(name));

  const other = new FormData();
  other.append('document', new Blob([new Uint8Array(PDF)]), 'a.pdf');
  t.like(await isProblem(t, await files.post(other), 'invalid_input'), {
    errors: [{ pointer: '/document' }],
  });
  const two = new FormData();
  for (const part of ['a.pdf', 'b.pdf']) two.append('file', new Blob([new Uint8Array(PDF)]), part);
  await isProblem(t, await files.post(two), 'invalid_input');
  await isProblem(t, await files.post(''), 'invalid_input');
  await isProblem(t, await files.post('x', { 'Content-Encoding': 'gzip' }), 'unsupported_media_type');
  t.like(await usageOf(account), { count: 1 });
});

test('the files of an account are listed in pages, with their names, and those of others are not', async (t) => {
  const [account, other] = [await makeAccount(stack, 10), await makeAccount(stack, 10)];
  const files = filesOf(account, stack.baseUrl);
  const rows: FileRow[] = [];
  for (const name of ['a.pdf', 'b.pdf', 'c.pdf']) rows.unshift(await files.create(PDF, name));
  await filesOf(other, stack.baseUrl).create(PDF, 'other.pdf');
  const first = await (await files.list('?limit=2')).json();
  t.deepEqual(first.items, rows.slice(0, 2));
  const second = await (await files.list(`?limit=2&cursor=${first.nextCursor}`)).json();
  t.deepEqual(second, { items: rows.slice(2), nextCursor: null });
  await isProblem(t, await files.list('?cursor=x'), 'invalid_input');
  await isProblem(t, await account.manage('/api/v1/files'), 'insufficient_scope');
});

test('every tool that reads a file takes its id, also in jobs and batches, and derives names from it', async (t) => {
  const account = await makeAccount(stack, 100);
  const files = filesOf(account, stack.baseUrl);
  const { id: fileUrl } = await files.create(PDF, 'report.pdf');
  const direct = await account.call('pdf-metadata', { fileUrl });
  t.is(direct.status, 200);
  const metadata = await direct.json();
  t.like(metadata, { title: 'Hello', pageCount: 1 });

  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const image = await sharp({ create: { width: 900, height: 900, channels: 3, background: '#000', noise } })
    .png()
    .toBuffer();
  t.true(image.length > FILE_PIECE_BYTES);
  const picture = await files.create(image, 'Näher am Meer.png');
  t.is(picture.type, 'image/png');
  const marked = await account.call('watermark-image', { fileUrl: picture.id, text: 'a' });
  t.is(marked.status, 200);
  const { fileBase64, ...fields } = await marked.json();
  t.is(fields.fileName, 'Näher am Meer.png');
  t.is((await sharp(Buffer.from(fileBase64, 'base64')).metadata()).width, 900);

  const jobs = jobsOf(account, stack.baseUrl);
  const { id } = await jobs.create({ tool: 'pdf-metadata', input: { fileUrl } });
  t.like(await jobs.ended(id), { state: 'succeeded' });
  t.deepEqual(await (await jobs.result(id)).json(), metadata);

  const batches = batchesOf(account, stack.baseUrl);
  const batch = await batches.create({ tool: 'pdf-metadata', inputs: [{ fileUrl }, { fileUrl }] });
  t.like(await batches.reached(batch.id), { counts: { rows: 2, charged: 2 } });
  for (const { output } of linesOf(await (await batches.request(`/${batch.id}/results`)).text()))
    t.deepEqual(output, metadata);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});

test('a call takes its file as a form, which is the same as an upload and leaves nothing', async (t) => {
  const account = await makeAccount(stack, 100);
  const image = (background: string) =>
    sharp({ create: { width: 90, height: 60, channels: 3, background } })
      .png()
      .toBuffer();
  const send = (bytes: Buffer, fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append('file', new Blob([new Uint8Array(bytes)]), 'sea.png');
    return fetch(`${stack.baseUrl}/api/v1/tools/watermark-image`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.toolsKey}`, ...headers },
      body: form,
    });
  };
  const [blue, red] = [await image('#00f'), await image('#f00')];
  const fields = { text: 'a', opacity: '0.5' };
  const key = { 'Idempotency-Key': 'form' };
  const first = await send(blue, fields, key);
  t.is(first.status, 200);
  const output = await first.json();
  t.is(output.fileName, 'sea.png');
  const { id: fileUrl } = await filesOf(account, stack.baseUrl).create(blue, 'sea.png');
  const uploaded = await account.call('watermark-image', { fileUrl, text: 'a', opacity: 0.5 });
  t.deepEqual(await uploaded.json(), output);

  const replay = await send(blue, fields, key);
  t.is(replay.headers.get('Idempotent-Replayed'), 'true');
  t.deepEqual(await replay.json(), output);
  await isProblem(t, await send(red, fields, key), 'idempotency_key_mismatch');
  const faulty = { opacity: 'half', fontSize: '3' };
  const { errors } = await isProblem(t, await send(red, faulty), 'invalid_input');
  t.deepEqual(
    recordsAt(errors)
      .map(({ pointer }) => pointer)
      .sort(),
    ['/fontSize', '/opacity', '/text'],
  );
  await isProblem(t, await send(red, { ...fields, fileUrl }), 'invalid_input');
  await isProblem(t, await send(red, { ...fields, text: 'a'.repeat(70_000) }), 'body_too_large');
  await until('only the uploaded file is stored', async () => {
    const row = await store.files.find({ accountId: account.accountId }).toArray();
    return row.length === 1 && row[0]?._id === fileUrl;
  });
  t.is((await callsOf(store, account.accountId)).length, 2);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});

test('a call that prefers to be answered asynchronously takes its file as a form too', async (t) => {
  const account = await makeAccount(stack, 100);
  const jobs = jobsOf(account, stack.baseUrl);
  const send = (bytes: Buffer, fields: Record<string, string> = {}, headers: Record<string, string> = {}) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append('file', new Blob([new Uint8Array(bytes)]), 'report.pdf');
    return fetch(`${stack.baseUrl}/api/v1/tools/pdf-metadata`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.toolsKey}`, Prefer: 'respond-async', ...headers },
      body: form,
    });
  };
  const key = { 'Idempotency-Key': 'form' };
  const accepted = await send(PDF, {}, key);
  t.is(accepted.status, 202);
  t.is(accepted.headers.get('Preference-Applied'), 'respond-async');
  const { id }: JobRow = await accepted.json();
  t.like(await jobs.ended(id), { tool: 'pdf-metadata', state: 'succeeded' });
  t.like(await (await jobs.result(id)).json(), { title: 'Hello', pageCount: 1 });

  const replay = await send(PDF, {}, key);
  t.is(replay.headers.get('Idempotent-Replayed'), 'true');
  t.is((await replay.json()).id, id);
  await isProblem(t, await send(Buffer.concat([PDF, PDF]), {}, key), 'idempotency_key_mismatch');
  const { errors } = await isProblem(t, await send(PDF, { pages: 'all' }), 'invalid_input');
  t.like(recordsAt(errors), [{ pointer: '/pages' }]);
  // That of the job is an upload like others; those of the other requests are deleted.
  await until(
    'one file is stored',
    async () => (await store.files.countDocuments({ accountId: account.accountId })) === 1,
  );
  const { items }: { items: FileRow[] } = await (await filesOf(account, stack.baseUrl).list()).json();
  t.like(items, [{ name: 'report.pdf', sizeBytes: PDF.length }]);
  t.is((await callsOf(store, account.accountId)).length, 1);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});

test('the id of a file of another account is refused before anything runs, as that of a file that never was', async (t) => {
  const owner = await makeAccount(stack, 10);
  const { id } = await filesOf(owner, stack.baseUrl).create(PDF);
  const account = await makeAccount(stack, 10);
  const files = filesOf(account, stack.baseUrl);
  for (const fileUrl of [id, `file_${randomUUID()}`]) {
    await isProblem(t, await files.get(fileUrl), 'not_found');
    await isProblem(t, await files.delete(fileUrl), 'not_found');
    await isProblem(t, await account.call('pdf-metadata', { fileUrl }), 'not_found');
    const input = { fileUrl };
    await isProblem(
      t,
      await jobsOf(account, stack.baseUrl).post({ tool: 'pdf-metadata', input }),
      'not_found',
    );
    const batch = await batchesOf(account, stack.baseUrl).post({ tool: 'pdf-metadata', inputs: [input] });
    t.like(await isProblem(t, batch, 'invalid_input'), { errors: [{ pointer: '/inputs/0/fileUrl' }] });
  }
  t.like(await isProblem(t, await account.call('pdf-metadata', { fileUrl: 'file_x' }), 'invalid_input'), {
    errors: [{ pointer: '/fileUrl' }],
  });
  t.deepEqual(await callsOf(store, account.accountId), []);
  t.is((await owner.call('pdf-metadata', { fileUrl: id })).status, 200);
});

test('a file that has expired is gone at once, and a replay still has its result', async (t) => {
  const account = await makeAccount(stack, 10);
  const files = filesOf(account, stack.baseUrl);
  const { id: fileUrl } = await files.create(PDF);
  const key = { 'Idempotency-Key': 'before' };
  const first = await (await account.call('pdf-metadata', { fileUrl }, key)).text();
  await store.files.updateOne({ _id: fileUrl }, { $set: { expiresAt: new Date(Date.now() - 1) } });
  await isProblem(t, await files.get(fileUrl), 'not_found');
  await isProblem(t, await account.call('pdf-metadata', { fileUrl }), 'not_found');
  t.deepEqual(await usageOf(account), EMPTY);
  const replay = await account.call('pdf-metadata', { fileUrl }, key);
  t.is(replay.headers.get('Idempotent-Replayed'), 'true');
  t.is(await replay.text(), first);
});

test('a job whose file is deleted while it waits fails and is not charged', async (t) => {
  const account = await makeAccount(stack, 100);
  const [files, jobs] = [filesOf(account, stack.baseUrl), jobsOf(account, stack.baseUrl)];
  const held: ServerResponse[] = [];
  const server = createServer((_, response) => held.push(response));
  const target = await listenAsTarget(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const input = { url: `http://${target}/` };
  for (let job = 0; job < RUNNING_JOBS; job++) await jobs.create({ tool: 'http-request', input });
  await until('the pool is taken', async () => held.length === RUNNING_JOBS);
  const { id: fileUrl } = await files.create(PDF);
  const { id } = await jobs.create({ tool: 'pdf-metadata', input: { fileUrl } });
  t.is((await files.delete(fileUrl)).status, 204);
  for (const response of held) response.end('late');
  t.like(await jobs.ended(id), { state: 'failed', code: 'not_found', charged: 0 });
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});

/** Sends the start of a request, and returns the connection. */
function sendPart(account: TestAccount, headers: string, body: Buffer) {
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(
    `POST /api/v1/files HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${account.toolsKey}\r\n${headers}\r\n\r\n`,
  );
  socket.write(body);
  return socket;
}

/** Full pieces of uploads that have not ended: only these expire so soon. */
const openPieces = (): Promise<number> =>
  store.results.countDocuments({
    expiresAt: { $lt: new Date(Date.now() + 11 * 60_000) },
    $expr: {
      $and: [
        { $gt: [{ $binarySize: '$data' }, FILE_PIECE_BYTES] },
        { $lt: [{ $binarySize: '$data' }, FILE_PIECE_BYTES + 100] },
      ],
    },
  });

test.serial('nothing stays of a body that breaks off', async (t) => {
  const account = await makeAccount(stack, 10);
  const before = await openPieces();
  const part = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
  const [half, rest] = [Buffer.alloc(2 * FILE_PIECE_BYTES, 'a'), '\r\n--b'];
  const broken: [string, Buffer][] = [
    [`Content-Length: ${4 * MB}`, half],
    [
      `Content-Length: ${4 * MB}\r\nContent-Type: multipart/form-data; boundary=b`,
      Buffer.concat([part, half, Buffer.from(rest)]),
    ],
    ['Transfer-Encoding: chunked', Buffer.concat([Buffer.from(`${half.length.toString(16)}\r\n`), half])],
  ];
  for (const [headers, body] of broken) {
    const socket = sendPart(account, headers, body);
    await until('a piece is stored', async () => (await openPieces()) > before);
    socket.destroy();
    await until('it is deleted', async () => (await openPieces()) === before);
  }
  // A form that ends without its last boundary is complete as a request.
  const form = Buffer.concat([part, half, Buffer.from(rest)]);
  const type = { 'Content-Type': 'multipart/form-data; boundary=b' };
  await isProblem(
    t,
    await filesOf(account, stack.baseUrl).post(new Uint8Array(form), type),
    'malformed_json',
  );
  t.is(await openPieces(), before);
  t.is(await store.files.countDocuments({ accountId: account.accountId }), 0);
});

test.serial('a file above the limit is refused, and nothing stays of it', async (t) => {
  const account = await makeAccount(stack, 10);
  const files = filesOf(account, stack.baseUrl);
  const before = await openPieces();
  const socket = sendPart(account, `Content-Length: ${MAX_FILE_BYTES + 1}`, Buffer.alloc(0));
  const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  socket.destroy();
  t.regex(answer, /^HTTP\/1\.1 413 /);
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(MAX_FILE_BYTES + 1)]), 'large');
  const body = await isProblem(t, await files.post(form), 'body_too_large');
  t.regex(String(recordAt(body).detail), new RegExp(`${MAX_FILE_BYTES} bytes`));
  t.is(await openPieces(), before);
  t.deepEqual(await usageOf(account), EMPTY);
});
