import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'parse5';
import { EXIT } from '../../clients/typescript/src/cli/exit.ts';
import { run } from '../../clients/typescript/src/cli/run.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { newOwner, type Visitor } from '../helpers/dashboard.ts';
import { recordAt } from '../helpers/json.ts';
import { elementsOf, mainText, pageOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

let stack: SharedStack;
let store: Store;
let owner: Visitor;
let folder: string;

test.before(async () => {
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
  owner = await newOwner(stack);
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-login-'));
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Starts the command. `written` is what it has printed so far. */
function start(...args: string[]) {
  const written = { out: '', progress: '' };
  const code = run(args, {
    env: { XDG_CONFIG_HOME: folder, UTILITY_TOOLS_URL: stack.baseUrl },
    out: (data) => {
      written.out += String(data);
    },
    progress: (line) => {
      written.progress += `${line}\n`;
    },
    signal: AbortSignal.timeout(60_000),
  });
  return { written, code };
}

const file = () => join(folder, 'utility-tools/credentials.json');
const textOf = async (page: Response) => mainText(elementsOf(parse(await page.text())));

/** Waits until the command shows its page. Returns the path of the page without `/dashboard`. */
async function shownPage({ written }: ReturnType<typeof start>): Promise<{ path: string; code: string }> {
  await until('the command shows a page', async () => /user_code=/.test(written.progress), 20_000);
  const [, path = '', code = ''] = /\/dashboard(\/device\?user_code=(\S+))/.exec(written.progress) ?? [];
  return { path, code };
}

test.serial('login stores a key with the limits that the owner chose, and logout revokes it', async (t) => {
  const login = start('login');
  const { path, code } = await shownPage(login);
  t.regex(code, /^[A-Z2-9]{4}-[A-Z2-9]{4}$/);
  const page = mainText(await pageOf(t, await owner.get(path)));
  t.true(page.includes(code), page);

  const stranger = await newOwner(stack);
  t.is((await stranger.get(path)).status, 400, 'the code belongs to the first user who opened the page');

  const approved = await owner.post('/device', {
    userCode: code.toLowerCase(),
    name: 'My laptop',
    tools: 'hash-text',
    monthlyBudget: '5',
    decision: 'approve',
  });
  t.true((await textOf(approved)).includes('Approved.'));
  t.is(await login.code, EXIT.success.code, login.written.progress);
  t.is((await stat(file())).mode & 0o777, 0o600);

  const call = start('hash-text', '--text', 'abc');
  t.is(await call.code, EXIT.success.code, call.written.progress);
  t.regex(call.written.out, /^hash: ba7816bf/m);
  const refused = start('ping', '--host', 'example.com');
  t.is(await refused.code, EXIT.key.code);
  t.regex(refused.written.progress, /tool_not_allowed/);
  const key = await store.apiKeys.findOne({ name: 'My laptop' });
  t.like(key, { scope: 'tools', tools: ['hash-text'], monthlyBudget: 5, expiresAt: null });

  const twice = start('login');
  t.is(await twice.code, EXIT.usage.code);
  const { apiKey } = JSON.parse(await readFile(file(), 'utf8'));
  t.is(await start('logout').code, EXIT.success.code);
  t.not((await store.apiKeys.findOne({ _id: key?._id ?? '' }))?.revokedAt, null);
  await t.throwsAsync(readFile(file()), { code: 'ENOENT' });
  const after = await fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    body: '{"text":"abc"}',
  });
  t.is(after.status, 401);
});

test.serial('a sign-in that the owner refuses ends without a key', async (t) => {
  const login = start('login');
  const { path, code } = await shownPage(login);
  t.is((await owner.get(path)).status, 200);
  await owner.post('/device', { userCode: code, decision: 'refuse' });
  t.is(await login.code, EXIT.connection.code);
  t.regex(login.written.progress, /ended without a key/);
  await t.throwsAsync(readFile(file()), { code: 'ENOENT' });
});

const post = async (path: string, form: Record<string, string>) => {
  const response = await fetch(`${stack.baseUrl}/api/auth/device/${path}`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  return { status: response.status, body: recordAt(await response.json()) };
};

test.serial('a code gives one key, only after approval, and no session', async (t) => {
  const { body } = await post('code', {});
  const userCode = String(body.user_code);
  const redeem = () =>
    post('token', { device_code: String(body.device_code), client_id: 'utility-tools', grant_type: 'x' });
  t.like(await redeem(), { status: 400, body: { error: 'authorization_pending' } });
  t.like(await redeem(), { status: 400, body: { error: 'slow_down' } });
  t.is(await store.db.collection('deviceCodes').countDocuments({ deviceCode: String(body.device_code) }), 0);
  t.is((await owner.post('/device', { userCode: 'WRONG', decision: 'approve', name: 'x' })).status, 400);
  t.is((await owner.post('/device', { userCode, decision: 'approve', name: '' })).status, 422);
  t.like(await redeem(), { status: 400 });
  t.is((await owner.post('/device', { userCode, decision: 'approve', name: 'once' })).status, 200);
  t.is((await owner.get(`/device?user_code=${userCode}`)).status, 400, 'it was approved already');
  const user = await store.db.collection('users').findOne({ email: owner.email });
  const sessionsNow = () => store.db.collection('sessions').countDocuments({ userId: user?._id });
  const sessions = await sessionsNow();
  t.true(sessions > 0);
  await until('the interval is over', async () => (await redeem()).status === 200);
  t.like(await redeem(), { status: 400, body: { error: 'invalid_grant' } });
  t.is(await store.apiKeys.countDocuments({ name: 'once' }), 1);
  t.is(await sessionsNow(), sessions);
  for (const path of ['approve', 'deny', 'redeem', 'verify'])
    t.is((await fetch(`${stack.baseUrl}/api/auth/device/${path}`, { method: 'POST' })).status, 404, path);
});

test.serial(
  'an approved code of an account that was closed since gives no key, and a clear error',
  async (t) => {
    const leaving = await newOwner(stack);
    const { body } = await post('code', {});
    const userCode = String(body.user_code);
    t.is((await leaving.get(`/device?user_code=${userCode}`)).status, 200);
    t.is((await leaving.post('/device', { userCode, decision: 'approve', name: 'too late' })).status, 200);
    const closed = await leaving.post('/settings/close', {
      email: leaving.email,
      password: leaving.password,
    });
    t.is(closed.status, 200);
    const answer = await post('token', { device_code: String(body.device_code), client_id: 'utility-tools' });
    t.is(answer.status, 400);
    t.is(answer.body.error, 'access_denied');
    t.regex(String(answer.body.error_description), /account .* was closed/);
    t.is(await store.apiKeys.countDocuments({ name: 'too late' }), 0);
  },
);
