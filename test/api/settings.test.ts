import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { createApiKeys } from '../../store/keys/apiKeys.ts';
import { auditAccount } from '../../store/ledger/audit.ts';
import { removeTwoFactor } from '../../store/secrets/twoFactorSecrets.ts';
import { withStore } from '../helpers/account.ts';
import { newOwner, type Visitor, visitor } from '../helpers/dashboard.ts';
import { filesOf } from '../helpers/files.ts';
import { isRecord, type Json } from '../helpers/json.ts';
import { attribute, type Element, mainText, pageOf, textOf } from '../helpers/markup.ts';
import { FREE_CREDITS, useStack } from '../helpers/profiles.ts';
import { readPng, readWithJsQr } from '../helpers/qr.ts';
import { cookieOf, postAuth, signIn, signUp } from '../helpers/session.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { totp } from '../helpers/totp.ts';
import { until } from '../helpers/until.ts';

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

const stack = await useStack();
test.after.always(() => stack.stop());

const accountIdOf = (email: string): Promise<string> =>
  withStore(stack, async ({ accounts }) => (await accounts.findOne({ email }))?._id ?? '');

/** Returns the rows of the security log as the owner sees them, newest first, without their times. */
async function logOf(t: ExecutionContext, owner: Visitor): Promise<string[]> {
  const elements = await pageOf(t, await owner.get('/settings/security-log'));
  return elements
    .filter(({ tagName }) => tagName === 'tr')
    .slice(1)
    .map((row) => {
      const cells = row.childNodes.filter(
        (node): node is Element => 'tagName' in node && node.tagName === 'td',
      );
      return cells
        .slice(1)
        .map((cell) => textOf(cell).trim())
        .join(' | ');
    });
}

test('the security log shows sign-ins, sessions, keys and webhook secrets, with device and address', async (t) => {
  const owner = await newOwner(stack);
  const from = { 'User-Agent': FIREFOX };
  const elsewhere = await postAuth(stack.baseUrl, 'sign-in/email', owner, from);
  await owner.post('/keys', { name: 'website', scope: 'tools' }, from);
  const made = await owner.post('/keys', { name: 'admin', scope: 'account' }, from);
  const key = /ut_[0-9A-Za-z]{36}/.exec(await made.text())?.[0] ?? '';
  const accountId = await accountIdOf(owner.email);
  const manage = (path: string, method: string, body: object = {}) =>
    fetch(`${stack.baseUrl}/api/v1/account/${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'User-Agent': 'robot/1',
      },
      ...(method !== 'DELETE' && { body: JSON.stringify(body) }),
    });
  const id = await withStore(
    stack,
    async ({ apiKeys }) => (await apiKeys.findOne({ accountId, name: 'website' }))?._id ?? '',
  );
  t.is((await manage(`keys/${id}`, 'PATCH', { name: 'site' })).status, 200);
  t.is((await manage(`keys/${id}/rotate`, 'POST')).status, 200);
  t.is((await manage(`keys/${id}`, 'DELETE')).status, 204);
  const endpoint = await (
    await manage('webhooks', 'POST', { url: 'http://localhost:3999/hook?token=s3cret' })
  ).json();
  const secret: unknown = (await (await manage(`webhooks/${endpoint.id}/rotate-secret`, 'POST')).json())
    .secret;
  t.is((await owner.post('/settings/sessions/end-others', {}, from)).status, 303);
  t.is((await visitor(stack, cookieOf(elsewhere), owner).get('')).status, 303);

  const log = await logOf(t, owner);
  const prefix = key.slice(0, 9);
  const prefixes = await withStore(
    stack,
    async ({ apiKeys }) => (await apiKeys.findOne({ _id: id }))?.prefix,
  );
  t.deepEqual(
    log.map((row) =>
      row.replaceAll(/ut_\w{6}/g, (it) => (it === prefix ? 'ADMIN' : it === prefixes ? 'NEW' : 'OLD')),
    ),
    [
      'Other sessions ended |  | Firefox on Linux | 127.0.0.1',
      `Webhook secret rotated | localhost:3999 (${endpoint.id}) | Key ADMIN… | 127.0.0.1`,
      'Key revoked | site (NEW…) | Key ADMIN… | 127.0.0.1',
      'Key rotated | site (NEW…) | Key ADMIN… | 127.0.0.1',
      'Key changed | site (OLD…) | Key ADMIN… | 127.0.0.1',
      'Key created | admin (ADMIN…) | Firefox on Linux | 127.0.0.1',
      'Key created | website (OLD…) | Firefox on Linux | 127.0.0.1',
      'Signed in |  | Firefox on Linux | 127.0.0.1',
      'Signed in |  | node | 127.0.0.1',
    ],
  );
  const stored = JSON.stringify(
    await withStore(stack, ({ securityEvents }) => securityEvents.find({ accountId }).toArray()),
  );
  for (const text of [key, String(secret), 's3cret', owner.password]) t.false(stored.includes(text), text);
  t.deepEqual(await logOf(t, await newOwner(stack)), ['Signed in |  | node | 127.0.0.1']);
});

test('the security log shows changes of the password, sign-outs and what operators do, a page at a time', async (t) => {
  const owner = await newOwner(stack);
  const newPassword = 'another password';
  const changed = await owner.post('/settings/password', { currentPassword: owner.password, newPassword });
  const again = visitor(stack, cookieOf(changed), { ...owner, password: newPassword });
  t.is((await again.post('/sign-out')).status, 303);
  const last = visitor(stack, await signIn(stack.baseUrl, again), again);
  t.deepEqual(
    (await logOf(t, last)).map((row) => row.split(' | ')[0]),
    ['Signed in', 'Signed out', 'Password changed', 'Signed in'],
  );
  const accountId = await accountIdOf(owner.email);
  const at = new Date(Date.now() + 1000);
  const more = {
    accountId,
    kind: 'key_created',
    subject: 'x',
    address: '',
    userAgent: '',
    keyPrefix: null,
  } as const;
  await withStore(stack, ({ securityEvents }) =>
    securityEvents.insertMany(
      Array.from({ length: 25 }, () => ({
        _id: `sec_${randomUUID()}`,
        at,
        ...more,
        isOperator: true,
      })),
    ),
  );
  const first = await pageOf(t, await last.get('/settings/security-log'));
  t.is(mainText(first).match(/An operator/g)?.length, 25);
  const older = first.find((element) => attribute(element, 'rel') === 'next');
  const second = await last.get(((older && attribute(older, 'href')) ?? '').replace('/dashboard', ''));
  t.regex(mainText(await pageOf(t, second)), /Signed out .* Password changed/);
  t.is((await last.get('/settings/security-log?cursor=made-up')).status, 422);
});

test('a name is changed and shown, and an empty or long one is refused', async (t) => {
  const owner = await newOwner(stack);
  for (const name of [' ', 'x'.repeat(101)])
    t.is((await owner.post('/settings/profile/name', { name })).status, 422);
  t.is((await owner.post('/settings/profile/name', { name: ' Ada <Lovelace> ' })).status, 303);
  t.regex(mainText(await pageOf(t, await owner.get('/settings'))), /Name Ada <Lovelace> Email/);
  t.regex((await logOf(t, owner))[0] ?? '', /^Name changed/);
});

/** Secrets that the pages of a set-up show once. */
interface Factor {
  owner: Visitor;
  secret: string;
  codes: string[];
}

/** Turns on two-factor authentication, by scanning the QR code on the page. */
async function setUp(t: ExecutionContext, owner: Visitor): Promise<Factor> {
  const shown = await owner.post('/settings/two-factor/enable', { password: owner.password });
  t.is(shown.status, 200);
  const markup = await shown.clone().text();
  const svg = /<svg class="qr".*?<\/svg>/s
    .exec(markup)?.[0]
    .replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"');
  const png = await sharp(Buffer.from(svg ?? ''), { density: 300 })
    .png()
    .toBuffer();
  const uri = new URL(readWithJsQr(readPng(png.toString('base64'))) ?? '');
  t.is(uri.protocol, 'otpauth:');
  t.is(decodeURIComponent(uri.pathname).replace(/^\/+(totp\/)?/, ''), `Utility Tools:${owner.email}`);
  const secret = uri.searchParams.get('secret') ?? '';
  const elements = await pageOf(t, shown);
  t.true(mainText(elements).replaceAll(' ', '').includes(`Key:${secret}`));
  const list = elements.find((element) => attribute(element, 'class') === 'codes');
  const codes = ((list && textOf(list)) ?? '').split('\n');
  t.is(codes.length, 10);

  // Until a code proves that the app has the secret, a sign-in asks for the password only.
  await signIn(stack.baseUrl, owner);
  const wrong = await owner.post('/settings/two-factor/verify', { code: '000000' });
  t.is(wrong.status, 422);
  t.false((await wrong.text()).includes(secret));
  const on = await owner.post('/settings/two-factor/verify', { code: totp(secret) });
  t.is(on.status, 303);
  return { owner: visitor(stack, cookieOf(on), owner), secret, codes };
}

/** Enters the password. Returns the cookies of a browser that is to enter a code. */
async function enterPassword(t: ExecutionContext, { email, password }: Visitor): Promise<string> {
  const response = await visitor(stack, '', { email, password }).postRaw('/sign-in', { email, password });
  t.is(response.status, 303);
  t.is(response.headers.get('location'), '/dashboard/sign-in/code');
  const cookies = response.headers.getSetCookie().filter((cookie) => !/Max-Age=0/i.test(cookie));
  return cookies.map((cookie) => cookie.split(';')[0]).join('; ');
}

const enterCode = (cookie: string, code: string) =>
  visitor(stack, cookie, { email: '', password: '' }).postRaw('/sign-in/code', { code });

test('with two-factor authentication a sign-in needs the password and a code', async (t) => {
  const plain = await newOwner(stack);
  t.is((await plain.post('/settings/two-factor/enable', { password: 'wrong' })).status, 422);
  const elsewhere = visitor(stack, await signIn(stack.baseUrl, plain), plain);
  t.is((await elsewhere.get('')).status, 200);
  const { owner, secret, codes } = await setUp(t, plain);
  for (const session of [plain, elsewhere])
    t.is((await session.get('')).status, 303, 'sessions that began with the password alone have ended');
  t.regex(mainText(await pageOf(t, await owner.get('/settings'))), /Two-factor authentication is on/);
  t.is((await owner.post('/settings/two-factor/enable', { password: owner.password })).status, 422);

  const waiting = await enterPassword(t, owner);
  const half = visitor(stack, waiting, owner);
  t.is((await half.get('')).status, 303);
  t.is((await half.get('/sign-in/code')).status, 200);
  const wrong = await enterCode(waiting, totp(secret, Date.now() - 600_000));
  t.is(wrong.status, 401);
  t.regex(mainText(await pageOf(t, wrong)), /The code is wrong/);
  const codeOfApp = totp(secret);
  const right = await enterCode(waiting, ` ${codeOfApp.replace(/^.../, '$& ')}`);
  t.is(right.headers.get('location'), '/dashboard');
  t.is((await visitor(stack, cookieOf(right), owner).get('')).status, 200);
  // The step is over: its cookie is of no use any more.
  t.regex(mainText(await pageOf(t, await enterCode(waiting, totp(secret)))), /Sign in again/);

  // A code that someone has seen is of no use after the sign-in with it.
  t.is((await enterCode(await enterPassword(t, owner), codeOfApp)).status, 401);

  const [code = ''] = codes;
  const byBackupCode = await enterCode(await enterPassword(t, owner), code);
  t.is((await visitor(stack, cookieOf(byBackupCode), owner).get('')).status, 200);
  t.is((await enterCode(await enterPassword(t, owner), code)).status, 401);
  t.regex(mainText(await pageOf(t, await owner.get('/settings/two-factor'))), /9 backup codes are left/);

  t.deepEqual((await logOf(t, owner)).slice(0, 6), [
    'Wrong second factor at sign-in |  | node | 127.0.0.1',
    'Signed in | with a backup code | node | 127.0.0.1',
    'Wrong second factor at sign-in | with a code that was used before | node | 127.0.0.1',
    'Signed in | with a code of the authenticator app | node | 127.0.0.1',
    'Wrong second factor at sign-in |  | node | 127.0.0.1',
    'Two-factor authentication turned on |  | node | 127.0.0.1',
  ]);
  const stored = await withStore(stack, async ({ db }) => {
    const names = (await db.listCollections().toArray()).map(({ name }) => name);
    const all = await Promise.all(
      ['users', 'twoFactors', 'verifications', 'securityEvents'].map((name) =>
        db.collection(name).find().toArray(),
      ),
    );
    t.true(names.includes('twoFactors'));
    return JSON.stringify(all);
  });
  for (const text of [secret, ...codes]) t.false(stored.includes(text));
});

test('the program interface of the sign-in gives no session without the code', async (t) => {
  const { owner } = await setUp(t, await newOwner(stack));
  const response = await postAuth(stack.baseUrl, 'sign-in/email', owner);
  t.is(response.status, 200);
  t.deepEqual(await response.json(), { twoFactorRedirect: true, twoFactorMethods: ['totp'] });
  for (const path of ['verify-totp', 'verify-backup-code', 'enable', 'disable', 'get-totp-uri', 'send-otp'])
    t.is((await postAuth(stack.baseUrl, `two-factor/${path}`, {})).status, 404, path);
});

test('five wrong codes end a sign-in, and ten lock the second factor for a while', async (t) => {
  const { owner, secret, codes } = await setUp(t, await newOwner(stack));
  for (let round = 0; round < 2; round++) {
    const waiting = await enterPassword(t, owner);
    for (let i = 0; i < 5; i++) t.is((await enterCode(waiting, '000000')).status, 401);
    t.regex(
      mainText(await pageOf(t, await enterCode(waiting, totp(secret)))),
      /Sign in again|Too many wrong codes/,
    );
  }
  const locked = await enterCode(await enterPassword(t, owner), codes[0] ?? '');
  t.is(locked.status, 429);
  t.regex(mainText(await pageOf(t, locked)), /Too many wrong codes/);
});

test('backup codes are replaced, and two-factor authentication is turned off, with the password', async (t) => {
  const { owner, codes } = await setUp(t, await newOwner(stack));
  t.is((await owner.post('/settings/two-factor/backup-codes', { currentPassword: 'wrong' })).status, 422);
  const replaced = await owner.post('/settings/two-factor/backup-codes', { currentPassword: owner.password });
  const fresh = /\b\w{5}-\w{5}\b/.exec(mainText(await pageOf(t, replaced)))?.[0] ?? '';
  t.false(codes.includes(fresh));
  const waiting = await enterPassword(t, owner);
  t.is((await enterCode(waiting, codes[1] ?? '')).status, 401);
  t.is((await enterCode(waiting, fresh)).status, 303);

  t.is((await owner.post('/settings/two-factor/disable', { password: 'wrong' })).status, 422);
  const off = await owner.post('/settings/two-factor/disable', { password: owner.password });
  t.is(off.status, 303);
  const again = visitor(stack, cookieOf(off), owner);
  t.regex(mainText(await pageOf(t, await again.get('/settings'))), /Two-factor authentication is off/);
  await signIn(stack.baseUrl, owner);
  t.deepEqual(
    (await logOf(t, again)).slice(1, 4).map((row) => row.split(' | ')[0]),
    ['Two-factor authentication turned off', 'Signed in', 'Wrong second factor at sign-in'],
  );
});

/** Waits until the content of a call was kept, which happens after its response. */
const untilKept = (accountId: string) =>
  until('the content of a call is kept', () =>
    withStore(stack, async ({ callContents }) => (await callContents.countDocuments({ accountId })) > 0),
  );

/** Returns the lines of the export of all data. */
async function exportOf(t: ExecutionContext, owner: Visitor): Promise<Json[]> {
  const response = await owner.get('/settings/export.ndjson');
  t.is(response.status, 200);
  t.regex(response.headers.get('content-disposition') ?? '', /^attachment; filename="account\.ndjson"/);
  const text = await response.text();
  t.true(text.endsWith('\n'));
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const row: unknown = JSON.parse(line);
      if (!isRecord(row)) throw new Error(`no object: ${line}`);
      return row;
    });
}

test('the export has everything of the account, and neither secrets nor data of others', async (t) => {
  const [owner, other] = [await newOwner(stack), await newOwner(stack)];
  const { owner: safe, secret, codes } = await setUp(t, owner);
  const made = await safe.post('/keys', { name: 'website', scope: 'tools' });
  const key = /ut_[0-9A-Za-z]{36}/.exec(await made.text())?.[0] ?? '';
  const shown = await safe.post('/webhooks', {
    url: 'http://localhost:3999/hook',
    events: 'api_key.created',
  });
  const webhookSecret = /whsec_[\w+/=]+/.exec(await shown.text())?.[0] ?? '';
  t.not(webhookSecret, '');
  await safe.post('/keys', { name: 'second', scope: 'account' });
  await safe.post('/calls/contents', { keep: 'on' });
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': 'mine',
  };
  const call = await fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ text: 'abc' }),
  });
  t.is(call.status, 200);
  const file = await filesOf({ toolsKey: key }, stack.baseUrl).create(Buffer.from('a'), 'report.pdf');
  await until('the delivery was attempted', () =>
    withStore(stack, async ({ deliveryAttempts }) =>
      (await deliveryAttempts.findOne({ accountId: await accountIdOf(owner.email) })) === null ? null : true,
    ),
  );

  await untilKept(await accountIdOf(owner.email));
  const rows = await exportOf(t, safe);
  const of = (record: string) => rows.filter((row) => row.record === record);
  const accountId = await accountIdOf(owner.email);
  t.like(of('account')[0], { id: accountId, email: owner.email, balance: FREE_CREDITS - 1 });
  t.like(of('user')[0], { email: owner.email, hasTwoFactor: true });
  t.deepEqual(
    of('key').map(({ name }) => name),
    ['second', 'website'],
  );
  t.deepEqual(of('file'), [{ record: 'file', ...file }]);
  t.like(of('call')[0], { tool: 'hash-text', charged: 1, idempotencyKey: 'mine' });
  t.deepEqual(
    of('ledgerEntry').map(({ amount }) => amount),
    [-1, FREE_CREDITS],
  );
  t.like(of('webhook')[0], { url: 'http://localhost:3999/hook' });
  t.true(of('event').length >= 2);
  t.true(of('attempt').length >= 1);
  t.true(of('session').length >= 1);
  t.like(of('callContent')[0], { input: { text: 'abc' }, output: { algorithm: 'sha256' } });
  t.is(of('securityEvent')[0]?.kind, 'data_exported');
  // The output of the call has a field `hash`, too.
  const text = JSON.stringify(rows.filter(({ record }) => record !== 'callContent'));
  for (const hidden of [
    key,
    webhookSecret,
    secret,
    ...codes,
    owner.password,
    other.email,
    'hash":',
    'token"',
  ])
    t.false(text.includes(hidden), hidden);
});

test('the export of a large account is complete, and only one runs at a time', async (t) => {
  const owner = await newOwner(stack);
  const accountId = await accountIdOf(owner.email);
  const events = 5000;
  const at = new Date();
  await withStore(stack, ({ securityEvents }) =>
    securityEvents.insertMany(
      Array.from({ length: events }, () => ({
        _id: `sec_${randomUUID()}`,
        accountId,
        at,
        kind: 'signed_in' as const,
        subject: 'x'.repeat(2000),
        address: '',
        userAgent: '',
        keyPrefix: null,
        isOperator: false,
      })),
    ),
  );
  const reader = (await owner.get('/settings/export.ndjson')).body?.getReader();
  await reader?.read();
  const refused = await owner.get('/settings/export.ndjson');
  t.is(refused.status, 429);
  t.is(refused.headers.get('Retry-After'), '30');
  t.regex(mainText(await pageOf(t, refused)), /Another download .* is running/);
  t.is((await exportOf(t, await newOwner(stack))).length > 0, true, 'another account is not affected');
  await reader?.cancel();
  await until('the cancelled export has ended', () =>
    withStore(
      stack,
      async ({ exportLeases }) => (await exportLeases.countDocuments({ _id: accountId })) === 0,
    ),
  );
  // An API process that was killed leaves its lease behind, which expires.
  const leaveLease = (until: Date) =>
    withStore(stack, ({ exportLeases }) =>
      exportLeases.replaceOne({ _id: accountId }, { holder: 'killed', until }, { upsert: true }),
    );
  await leaveLease(new Date(Date.now() + 25_000));
  t.is((await owner.get('/settings/export.ndjson')).status, 429);
  await leaveLease(new Date(Date.now() - 1000));
  const rows = await exportOf(t, owner);
  // Two exports were started, and the owner signed up and in.
  t.is(new Set(rows.filter(({ record }) => record === 'securityEvent').map(({ id }) => id)).size, events + 3);
  t.true((await exportOf(t, owner)).length > rows.length, 'the next export can start at once');
});

test('an account is closed with its password and address; its ledger stays and its address is free', async (t) => {
  const owner = await newOwner(stack);
  const elsewhere = visitor(stack, await signIn(stack.baseUrl, owner), owner);
  const made = await owner.post('/keys', { name: 'website', scope: 'tools' });
  const key = /ut_[0-9A-Za-z]{36}/.exec(await made.text())?.[0] ?? '';
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' });
  const accountId = await accountIdOf(owner.email);
  await owner.post('/calls/contents', { keep: 'on' });
  const callWith = () =>
    fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ text: 'abc' }),
    });
  t.is((await callWith()).status, 200);
  await untilKept(accountId);

  const page = mainText(await pageOf(t, await owner.get('/settings/close')));
  t.regex(page, new RegExp(`Your ${FREE_CREDITS - 1} remaining credits can no longer be used`));
  for (const fields of [
    { email: owner.email, password: 'wrong' },
    { email: 'other@example.com', password: owner.password },
  ])
    t.is((await owner.post('/settings/close', fields)).status, 422);
  t.is((await callWith()).status, 200);

  const answers = await Promise.all(
    [owner, elsewhere].map((it) =>
      it.post('/settings/close', { email: owner.email, password: owner.password }),
    ),
  );
  const statuses = answers.map(({ status }) => status).sort();
  t.is(statuses[0], 200);
  t.true(statuses[1] === 303 || statuses[1] === 404 || statuses[1] === 422, `${statuses[1]}`);
  for (const session of [owner, elsewhere]) t.is((await session.get('')).status, 303);
  t.is((await callWith()).status, 401);
  t.is((await postAuth(stack.baseUrl, 'sign-in/email', owner)).status, 401);

  await withStore(stack, async (store) => {
    const account = await store.accounts.findOne({ _id: accountId });
    t.like(account, { balance: FREE_CREDITS - 2, reserved: 0, monthlyAllowance: 0 });
    t.deepEqual((await auditAccount(store, accountId))?.drift, []);
    t.is(await store.webhookEndpoints.countDocuments({ accountId }), 0);
    t.is(await store.callContents.countDocuments({ accountId }), 0);
    t.is(await store.apiKeys.countDocuments({ accountId, revokedAt: null }), 0);
    t.is(
      (await store.securityEvents.find({ accountId }).sort({ at: -1 }).toArray())[0]?.kind,
      'account_closed',
    );
    for (const collection of await store.db.collections()) {
      const rows = JSON.stringify(await collection.find().toArray());
      t.false(rows.includes(owner.email), collection.collectionName);
    }
    await t.throwsAsync(
      createApiKeys(store, () => undefined).create({
        accountId,
        name: 'late',
        scope: 'tools',
        tools: null,
        expiresAt: null,
      }),
      { code: 'not_found' },
    );
  });

  const again = visitor(stack, await signUp(stack.baseUrl, owner), owner);
  t.not(await accountIdOf(owner.email), accountId);
  t.regex(mainText(await pageOf(t, await again.get(''))), /Available 0 /);
});

test('a call that runs while its account is closed is charged as usual', async (t) => {
  const owner = await newOwner(stack);
  const made = await owner.post('/keys', { name: 'website', scope: 'tools' });
  const key = /ut_[0-9A-Za-z]{36}/.exec(await made.text())?.[0] ?? '';
  const accountId = await accountIdOf(owner.email);
  const server = createServer();
  const host = await listenAsTarget(server);
  const requested = once(server, 'request');
  const call = fetch(`${stack.baseUrl}/api/v1/tools/http-request`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: `http://${host}/` }),
  });
  const [, response] = await requested;
  t.regex(
    mainText(await pageOf(t, await owner.get('/settings/close'))),
    /1 running call ends and is charged/,
  );
  const closed = await owner.post('/settings/close', { email: owner.email, password: owner.password });
  t.is(closed.status, 200);
  response.end('done');
  t.is((await call).status, 200);
  await withStore(stack, async (store) => {
    t.like(await store.accounts.findOne({ _id: accountId }), { balance: FREE_CREDITS - 2, reserved: 0 });
    t.deepEqual((await auditAccount(store, accountId))?.drift, []);
  });
  server.close();
});

test('an operator turns off the second factor of a user who has lost app and backup codes', async (t) => {
  const { owner } = await setUp(t, await newOwner(stack));
  t.true(await withStore(stack, (store) => removeTwoFactor(store, owner.email.toUpperCase())));
  t.false(await withStore(stack, (store) => removeTwoFactor(store, 'nobody@example.com')));
  await signIn(stack.baseUrl, owner);
  t.is((await logOf(t, owner))[1], 'Two-factor authentication turned off |  | An operator | ');
});
