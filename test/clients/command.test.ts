import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { EXIT } from '../../clients/typescript/src/cli/exit.ts';
import { run } from '../../clients/typescript/src/cli/run.ts';
import { UtilityTools, verifyWebhook } from '../../clients/typescript/src/index.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { newOwner } from '../helpers/dashboard.ts';
import { recordsAt } from '../helpers/json.ts';
import { mainText, pageOf } from '../helpers/markup.ts';
import { makePdf, ONE_PAGE } from '../helpers/pdf.ts';
import { useStack } from '../helpers/profiles.ts';
import { startReceiver } from '../helpers/receiver.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

let stack: SharedStack;
let account: TestAccount;
let folder: string;

test.before(async () => {
  stack = await useStack();
  account = await makeAccount(stack, 100);
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-command-'));
});
test.after.always(async () => {
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

interface Running {
  written: { out: string; progress: string };
  code: Promise<number>;
  stop(): void;
}

/** Starts the command `utility-tools` with the keys of the account, or with those that `login` has stored. */
function start(args: string[], keys: 'own' | 'stored' = 'own'): Running {
  const written = { out: '', progress: '' };
  const interrupted = new AbortController();
  const own = { UTILITY_TOOLS_API_KEY: account.toolsKey, UTILITY_TOOLS_ACCOUNT_KEY: account.accountKey };
  const code = run(args, {
    env: { XDG_CONFIG_HOME: folder, UTILITY_TOOLS_URL: stack.baseUrl, ...(keys === 'own' ? own : {}) },
    out: (data) => {
      written.out += String(data);
    },
    progress: (line) => {
      written.progress += `${line}\n`;
    },
    signal: interrupted.signal,
  });
  return { written, code, stop: () => interrupted.abort() };
}

async function succeed(args: string[], keys?: 'own' | 'stored'): Promise<string> {
  const { written, code } = start(args, keys);
  if ((await code) !== EXIT.success.code) throw new Error(`${args.join(' ')}: ${written.progress}`);
  return written.out;
}

test.serial('balance, calls and receipt show the account', async (t) => {
  await succeed(['hash-text', '--text', 'abc']);
  t.regex(await succeed(['balance']), /^balance: 99$/m);
  t.like(JSON.parse(await succeed(['balance', '--json'])), { id: account.accountId, available: 99 });
  const [heading, row = '', ...more] = (await succeed(['calls', '--limit', '1'])).trimEnd().split('\n');
  t.regex(heading ?? '', /^id +started +tool +state +charged +code$/);
  t.regex(row, /^\S+ +\S+ +hash-text +charged +1$/);
  t.deepEqual(more, []);
  const [id = ''] = row.split(' ');
  t.regex(await succeed(['receipt', id]), /^tool: hash-text\ncredits: 1$/m);
  t.like(JSON.parse(await succeed(['receipt', id, '--json'])), { callId: id, credits: 1 });
  t.is(await start(['receipt', 'unknown']).code, EXIT.input.code);
  t.is(await succeed(['calls', '--json', '--state', 'refunded']), '');
});

test.serial('a tool with --async becomes a job, whose result is printed or saved later', async (t) => {
  const id = (await succeed(['hash-text', '--text', 'abc', '--async'])).trim();
  t.regex(await succeed(['result', id]), new RegExp(`^hash: ${ABC}$`, 'm'));
  t.like(JSON.parse(await succeed(['result', id, '--json', '--no-wait'])), { hash: ABC });
  const listed = await succeed(['jobs', '--limit', '1']);
  t.regex(listed, new RegExp(`^${id} +\\S+ +hash-text +succeeded$`, 'm'));

  const file = (await succeed(['qr-generate', '--text', 'abc', '--async'])).trim();
  const path = join(folder, 'code.png');
  t.is(await succeed(['result', file, '-o', path]), `${path}\n`);
  t.is((await readFile(path)).subarray(1, 4).toString(), 'PNG');

  const failing = (await succeed(['ping', '--host', '10.0.0.1', '--async'])).trim();
  const failed = start(['result', failing]);
  t.is(await failed.code, EXIT.target.code, failed.written.progress);
  t.regex(failed.written.progress, /target_refused/);
  t.is(
    await start(['cancel', failing]).code,
    EXIT.success.code,
    'cancelling a job that has ended changes nothing',
  );
  t.is(await start(['result', 'unknown']).code, EXIT.input.code);
});

test.serial('a tool that reads a file takes one of the machine, also as a job', async (t) => {
  const path = join(folder, 'report.pdf');
  await writeFile(path, makePdf({ objects: ONE_PAGE }));
  t.regex(await succeed(['pdf-metadata', '--file', path]), /^title: Hello$/m);
  const id = (await succeed(['pdf-metadata', '--file', path, '--async'])).trim();
  t.regex(await succeed(['result', id]), /^title: Hello$/m);
  const key = ['--idempotency-key', crypto.randomUUID()];
  const before = JSON.parse(await succeed(['balance', '--json'])).available;
  for (const _attempt of [1, 2]) await succeed(['pdf-metadata', '--file', path, ...key]);
  t.is(JSON.parse(await succeed(['balance', '--json'])).available, before - 2);
  const picture = join(folder, 'picture.png');
  await succeed(['qr-generate', '--text', 'abc', '-o', picture]);
  const marked = join(folder, 'marked.png');
  await succeed(['watermark-image', '--file', picture, '--text', 'a', '--opacity', '0.5', '-o', marked]);
  t.is((await readFile(marked)).subarray(1, 4).toString(), 'PNG');

  const both = start(['pdf-metadata', '--file', path, '--file-url', 'https://example.com/a.pdf']);
  t.is(await both.code, EXIT.usage.code);
  t.is(await start(['pdf-metadata', '--file', join(folder, 'none')]).code, EXIT.usage.code);
  t.is(await start(['hash-text', '--text', 'a', '--file', path]).code, EXIT.usage.code);

  const { files } = new UtilityTools({ apiKey: account.toolsKey, baseUrl: stack.baseUrl });
  const row = await files.upload(new Blob(['%PDF-']), 'a.pdf');
  t.like(await files.get(row.id), { sizeBytes: 5, type: 'application/pdf' });
  await files.delete(row.id);
  await t.throwsAsync(files.get(row.id), { code: 'not_found' });
});

test.serial('the jobs of the TypeScript client', async (t) => {
  const { jobs } = new UtilityTools({ apiKey: account.toolsKey, baseUrl: stack.baseUrl });
  const key = crypto.randomUUID();
  const job = await jobs.create(
    'hash-text',
    { text: 'abc' },
    { metadata: { order: '1' }, idempotencyKey: key },
  );
  t.is(
    (await jobs.create('hash-text', { text: 'abc' }, { metadata: { order: '1' }, idempotencyKey: key })).id,
    job.id,
  );
  const { output, credits, file } = await jobs.wait(job);
  t.deepEqual([output.hash, credits.charged, file], [ABC, 1, null]);
  t.like(await jobs.get(job.id), { state: 'succeeded', metadata: { order: '1' } });
  const code = await jobs.wait(await jobs.create('qr-generate', { text: 'abc' }));
  t.is(code.file?.mimeType, 'image/png');
  const failing = await jobs.create('ping', { host: '10.0.0.1' });
  await t.throwsAsync(jobs.wait(failing), { message: /target_refused/ });
  await t.throwsAsync(jobs.create('hash-text', { text: 'abc' }, { maxCredits: 0 }), {
    message: /price_above_max/,
  });
  let listed = 0;
  for await (const row of jobs.list({ limit: 2 })) if (row.tool !== '') listed += 1;
  t.true(listed >= 6);
});

test.serial('the schedules of the TypeScript client', async (t) => {
  const { schedules } = new UtilityTools({ apiKey: account.toolsKey, baseUrl: stack.baseUrl });
  const idempotencyKey = crypto.randomUUID();
  const body = { name: 'rare', cron: '30 4 29 2 *', job: { tool: 'hash-text', input: { text: 'abc' } } };
  const { id } = await schedules.create(body, { idempotencyKey });
  t.is((await schedules.create(body, { idempotencyKey })).id, id);
  t.like(await schedules.change(id, { paused: true }), { paused: true, name: 'rare' });
  const run = await schedules.trigger(id, { idempotencyKey });
  t.is((await schedules.trigger(id, { idempotencyKey })).id, run.id);
  const period = { from: new Date(Date.now() - 60_000).toISOString(), to: new Date().toISOString() };
  t.deepEqual(await schedules.backfill(id, period), { times: 0, added: 0 });
  const runs: string[] = [];
  for await (const row of schedules.runs(id)) runs.push(row.id);
  t.deepEqual(runs, [run.id]);
  t.regex(await succeed(['schedules']), new RegExp(`^id .*\\n${id}  paused`));
  t.regex(await succeed(['runs', id]), new RegExp(`^due .*\\n${run.dueAt}`));
  for await (const row of schedules.list()) t.is(row.id, id);
  for await (const row of schedules.callbacks(id)) t.fail(row.id);
  t.deepEqual(
    [await schedules.resendCallbacks(id), await schedules.resendCallbacks(id, ['cbk_run_0'])],
    [0, 0],
  );
  await schedules.delete(id);
  await t.throwsAsync(schedules.get(id), { message: /not_found/ });
});

test.serial('listen posts each event, signed like a webhook', async (t) => {
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const listening = start(['listen', '--forward', receiver.url]);
  t.teardown(() => listening.stop());
  await until('the command listens', async () => /signed with/.test(listening.written.out), 20_000);
  const [, secret = ''] = /signed with (\S+)/.exec(listening.written.out) ?? [];
  t.is((await account.manage('/api/v1/account/keys', { name: 'new', scopes: ['tools'] })).status, 201);
  const [delivery] = await receiver.until(1, 20_000);
  if (delivery === undefined) return t.fail();
  t.is((await verifyWebhook({ secret, ...delivery })).event, 'api_key.created');
  listening.stop();
  t.is(await listening.code, EXIT.interrupted.code);
  t.is(listening.written.progress, 'Interrupted.\n');
});

test.serial('login --account gets a second key, and the page says what is signed in', async (t) => {
  const owner = await newOwner(stack);
  for (const [args, name, what] of [
    [['login'], 'for tools', 'calling tools'],
    [['login', '--account'], 'for the account', 'managing the account'],
  ] as const) {
    const login = start([...args], 'stored');
    await until('the command shows a page', async () => /user_code=/.test(login.written.progress), 20_000);
    const [, path = '', code = ''] =
      /\/dashboard(\/device\?user_code=(\S+))/.exec(login.written.progress) ?? [];
    const page = mainText(await pageOf(t, await owner.get(path)));
    for (const text of [hostname(), '127.0.0.1', what]) t.true(page.includes(text), page);
    await owner.post('/device', { userCode: code, name, decision: 'approve' });
    t.is(await login.code, EXIT.success.code, login.written.progress);
  }
  t.regex(await succeed(['balance'], 'stored'), /^available: \d+$/m);
  t.regex(await succeed(['hash-text', '--text', 'abc'], 'stored'), /^hash: /m);
  const { email } = owner;
  t.true((await succeed(['balance'], 'stored')).includes(email));
  await succeed(['logout'], 'stored');
  const keys = await (await account.manage('/api/v1/account/keys')).json();
  t.true(recordsAt(keys.items).length > 0, 'keys of other accounts stay');
  t.is(await start(['balance'], 'stored').code, EXIT.usage.code);
});
