import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { EXIT } from '../../clients/typescript/src/cli/exit.ts';
import { run } from '../../clients/typescript/src/cli/run.ts';
import { UtilityTools } from '../../clients/typescript/src/index.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { batchesOf, linesOf } from '../helpers/batches.ts';
import { listen } from '../helpers/egress.ts';
import { startFaultyProxy } from '../helpers/faultyProxy.ts';
import { accountOf, auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import { seededRandom } from '../helpers/random.ts';
import type { SharedStack } from '../helpers/stack.ts';

const CREDITS = 100;
/** The proxy disturbs every attempt of a request in only one of 10^18 cases. */
const MAX_RETRIES = 60;

let stack: SharedStack;
let store: Store;
let root: string;

test.before(async () => {
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
  root = await mkdtemp(join(tmpdir(), 'utility-tools-batch-'));
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
  if (root !== undefined) await rm(root, { recursive: true, force: true });
});

/** A user of the command: an account, and a folder with an input. */
async function newUser(input: string, name: string) {
  const account = await makeAccount(stack, CREDITS);
  const folder = await mkdtemp(join(root, 'user-'));
  const path = join(folder, name);
  await writeFile(path, input);
  const target = join(folder, 'out');
  const batches = batchesOf(account, stack.baseUrl);
  /** Runs `utility-tools batch`. @param onLine called with each line of progress, and the function that interrupts the command */
  async function command(
    options: string[] = [],
    { baseUrl = stack.baseUrl, onLine = (_line: string, _stop: () => void) => {} } = {},
  ): Promise<{ code: number; out: string; progress: string }> {
    const written = { out: '', progress: '' };
    const interrupted = new AbortController();
    const code = await run(['batch', path, '-o', target, ...options], {
      env: { UTILITY_TOOLS_API_KEY: account.toolsKey, UTILITY_TOOLS_URL: baseUrl },
      out: (data) => {
        written.out += String(data);
      },
      progress: (line) => {
        written.progress += `${line}\n`;
        onLine(line, () => interrupted.abort());
      },
      signal: interrupted.signal,
    });
    return { code, ...written };
  }
  return {
    account,
    path,
    target,
    batches,
    command,
    read: (file: string): Promise<string> => readFile(join(target, file), 'utf8'),
    async ids(): Promise<string[]> {
      const { items } = await (await batches.request('')).json();
      return items.map(({ id }: { id: string }) => id);
    },
  };
}

/** Checks that an account was charged this, and that its ledger is right. */
async function assertCharged(
  t: ExecutionContext,
  { accountId }: TestAccount,
  credits: number,
): Promise<void> {
  t.deepEqual(await auditAccountWhenIdle(store, accountId), []);
  t.is((await accountOf(store, accountId)).balance, CREDITS - credits);
}

const textOf = (index: number): string => `text ${index}`;
const csvOf = (rows: number): string =>
  `id,text\n${Array.from({ length: rows }, (_, index) => `r${index},${textOf(index)}\n`).join('')}`;
const HASH = ['--tool', 'hash-text'];

test('a CSV file becomes a table, the rows and a manifest, and an interrupted command continues', async (t) => {
  const user = await newUser(csvOf(30), 'in.csv');
  const stopped = await user.command(HASH, { onLine: (line, stop) => line.startsWith('Started') && stop() });
  t.is(stopped.code, EXIT.interrupted.code, stopped.progress);
  t.regex(stopped.progress, /Repeat the command/);
  const [id = ''] = await user.ids();
  t.is(JSON.parse(await user.read('batch.json')).id, id);

  const { code, out, progress } = await user.command(HASH);
  t.is(code, EXIT.success.code, progress);
  t.true(progress.includes(`Continuing ${id}`) && progress.includes('30 of 30 rows'), progress);
  t.is(out, `${join(user.target, 'results.csv')}\n`);
  const [head, first, ...more] = (await user.read('results.csv')).trimEnd().split('\r\n');
  t.is(head, 'row,id,callId,tool,state,charged,code,file,detail,output.algorithm,output.hash');
  t.regex(first ?? '', /^0,r0,[\w-]+,hash-text,succeeded,1,,,,sha256,[0-9a-f]{64}$/);
  t.is(more.length, 29);
  const rows = linesOf(await user.read('results.ndjson'));
  t.deepEqual(
    rows.map(({ row, id: own, state }) => [row, own, state]),
    Array.from({ length: 30 }, (_, row) => [row, `r${row}`, 'succeeded']),
  );
  t.like(JSON.parse(await user.read('manifest.json')), { id, rows: 30, charged: 30, credits: 30 });

  // A command that was killed while it wrote leaves half a row, which the next one replaces.
  const path = join(user.target, 'results.ndjson');
  const whole = await user.read('results.ndjson');
  await truncate(path, whole.length - 150);
  const again = await user.command([...HASH, '--json']);
  t.is(again.code, EXIT.success.code, again.progress);
  t.like(JSON.parse(again.out), { id, state: 'completed' });
  t.is(await user.read('results.ndjson'), whole);
  // What was changed does not match the manifest.
  await writeFile(path, whole.replace('"outputSha256":"', '"outputSha256":"0'));
  t.regex((await user.command(HASH)).progress, /do not match the manifest/);
  t.deepEqual(await user.ids(), [id]);
  await assertCharged(t, user.account, 30);
});

test('a start whose response is lost is found again by the next command', async (t) => {
  const user = await newUser(csvOf(3), 'in.csv');
  let received = 0;
  const proxy = createServer(async (incoming) => {
    const { method, url, headers } = incoming;
    const parts: Uint8Array[] = [];
    for await (const part of incoming) parts.push(part);
    const { authorization = '', 'content-type': type = '', 'idempotency-key': key } = headers;
    await fetch(`${stack.baseUrl}${url}`, {
      method: method ?? 'POST',
      headers: { Authorization: authorization, 'Content-Type': type, 'Idempotency-Key': String(key) },
      body: Buffer.concat(parts),
    });
    received += 1;
    incoming.socket.destroy();
  });
  const baseUrl = `http://127.0.0.1:${await listen(proxy)}`;
  t.teardown(() => proxy.close());
  const first = await user.command(HASH, { baseUrl });
  t.is(first.code, EXIT.connection.code, first.progress);
  t.true(received > 1);
  t.is(JSON.parse(await user.read('batch.json')).id, null);
  const second = await user.command(HASH);
  t.is(second.code, EXIT.success.code, second.progress);
  t.is((await user.ids()).length, 1);
  await assertCharged(t, user.account, 3);
});

test('--max-credits pauses the batch, and a higher limit continues it', async (t) => {
  const user = await newUser(csvOf(10), 'in.csv');
  const paused = await user.command([...HASH, '--max-credits', '4']);
  t.is(paused.code, EXIT.credits.code, paused.progress);
  t.regex(paused.progress, /paused \(max_credits\).*--max-credits/);
  await assertCharged(t, user.account, 4);
  const done = await user.command([...HASH, '--max-credits', '10']);
  t.is(done.code, EXIT.success.code, done.progress);
  await assertCharged(t, user.account, 10);
  t.is((await user.ids()).length, 1);
});

test('NDJSON mixes tools; files are saved, and rows that fail decide the exit code', async (t) => {
  const lines = [
    { id: 'code', tool: 'qr-generate', input: { text: 'abc' } },
    // This id ends a line in many readers.
    { id: 'a\u2028b', tool: 'hash-text', input: { text: 'abc' } },
    { id: 'refused', tool: 'http-request', input: { url: 'http://127.0.0.1:9/' } },
  ];
  const user = await newUser(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n`, 'in.ndjson');
  const { code, progress } = await user.command();
  t.is(code, EXIT.rows.code, progress);
  t.regex(progress, /1 of 3 rows failed/);
  const [picture, hash, refused] = linesOf(await user.read('results.ndjson'));
  t.like(picture, { id: 'code', file: 'files/00000-qr-generate.png', output: { imageBase64: null } });
  t.is((await readFile(join(user.target, 'files/00000-qr-generate.png'))).subarray(1, 4).toString(), 'PNG');
  t.like(hash, { id: 'a\u2028b', state: 'succeeded' });
  t.like(refused, { id: 'refused', state: 'failed', code: 'target_refused', file: null, output: null });
  t.deepEqual((await readdir(user.target)).sort(), [
    'batch.json',
    'files',
    'manifest.json',
    'results.ndjson',
  ]);
  await assertCharged(t, user.account, 2);
});

test('a refused input starts nothing, and the folder takes the corrected one, but no other', async (t) => {
  const user = await newUser('text,size\nabc,1\n', 'in.csv');
  const refused = await user.command(HASH);
  t.is(refused.code, EXIT.input.code, refused.progress);
  t.regex(refused.progress, /size.*the column is not a field/);
  await writeFile(user.path, csvOf(1));
  t.is((await user.command(HASH)).code, EXIT.success.code);
  await writeFile(user.path, csvOf(2));
  const other = await user.command(HASH);
  t.is(other.code, EXIT.usage.code);
  t.regex(other.progress, /another input/);
  t.is((await user.command([])).code, EXIT.usage.code, '--tool is missing');
  t.is((await user.command([...HASH, '--max-credits', '1.5'])).code, EXIT.usage.code);
  t.is((await user.ids()).length, 1);
  await assertCharged(t, user.account, 1);
});

test('a batch is cancelled by its id, and the command says so', async (t) => {
  const user = await newUser(csvOf(50), 'in.csv');
  const stopped = await user.command([...HASH, '--max-credits', '1']);
  t.is(stopped.code, EXIT.credits.code, stopped.progress);
  const [id = ''] = await user.ids();
  const env = { UTILITY_TOOLS_API_KEY: user.account.toolsKey, UTILITY_TOOLS_URL: stack.baseUrl };
  const nothing = {
    env,
    out: () => undefined,
    progress: () => undefined,
    signal: new AbortController().signal,
  };
  t.is(await run(['cancel', id], nothing), EXIT.success.code);
  const { code, progress } = await user.command(HASH);
  t.is(code, EXIT.rows.code, progress);
  t.regex(progress, /49 of 50 rows failed or were cancelled/);
  await assertCharged(t, user.account, 1);
});

test('the batches of the TypeScript client, behind a faulty proxy', async (t) => {
  const proxy = await startFaultyProxy(
    stack.baseUrl,
    seededRandom((line) => t.log(line)),
  );
  t.teardown(() => proxy.close());
  const account = await makeAccount(stack, CREDITS);
  const options = { apiKey: account.toolsKey, baseUrl: proxy.baseUrl };
  const { batches } = new UtilityTools({ ...options, maxRetries: MAX_RETRIES, retryDelayMs: 1 });
  const inputs = Array.from({ length: 40 }, (_, index) => ({ text: textOf(index) }));
  const batch = await batches.create('hash-text', inputs, { metadata: { order: '1' }, maxCredits: 10 });
  const paused = await batches.wait(batch.id);
  t.like(paused, { state: 'paused', pauseReason: 'max_credits', metadata: { order: '1' } });
  await batches.resume(batch.id, { maxCredits: null });
  let states = 0;
  t.is((await batches.wait(batch.id, { onProgress: () => void states++ })).state, 'completed');
  t.true(states > 0);
  for (const order of ['input', 'completion'] as const) {
    const rows: number[] = [];
    for await (const { row, output } of batches.results(batch.id, { order }))
      if (output !== null) rows.push(row);
    t.deepEqual(
      rows.sort((one, other) => one - other),
      inputs.map((_, index) => index),
      order,
    );
  }
  const some: number[] = [];
  for await (const { row } of batches.results(batch.id, { after: 35 })) some.push(row);
  t.deepEqual(some, [36, 37, 38, 39]);
  t.like(await batches.manifest(batch.id), { rows: 40, charged: 40 });

  const lines = new Blob(['{"tool":"hash-text","input":{"text":"a"}}\n']);
  const other = await batches.createFromFile(lines, 'application/x-ndjson');
  await batches.wait(other.id);
  await batches.pause(other.id);
  await batches.cancel(other.id);
  const listed: string[] = [];
  for await (const { id } of batches.list({ limit: 1 })) listed.push(id);
  t.deepEqual(listed, [other.id, batch.id]);
  await t.throwsAsync(batches.create('hash-text', [{ text: 'a' }], { maxCredits: 0 }), {
    message: /invalid_input/,
  });
  await assertCharged(t, account, 41);
});
