import { randomInt, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { createEmailVerificationToken } from 'better-auth/api';
import { pino } from 'pino';
import { SMTPServer } from 'smtp-server';
import { createMailer } from '../../api/mail/mailer.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { readEnv } from '../../schemas/env.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { syncEndpoint } from '../../store/webhooks/endpointState.ts';
import type { NoticeDoc } from '../../store/webhooks/webhookDocs.ts';
import { makeAccount } from '../helpers/account.ts';
import { callWith, type Visitor, visitor } from '../helpers/dashboard.ts';
import { type Mailbox, type Received, startMailbox } from '../helpers/mailbox.ts';
import { attribute, type Element, mainText, pageOf } from '../helpers/markup.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { type Credentials, cookieOf, freshCredentials, postAuth } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { makeUser } from '../helpers/users.ts';
import { insertCalls } from '../store/ledgerFixtures.ts';
import { inspect, startTab } from './browser.ts';

const FROM = 'tools@example.org';
const FREE_CREDITS = 77;

let stack: Stack;
let store: Store;
let mailbox: Mailbox;
let receiver: Receiver;
const open = new AsyncDisposableStack();

test.before(async () => {
  mailbox = open.adopt(await startMailbox(), (it) => it.close());
  receiver = open.adopt(await startReceiver(), (it) => it.close());
  stack = open.adopt(
    await startStack({
      pools: ['orchestrator', 'delivery'],
      env: {
        SMTP_URL: mailbox.url,
        MAIL_FROM: FROM,
        FREE_CREDITS: `${FREE_CREDITS}`,
        RATE_LIMIT: '1000:1000',
        TRUST_PROXY: 'true',
        LOG_LEVEL: 'info',
      },
    }),
    (it) => it.stop(),
  );
  store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
});
test.after.always(() => open.disposeAsync());

/** Limits count by address, so each test uses another address. */
const elsewhere = () => ({ 'X-Forwarded-For': `198.51.${randomInt(256)}.${randomInt(256)}` });

const anonymous = (credentials: Credentials = { email: '', password: '' }): Visitor =>
  visitor(stack, '', credentials);

const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  anonymous().postRaw(path, fields, { ...elsewhere(), ...headers });

/** Headers with which a hostile program could influence the links. */
const EVIL_HOST = { 'X-Forwarded-Host': 'evil.example', Origin: 'http://evil.example' };

/** Returns the path under /dashboard of the link in a mail. */
function pathIn({ links }: Received): string {
  const prefix = `${stack.baseUrl}/dashboard`;
  const link = links.find((it) => it.startsWith(`${prefix}/`));
  if (link === undefined) throw new Error(`the mail links to ${links}`);
  return link.slice(prefix.length);
}

const subjectsTo = (email: string): string[] =>
  mailbox
    .to(email)
    .flatMap(({ headers }) => headers.filter(([name]) => name === 'Subject').map(([, it]) => it));

async function wordsOf(t: ExecutionContext, response: Response): Promise<string> {
  return mainText(await pageOf(t, response));
}

const fieldOf = (elements: readonly Element[], name: string): string => {
  const field = elements.find((element) => attribute(element, 'name') === name);
  return (field && attribute(field, 'value')) ?? '';
};

const creditsOf = async (email: string) => {
  const account = await store.accounts.findOne({ email });
  return (
    account && {
      balance: account.balance,
      lines: await store.entries.countDocuments({ accountId: account._id }),
    }
  );
};

const signIn = (credentials: Credentials) =>
  post('/sign-in', { email: credentials.email, password: credentials.password });

/** Signs up and follows the link. */
async function newOwner(t: ExecutionContext): Promise<Visitor> {
  const credentials = freshCredentials();
  t.is((await post('/sign-up', { ...credentials })).status, 200);
  const [mail] = await mailbox.until(credentials.email);
  if (mail === undefined) throw new Error('no mail');
  t.is((await anonymous().get(pathIn(mail))).status, 303);
  return visitor(stack, cookieOf(await signIn(credentials)), credentials);
}

test('a sign-up creates the account and its credits once the email is verified, and only once', async (t) => {
  const credentials = freshCredentials();
  const signedUp = await post('/sign-up', { ...credentials }, EVIL_HOST);
  t.is(signedUp.status, 200);
  t.deepEqual(signedUp.headers.getSetCookie(), []);
  t.regex(await wordsOf(t, signedUp), new RegExp(`We sent an email to ${credentials.email}`));

  const early = await signIn(credentials);
  t.is(early.status, 403);
  t.deepEqual(early.headers.getSetCookie(), []);
  const elements = await pageOf(t, early);
  t.regex(mainText(elements), /not verified yet/);
  t.is(fieldOf(elements, 'email'), credentials.email);
  t.is(await creditsOf(credentials.email), null);

  const [mail] = await mailbox.until(credentials.email);
  if (mail === undefined) return t.fail();
  t.deepEqual({ from: mail.from, to: mail.to }, { from: FROM, to: [credentials.email] });
  const headers = Object.fromEntries(mail.headers);
  t.like(headers, {
    From: `Utility Tools <${FROM}>`,
    To: credentials.email,
    'Auto-Submitted': 'auto-generated',
  });
  t.regex(headers['Content-Type'] ?? '', /^text\/plain/);
  t.is(mail.links.length, 1);
  // Navigates like a browser that comes from webmail.
  const navigate = () =>
    anonymous().get(pathIn(mail), { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' });
  const followed = await navigate();
  t.is(followed.status, 303);
  const location = followed.headers.get('location') ?? '';
  t.is(location, '/dashboard/sign-in?done=verified');
  t.deepEqual(followed.headers.getSetCookie(), []);
  t.regex(await wordsOf(t, await anonymous().get('/sign-in?done=verified')), /address is verified\. Sign in/);
  t.is((await navigate()).headers.get('location'), location, 'a link scanner may have followed it before');

  const sessions = await Promise.all(Array.from({ length: 3 }, () => signIn(credentials)));
  t.deepEqual(
    sessions.map(({ status }) => status),
    [303, 303, 303],
  );
  t.deepEqual(await creditsOf(credentials.email), { balance: FREE_CREDITS, lines: 1 });
});

test('a sign-up gives the same response whether or not the email is taken', async (t) => {
  const [owner, fresh] = [await newOwner(t), freshCredentials()];
  const ofOperator = await makeAccount(stack, 5);
  const seen = new Set<string>();
  const raw = new Set<string>();
  for (const { email } of [fresh, owner, ofOperator]) {
    const page = await post('/sign-up', { email, password: 'one of my own' });
    const headers = [...page.headers.keys()].sort().join();
    seen.add(`${page.status} ${headers} ${(await wordsOf(t, page)).replaceAll(email, 'E')}`);
    const body = { name: 'Test', email, password: 'one of my own' };
    const json = await postAuth(stack.baseUrl, 'sign-up/email', body, elsewhere());
    raw.add(`${json.status} ${[...json.headers.keys()].sort().join()} ${await json.text()}`);
  }
  t.is(seen.size, 1);
  t.is(raw.size, 1);
  await mailbox.until(owner.email, 3);
  t.deepEqual(subjectsTo(owner.email), [
    'Verify your email address',
    'You already have an account',
    'You already have an account',
  ]);
  t.is((await signIn({ ...owner, password: 'one of my own' })).status, 401);
  t.is((await signIn(owner)).status, 303);
});

test('an expired, foreign or forged link verifies nothing, and a new link can be requested', async (t) => {
  const credentials = freshCredentials();
  await post('/sign-up', { ...credentials });
  await mailbox.until(credentials.email);
  const user = await store.db.collection('users').findOne({ email: credentials.email });
  const other = await store.db.collection('users').findOne({ email: { $ne: credentials.email } });
  const secret = loadKeyring(readEnv(stack.env)).derive('session').toString('base64url');
  const tokenOf = (id: unknown, seconds: number, key = secret) =>
    createEmailVerificationToken(key, credentials.email, undefined, seconds, { userId: String(id) });
  for (const token of [
    await tokenOf(user?._id, -1),
    await tokenOf(other?._id ?? 'none', 3600),
    await tokenOf(user?._id, 3600, 'another secret of another service'),
    'made up',
  ]) {
    const dead = await anonymous().get(`/verify?${new URLSearchParams({ token })}`);
    t.is(dead.status, 410);
    t.regex(await wordsOf(t, dead), /This link has expired/);
  }
  t.is((await signIn(credentials)).status, 403);

  const again = await post('/verify', { email: credentials.email });
  t.is(again.status, 200);
  const stranger = freshCredentials();
  const unknown = await post('/verify', { email: stranger.email });
  t.is(
    (await wordsOf(t, unknown)).replaceAll(stranger.email, 'E'),
    (await wordsOf(t, again)).replaceAll(credentials.email, 'E'),
  );
  const [, second] = await mailbox.until(credentials.email, 2);
  if (second === undefined) return t.fail();
  t.is((await anonymous().get(pathIn(second))).status, 303);
  t.is((await signIn(credentials)).status, 303);
  t.deepEqual(mailbox.to(stranger.email), []);
  // Already verified: no mail is sent.
  await post('/verify', { email: credentials.email });
  t.is((await post('/verify', { email: 'no e-mail' })).status, 422);
  t.is(subjectsTo(credentials.email).length, 2);
});

test('the number of mails per address is limited, and unknown emails give the same responses', async (t) => {
  const known = await makeUser(stack, 'owner');
  for (const [path, { email }] of [
    ['/forgot-password', known],
    ['/forgot-password', freshCredentials()],
    ['/verify', freshCredentials()],
  ] as const) {
    const statuses: number[] = [];
    let last: Response | undefined;
    for (let i = 0; i < 7; i++) {
      last = await post(path, { email });
      statuses.push(last.status);
    }
    t.true(statuses.includes(200));
    t.is(last?.status, 429, `${path} ${statuses}`);
    t.true(Number(last?.headers.get('retry-after')) > 0);
    t.regex(last ? await wordsOf(t, last) : '', /Too many attempts\. Try again in/);
  }
  t.true(mailbox.to(known.email).length <= 6);
});

/** Requests a password reset. Returns the path of the link in the mail. */
async function requestPasswordReset(email: string): Promise<string> {
  const before = mailbox.to(email).length;
  const response = await post('/forgot-password', { email });
  if (response.status !== 200) throw new Error(`${response.status}`);
  const mails = await mailbox.until(email, before + 1);
  const last = mails.at(-1);
  if (last === undefined) throw new Error('no mail');
  return pathIn(last);
}

const tokenOf = (path: string): string => new URLSearchParams(path.split('?')[1]).get('token') ?? '';

test('a password reset works once by its link, and ends every session', async (t) => {
  const owner = await newOwner(t);
  const other = visitor(stack, cookieOf(await signIn(owner)), owner);
  const stranger = freshCredentials();
  const unknown = await post('/forgot-password', { email: stranger.email });
  const asked = await post('/forgot-password', { email: owner.email }, EVIL_HOST);
  t.is(unknown.status, asked.status);
  t.is(
    (await wordsOf(t, unknown)).replaceAll(stranger.email, 'E'),
    (await wordsOf(t, asked)).replaceAll(owner.email, 'E'),
  );
  const [, mail] = await mailbox.until(owner.email, 2);
  if (mail === undefined) return t.fail();
  const path = pathIn(mail);
  const token = tokenOf(path);
  const rows = JSON.stringify(await store.db.collection('verifications').find().toArray());
  t.false(rows.includes(token), 'a reader of the database cannot use it');

  const form = await pageOf(t, await anonymous().get(path));
  t.is(fieldOf(form, 'token'), token);
  const short = await post('/reset-password', { token, newPassword: 'short' });
  t.is(short.status, 422);
  t.regex(await wordsOf(t, short), /The password is too short/);
  t.is((await other.get('')).status, 200);

  const passwords = Array.from({ length: 3 }, () => randomUUID());
  const answers = await Promise.all(
    passwords.map((newPassword) => post('/reset-password', { token, newPassword })),
  );
  const statuses = answers.map(({ status }) => status);
  t.deepEqual(statuses.toSorted(), [303, 410, 410]);
  const won = statuses.indexOf(303);
  t.is(answers[won]?.headers.get('location'), '/dashboard/sign-in?done=reset');
  t.deepEqual(answers[won]?.headers.getSetCookie(), []);
  for (const session of [owner, other]) t.is((await session.get('')).status, 303);
  t.is((await signIn(owner)).status, 401);
  for (const [index, password] of passwords.entries())
    t.is((await signIn({ email: owner.email, password })).status, index === won ? 303 : 401);

  const dead = await anonymous().get(path);
  t.is(dead.status, 410);
  t.regex(await wordsOf(t, dead), /can be used once and is valid for one hour/);
  t.deepEqual(mailbox.to(stranger.email), []);
});

test('a reset link expires after an hour and cannot be guessed', async (t) => {
  const owner = await newOwner(t);
  const path = await requestPasswordReset(owner.email);
  const user = await store.db.collection('users').findOne({ email: owner.email });
  const { modifiedCount } = await store.db
    .collection('verifications')
    .updateMany({ value: String(user?._id) }, { $set: { expiresAt: new Date(Date.now() - 1000) } });
  t.is(modifiedCount, 1);
  t.is((await anonymous().get(path)).status, 410);
  const fields = { token: tokenOf(path), newPassword: 'another password' };
  t.is((await post('/reset-password', fields)).status, 410);
  t.is((await signIn(owner)).status, 303);

  const headers = elsewhere();
  let guess = await post('/reset-password', { ...fields, token: randomUUID() }, headers);
  for (let i = 0; i < 40 && guess.status === 410; i++)
    guess = await post('/reset-password', { ...fields, token: randomUUID() }, headers);
  t.is(guess.status, 429);
});

test('a password reset by mail verifies the email', async (t) => {
  const credentials = freshCredentials();
  await post('/sign-up', { ...credentials });
  await mailbox.until(credentials.email);
  const token = tokenOf(await requestPasswordReset(credentials.email));
  t.is((await post('/reset-password', { token, newPassword: 'of the owner' })).status, 303);
  t.is((await signIn(credentials)).status, 401, 'not with the password from the sign-up');
  t.is((await signIn({ ...credentials, password: 'of the owner' })).status, 303);
  t.deepEqual(await creditsOf(credentials.email), { balance: FREE_CREDITS, lines: 1 });
});

test('an email address changes when the link in the mail to the new address is confirmed', async (t) => {
  const owner = await newOwner(t);
  const [to, taken] = [freshCredentials().email, (await newOwner(t)).email];
  const ask = (email: string, password = owner.password) =>
    owner.post('/settings/profile/email', { email, password }, elsewhere());
  for (const [email, password, words] of [
    ['no address', owner.password, /Enter a valid email address/],
    [owner.email, owner.password, /already your email address/],
    [to, 'wrong', /The current password is wrong/],
  ] as const) {
    const refused = await ask(email, password);
    t.is(refused.status, 422);
    t.regex(await wordsOf(t, refused), words);
  }
  // Whether an address is taken is not revealed.
  const [words, wordsOfTaken] = [await wordsOf(t, await ask(to)), await wordsOf(t, await ask(taken))];
  t.is(words.replaceAll(to, ''), wordsOfTaken.replaceAll(taken, ''));
  t.regex(words, /we sent a link to it/);
  const [mail] = await mailbox.until(to);
  if (mail === undefined) return t.fail();
  t.is(subjectsTo(taken).length, 1);

  // Opening the link changes nothing, because mail scanners open links too.
  const opened = await anonymous().get(pathIn(mail));
  t.is(opened.status, 200);
  t.true((await wordsOf(t, opened)).includes(to));
  t.not(await creditsOf(owner.email), null);
  const token = new URL(`http://x${pathIn(mail)}`).searchParams.get('token') ?? '';
  const stored = await store.db.collection('verifications').find().toArray();
  t.false(JSON.stringify(stored).includes(token));
  const reset = await post('/forgot-password', { email: owner.email });
  t.is(reset.status, 200);
  const resetMail = (await mailbox.until(owner.email, 2)).at(-1);
  if (resetMail === undefined) return t.fail();

  const confirmed = await Promise.all([1, 2, 3].map(() => post('/confirm-email', { token })));
  t.deepEqual(confirmed.map(({ status }) => status).sort(), [200, 410, 410]);
  t.is(await creditsOf(owner.email), null);
  t.like(await creditsOf(to), { balance: FREE_CREDITS });
  t.is((await signIn(owner)).status, 401);
  t.is((await signIn({ email: to, password: owner.password })).status, 303);
  t.is((await anonymous().get(pathIn(resetMail))).status, 410);
  const notice = (await mailbox.until(owner.email, 3)).at(-1);
  t.true(notice?.body.includes(to));
  const log = await wordsOf(t, await owner.get('/settings/security-log'));
  t.regex(
    log,
    new RegExp(`Email address changed ${owner.email} → ${to} .*Change of email address requested ${taken} `),
  );
  // The old address can sign up again, without free credits.
  t.is((await post('/sign-up', { email: owner.email, password: owner.password })).status, 200);
  const verification = (await mailbox.until(owner.email, 4)).at(-1);
  if (verification === undefined) return t.fail();
  await anonymous().get(pathIn(verification));
  t.is((await signIn({ email: owner.email, password: owner.password })).status, 303);
  t.like(await creditsOf(owner.email), { balance: 0 });
});

test('a link to change the email address ends with the password, after an hour, and when the address is taken', async (t) => {
  const owner = await newOwner(t);
  const link = async (email: string) => {
    await owner.post('/settings/profile/email', { email, password: owner.password }, elsewhere());
    const [mail] = await mailbox.until(email);
    if (mail === undefined) throw new Error('no mail');
    return new URL(`http://x${pathIn(mail)}`).searchParams.get('token') ?? '';
  };
  const confirm = async (token: string) => (await post('/confirm-email', { token })).status;
  t.is(await confirm('made-up'), 410);

  const later = freshCredentials();
  const token = await link(later.email);
  t.is((await post('/sign-up', { ...later })).status, 200);
  const [, verify] = await mailbox.until(later.email, 2);
  if (verify === undefined) return t.fail();
  t.is((await anonymous().get(pathIn(verify))).status, 303);
  t.is(await confirm(token), 409);
  t.like(await creditsOf(owner.email), { balance: FREE_CREDITS });

  const expired = await link(freshCredentials().email);
  await store.db
    .collection('verifications')
    .updateMany({ value: { $regex: owner.email } }, { $set: { expiresAt: new Date() } });
  t.is(await confirm(expired), 410);

  const before = await link(freshCredentials().email);
  const newPassword = 'another password';
  const form = { currentPassword: owner.password, newPassword };
  t.is((await owner.post('/settings/password', form, elsewhere())).status, 303);
  t.is(await confirm(before), 410);
});

test('an owner who switches it on gets one mail a day about refused requests', async (t) => {
  const owner = await newOwner(t);
  const made = await owner.post('/keys', { name: 'website', scope: 'tools' });
  const key = /ut_[0-9A-Za-z]{36}/.exec(await made.text())?.[0] ?? '';
  t.is((await owner.post('/credits/attention', { mails: 'on' })).status, 303);
  t.regex(await wordsOf(t, await owner.get('/credits')), /Stop these emails/);
  for (const tool of ['hash-text', 'qr-generate']) t.is((await callWith(stack, key, tool, {})).status, 422);
  const mail = (await mailbox.until(owner.email, 2)).at(-1);
  t.regex(mail?.body ?? '', /invalid_input: hash-text with the key ut_/);
  t.true(mail?.links.includes(`${stack.baseUrl}/dashboard/calls/refused`));
  const { _id: accountId } = (await store.accounts.findOne({ email: owner.email })) ?? t.fail('no account');
  await store.notices.insertOne({
    ...{
      _id: 'key_1 2026-01-01 80',
      kind: 'budget',
      accountId,
      keyId: 'key_1',
      keyName: 'shop',
      period: 'day',
    },
    ...{ percent: 80, credits: 500, at: new Date(), tries: 0, dueAt: new Date() },
  });
  const budget = (await mailbox.until(owner.email, 3)).at(-1);
  t.regex(budget?.body ?? '', /shop\s+reached 80 % of its budget of 500 credits per day/);
  await store.notices.insertOne({
    ...{ _id: 'topup-ent_1', kind: 'topUp', accountId, reason: 'declined', isOff: true },
    ...{ at: new Date(), tries: 0, dueAt: new Date() },
  });
  const topUp = (await mailbox.until(owner.email, 4)).at(-1);
  t.regex(topUp?.body ?? '', /The bank declined the payment\. Automatic top-ups are now switched off\./);
  t.is((await owner.post('/credits/attention', { mails: 'off' })).status, 303);
  t.regex(await wordsOf(t, await owner.get('/credits')), /Send me these emails/);
});

test('users that an operator created can sign in as before', async (t) => {
  const credentials = await makeUser(stack, 'owner');
  t.is((await signIn(credentials)).status, 303);
});

test('forms of other origins send no mail, and no URL in a form or query changes the links', async (t) => {
  const owner = await newOwner(t);
  const sent = mailbox.to(owner.email).length;
  const evil = 'https://evil.example/';
  for (const path of ['/sign-up', '/verify', '/forgot-password', '/reset-password']) {
    const fields = { email: owner.email, password: 'long enough', token: 'x', newPassword: 'long enough' };
    t.is((await post(path, fields, { Origin: evil })).status, 403);
  }
  t.is(mailbox.to(owner.email).length, sent);

  const lure = { callbackURL: evil, redirectTo: evil, next: evil };
  const query = new URLSearchParams(lure);
  const credentials = freshCredentials();
  await post(`/sign-up?${query}`, { ...credentials, ...lure });
  await post(`/verify?${query}`, { ...credentials, ...lure });
  const mails = await mailbox.until(credentials.email, 2);
  for (const mail of mails) {
    t.false(mail.body.includes('evil'));
    const followed = await anonymous().get(`${pathIn(mail)}&${query}`);
    t.is(followed.headers.get('location'), '/dashboard/sign-in?done=verified');
  }
  t.is((await post(`/forgot-password?${query}`, { email: credentials.email, ...lure })).status, 200);
  const reset = (await mailbox.until(credentials.email, 3)).at(-1);
  t.false(reset?.body.includes('evil'));
  const fields = { token: tokenOf(reset ? pathIn(reset) : ''), newPassword: 'long enough', ...lure };
  const done = await post(`/reset-password?${query}`, fields);
  t.is(done.headers.get('location'), '/dashboard/sign-in?done=reset');
  // Nor can /api/auth, which would accept such URLs, be used for this.
  for (const path of ['request-password-reset', 'reset-password', 'send-verification-email', 'verify-email'])
    t.is(
      (await postAuth(stack.baseUrl, path, { email: credentials.email, ...lure }, elsewhere())).status,
      404,
    );
});

test('a mail server that hangs or refuses delays no request, and no log contains a link', async (t) => {
  const [waiting, refused] = [freshCredentials(), freshCredentials()];
  const held = mailbox.hold();
  try {
    t.is((await post('/sign-up', { ...waiting })).status, 200);
    t.deepEqual(mailbox.to(waiting.email), []);
  } finally {
    held.release();
  }
  await mailbox.until(waiting.email);

  mailbox.refuse(refused.email, true);
  t.is((await post('/sign-up', { ...refused })).status, 200);
  const read = () => readFile(join(stack.dataDir, 'logs', 'api.log'), 'utf8');
  await until('it is counted', async () => {
    const metrics = await (await fetch(`${stack.internalUrl}/metrics`)).text();
    return /utility_tools_mails_total\{kind="verify",outcome="failed",.*\} 1\n/.test(metrics);
  });
  await until('it is logged', async () =>
    /"kind":"verify",.*"msg":"an email could not be sent"/.test(await read()),
  );
  mailbox.refuse(refused.email, false);
  await post('/verify', { email: refused.email });
  const [mail] = await mailbox.until(refused.email);
  const path = mail === undefined ? '' : pathIn(mail);
  t.is((await anonymous().get(path)).status, 303);
  const log = await read();
  t.true(log.includes('/dashboard/verify'), 'requests are logged');
  for (const word of [tokenOf(path), waiting.email, refused.email, waiting.password])
    t.false(log.includes(word));
});

/** Once a first attempt to send this notice has failed, repairs the cause and makes the notice due. */
async function retryNotice(which: Partial<NoticeDoc>, repair: () => unknown): Promise<void> {
  await until('the first attempt has failed', async () => {
    const notice = await store.notices.findOne(which);
    if (notice === null || notice.tries === 0) return false;
    if (notice.dueAt === null) throw new Error('it was sent');
    // A notice is reserved for two minutes while it is being sent.
    return notice.dueAt.getTime() - Date.now() <= 60_000;
  });
  await repair();
  await store.notices.updateOne(which, { $set: { dueAt: new Date() } });
}

/** Creates an endpoint that the next failure disables. */
async function createFailingEndpoint(owner: Visitor): Promise<string> {
  const made = await owner.post('/webhooks', { url: receiver.url, events: 'credits.low' });
  const [, id = ''] = /webhooks\/(whe_[\w-]+)\/test/.exec(await made.text()) ?? [];
  await store.webhookEndpoints.updateOne({ _id: id }, { $set: { failures: 19 } });
  return id;
}

test('the owner of a disabled endpoint gets one mail, even if the first attempt fails', async (t) => {
  receiver.answer(() => ({ status: 500 }));
  const owner = await newOwner(t);
  const id = await createFailingEndpoint(owner);
  await store.webhookEndpoints.updateOne({ _id: id }, { $set: { url: `${receiver.url}?key=secret` } });
  mailbox.refuse(owner.email, true);
  t.is((await owner.post(`/webhooks/${id}/test`)).status, 303);
  t.regex(await wordsOf(t, await owner.get(`/webhooks/${id}`)), /State disabled/);
  await retryNotice({ endpointId: id }, () => mailbox.refuse(owner.email, false));
  const [, mail] = await mailbox.until(owner.email, 2);
  if (mail === undefined) return t.fail();
  t.regex(
    mail.body,
    /was disabled on \d{4}-\d\d-\d\d \d\d:\d\d UTC because 20 consecutive delivery attempts failed/,
  );
  t.true(mail.body.includes(`${receiver.url}\n`));
  t.false(mail.body.includes('secret'));
  t.is(pathIn(mail), `/webhooks/${id}`);

  // A mail for another owner follows all mails for the first.
  const next = await newOwner(t);
  await next.post(`/webhooks/${await createFailingEndpoint(next)}/test`);
  await mailbox.until(next.email, 2);
  t.is(mailbox.to(owner.email).length, 2);
});

test('each disabling of an endpoint sends one mail, whatever is repeated', async (t) => {
  const { accountId } = await makeAccount(stack, 0);
  const endpointId = `whe_${randomUUID()}`;
  await store.webhookEndpoints.insertOne({
    _id: endpointId,
    accountId,
    url: 'http://localhost:9/',
    events: null,
    createdAt: new Date(),
    secret: '',
    next: null,
    state: 'active',
    failures: 19,
    epoch: 0,
    notBefore: null,
    disabledAt: null,
    turn: 0,
  });
  const count = () => store.notices.countDocuments({ endpointId });
  const turn = (number: number, epoch: number, failures: number, state: 'active' | 'disabled') =>
    syncEndpoint(store, {
      endpointId,
      now: Date.now(),
      turn: number,
      health: {
        state,
        failures,
        epoch,
        notBefore: null,
        disabledAt: state === 'disabled' ? Date.now() : null,
      },
      outcomes: [],
      running: [],
      take: 5,
    });
  await turn(1, 0, 20, 'disabled');
  await turn(1, 0, 20, 'disabled');
  t.is(await count(), 1);
  await turn(2, 1, 0, 'active');
  t.is(await count(), 1);
  await turn(3, 1, 7, 'disabled');
  t.is(await count(), 1, 'disabled by a user, not by failures');
  await turn(4, 2, 0, 'active');
  await turn(5, 2, 20, 'disabled');
  t.is(await count(), 2);
});

test('an alert that the owner set sends one mail when a charge crosses it, even if the first attempt fails', async (t) => {
  const owner = await newOwner(t);
  for (const threshold of ['0', '1.5', 'many', '1000000001']) {
    const refused = await owner.post('/credits/alerts', { threshold });
    t.is(refused.status, 422, threshold);
    t.regex(await wordsOf(t, refused), /must be a whole number from 1 to 1000000000/);
  }
  for (const threshold of ['70', '60', '50']) {
    const set = await owner.post('/credits/alerts', { threshold });
    t.is(set.headers.get('location'), '/dashboard/credits?done=alert');
  }
  t.is((await owner.post('/credits/alerts/remove', { threshold: '50' })).status, 303);
  t.regex(
    await wordsOf(t, await owner.get('/credits?done=no-alert')),
    /The alert was removed\..*below 70 credits Remove the alert below 70 below 60 credits Remove the alert below 60 Email me/,
  );
  t.regex(await wordsOf(t, await owner.get('')), /Set an alert \(done\)/);

  const accountId = (await store.accounts.findOne({ email: owner.email }))?._id ?? '';
  const ledger = createLedger(store, (error) => t.fail(String(error)));
  const spend = async (price: number) => {
    const call = {
      callId: randomUUID(),
      accountId,
      tool: 'hash-text',
      pool: 'cpu',
      price,
      maxRunning: null,
    } as const;
    await insertCalls(store, [call]);
    const held = await ledger.reserve(call);
    if (held.status !== 'held') throw new Error(held.status);
    await ledger.settle({ callId: call.callId, accountId, wanted: 'charged', nonce: held.nonce });
    await ledger.flush();
  };
  mailbox.refuse(owner.email, true);
  await spend(FREE_CREDITS - 55);
  await spend(1);
  await retryNotice({ accountId }, () => mailbox.refuse(owner.email, false));
  const [, mail] = await mailbox.until(owner.email, 2);
  if (mail === undefined) return t.fail();
  t.regex(mail.body, /fell below 70 and 60 credits on .* UTC\. After that call it was 55\./);
  t.is(subjectsTo(owner.email).at(-1), 'Your balance fell below 60 credits');
  t.is(pathIn(mail), '/credits');
  t.is(await store.notices.countDocuments({ accountId }), 1);
});

test('line breaks in texts cannot inject mail headers', async (t) => {
  const victim = `${randomUUID()}@example.com`;
  for (const email of [`a@example.com\r\nBcc: ${victim}`, `${victim}, b@example.com`, `"a" <${victim}>`]) {
    t.is((await post('/sign-up', { email, password: 'long enough' })).status, 422);
    t.is((await post('/forgot-password', { email })).status, 422);
  }
  // The same holds for values that the current validation would reject, but that are already stored.
  const { accountId, email } = await makeAccount(stack, 0);
  const url = `http://localhost/\r\nBcc: ${victim}\r\n\r\n<b>`;
  await store.accounts.updateOne(
    { _id: accountId },
    { $set: { email: `${email}\r\nBcc: ${victim}, ${victim}` } },
  );
  await store.notices.insertOne({
    _id: `x\r\nBcc: ${victim}`,
    accountId,
    endpointId: `\r\nBcc: ${victim}`,
    url,
    at: new Date(),
    tries: 0,
    dueAt: new Date(),
  });
  await retryNotice({ accountId }, () => store.accounts.updateOne({ _id: accountId }, { $set: { email } }));
  const [mail] = await mailbox.until(email);
  const names = mail?.headers.map(([name]) => name.toLowerCase()).toSorted() ?? [];
  t.deepEqual(names, [
    'auto-submitted',
    'content-transfer-encoding',
    'content-type',
    'date',
    'from',
    'message-id',
    'mime-version',
    'subject',
    'to',
  ]);
  t.deepEqual(mailbox.to(victim), []);
});

/** Creates a mailer and collects its log. */
function mailerOf(env: { SMTP_URL?: string; NODE_ENV?: string }) {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const mailer = createMailer({ env: readEnv(env), log: pino(sink), metrics: { mail: () => undefined } });
  return { mailer, lines };
}

const LETTER = {
  kind: 'reset',
  to: 'a@example.com',
  subject: 'Set a new password',
  text: 'http://127.0.0.1/x?token=abc',
  link: 'http://127.0.0.1/x?token=abc',
} as const;

test('without a mail server the link is logged, but not in production', async (t) => {
  const local = mailerOf({});
  t.deepEqual([local.mailer.delivers, local.mailer.reaches], [false, true]);
  await local.mailer.send(LETTER);
  t.true(local.lines.join('').includes(LETTER.link));
  const production = mailerOf({ NODE_ENV: 'production' });
  t.deepEqual([production.mailer.delivers, production.mailer.reaches], [false, false]);
  await production.mailer.send(LETTER);
  t.deepEqual(production.lines, []);
});

test('the password of the mail server is neither sent in plaintext nor logged', async (t) => {
  const asked: string[] = [];
  const server = new SMTPServer({
    allowInsecureAuth: true,
    hideSTARTTLS: true,
    disabledCommands: ['STARTTLS'],
    closeTimeout: 1000,
    onAuth: ({ password }, _session, done) => {
      asked.push(password ?? '');
      done(null, { user: 'me' });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await new Promise((resolve) => listening.once('listening', resolve));
  const address = listening.address();
  const port = typeof address === 'object' ? address?.port : 0;
  try {
    const { mailer, lines } = mailerOf({ SMTP_URL: `smtp://me:word-to-keep@127.0.0.1:${port}` });
    await t.throwsAsync(mailer.send(LETTER));
    t.deepEqual(asked, []);
    t.regex(lines.join(''), /an email could not be sent/);
    t.false(lines.join('').includes('word-to-keep'));
    t.false(lines.join('').includes('token=abc'));
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
});

test('the pages that wait for a mail, and those that mails link to, pass the checks in a browser', async (t) => {
  const { email, password } = freshCredentials();
  await using own = new AsyncDisposableStack();
  const tab = own.adopt(await startTab(stack.baseUrl), (it) => it.close());
  const { page, open: openPage, press, type, text } = tab;
  const follow = async (mails: number) => {
    const mail = (await mailbox.until(email, mails)).at(-1);
    if (mail === undefined) throw new Error('no mail');
    await openPage(`/dashboard${pathIn(mail)}`);
  };

  await openPage('/dashboard/sign-up');
  await type('Email', email);
  await page.type('#password', password);
  await press('Sign up');
  t.regex(await text(), /We sent an email to/);
  await inspect(t, tab);
  await follow(1);
  await inspect(t, tab);

  await openPage('/dashboard/forgot-password');
  await type('Email', email);
  await press('Send the link');
  t.regex(await text(), /we sent a link to it/);
  await inspect(t, tab);
  await follow(2);
  await inspect(t, tab);
  await page.type('#newPassword', 'another password');
  await press('Set the password');
  await inspect(t, tab);
  await follow(2);
  t.regex(await text(), /can be used once and is valid for one hour/);
  await inspect(t, tab);
  t.deepEqual(
    tab.complaints.filter((it) => !/status of 410/.test(it)),
    [],
  );
});
