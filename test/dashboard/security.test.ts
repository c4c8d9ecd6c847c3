import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { withStore } from '../helpers/account.ts';
import { newOwner, type Visitor, visitor } from '../helpers/dashboard.ts';
import { attribute, HOSTILE, linksOf, mainText, pageOf, shape, textOf } from '../helpers/markup.ts';
import { FREE_CREDITS, useStack } from '../helpers/profiles.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { cookieOf, postAuth, signIn } from '../helpers/session.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { makeUser } from '../helpers/users.ts';

let stack: SharedStack;
let receiver: Receiver;

test.before(async () => {
  stack = await useStack();
  receiver = await startReceiver();
});
test.after.always(async () => {
  receiver?.close();
  await stack?.stop();
});

const ALL_EVENTS = [
  'credits.low',
  'credits.exhausted',
  'credits.granted',
  'api_key.created',
  'api_key.revoked',
];

/** Creates an endpoint. Returns its path under /dashboard. */
async function addWebhook(t: ExecutionContext, owner: Visitor, url: string): Promise<string> {
  const made = await owner.post('/webhooks', [
    ['url', url],
    ...ALL_EVENTS.map((kind): [string, string] => ['events', kind]),
  ]);
  t.is(made.status, 201);
  const form = (await pageOf(t, made)).find((element) => attribute(element, 'action')?.endsWith('/test'));
  return ((form && attribute(form, 'action')) ?? '').replace('/dashboard', '').replace(/\/test$/, '');
}

/** Returns the id of a session that the owner's settings offer to end. */
async function otherSession(t: ExecutionContext, owner: Visitor): Promise<string> {
  const elements = await pageOf(t, await owner.get('/settings'));
  const actions = elements.flatMap((element) => attribute(element, 'action') ?? []);
  return actions.map((action) => /sessions\/(\w+)\/end$/.exec(action)?.[1]).find((id) => id) ?? '';
}

async function addKey(owner: Visitor, name: string): Promise<string> {
  await owner.post('/keys', { name, scope: 'tools' });
  return withStore(stack, async ({ apiKeys }) => (await apiKeys.findOne({ name }))?._id ?? '');
}

test("every form requires the token of its session, and another session's token is refused", async (t) => {
  const [owner, other] = [await newOwner(stack), await newOwner(stack)];
  const webhook = await addWebhook(t, owner, receiver.url);
  const id = await addKey(owner, randomUUID());
  const theirs = await other.formToken();
  t.not(theirs, await owner.formToken());
  const again = visitor(stack, await signIn(stack.baseUrl, owner), owner);
  const session = await otherSession(t, owner);
  t.not(await again.formToken(), await owner.formToken());
  for (const path of [
    '/keys',
    ...['change', 'rotate', 'revoke'].map((act) => `/keys/${id}/${act}`),
    '/webhooks',
    ...['test', 'enable', 'rotate', 'activate', 'resend', 'change', 'delete'].map(
      (act) => `${webhook}/${act}`,
    ),
    `${webhook}/deliveries/dlv_1/resend`,
    '/events/resend',
    '/tools/hash-text',
    '/ledger/recompute',
    '/credits/buy',
    '/credits/alerts',
    '/credits/alerts/remove',
    '/credits/top-up',
    '/credits/top-up/off',
    '/credits/test-checkout',
    '/settings/password',
    '/settings/profile/name',
    '/settings/profile/email',
    ...['enable', 'verify', 'backup-codes', 'disable'].map((act) => `/settings/two-factor/${act}`),
    '/settings/close',
    '/settings/sessions/end-others',
    `/settings/sessions/${session}/end`,
    '/sign-out',
  ])
    for (const formToken of [undefined, '', 'made up', theirs, await again.formToken()]) {
      const response = await owner.postRaw(path, {
        name: 'forged',
        scope: 'tools',
        text: 'a',
        pack: '1000',
        reference: randomUUID(),
        ...(formToken !== undefined && { formToken }),
      });
      t.is(response.status, 403, `${path} ${formToken}`);
    }
  t.is((await owner.get(webhook)).status, 200);
  t.is((await again.get('')).status, 200);
  t.false(mainText(await pageOf(t, await owner.get('/keys'))).includes('revoked'));
  t.is(await withStore(stack, ({ apiKeys }) => apiKeys.countDocuments({ name: 'forged' })), 0);
  const bought = await withStore(stack, async ({ accounts, payments }) => {
    const { _id: accountId } = (await accounts.findOne({ email: owner.email })) ?? t.fail('no account');
    return payments.countDocuments({ accountId });
  });
  t.is(bought, 0);
});

test('requests from pages of other origins are refused, with or without the right token', async (t) => {
  const owner = await newOwner(stack);
  for (const headers of [
    { Origin: 'https://evil.example' },
    { Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'null' },
    { Origin: '', 'Sec-Fetch-Site': 'cross-site' },
    { Origin: '', 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'navigate' },
  ]) {
    const { email, password } = owner;
    const signIn = await owner.postRaw('/sign-in', { email, password }, headers);
    t.is(signIn.status, 403);
    t.deepEqual(signIn.headers.getSetCookie(), []);
    t.is((await pageOf(t, signIn)).filter(({ tagName }) => tagName === 'h1').length, 1);
    t.is((await owner.postRaw('/sign-up', { email: 'a@example.com', password }, headers)).status, 403);
    t.is((await owner.post('/keys', { name: 'forged', scope: 'tools' }, headers)).status, 403);
    t.is((await owner.post('/sign-out', {}, headers)).status, 403);
  }
  t.is((await owner.get('')).status, 200);
  t.false(mainText(await pageOf(t, await owner.get('/keys'))).includes('forged'));
});

test("another account's ids are not found", async (t) => {
  const [owner, other] = [await newOwner(stack), await newOwner(stack)];
  const webhook = await addWebhook(t, owner, receiver.url);
  const id = await addKey(owner, randomUUID());
  const unknown = { key: `key_${randomUUID()}`, webhook: `/webhooks/whe_${randomUUID()}` };
  const notFound = async (response: Response) => {
    t.is(response.status, 404, response.url);
    return mainText(await pageOf(t, response)).replace(/req_[\w-]+/, '');
  };
  t.is(await notFound(await other.get(webhook)), await notFound(await other.get(unknown.webhook)));
  for (const act of ['test', 'enable', 'rotate', 'activate', 'resend', 'change', 'delete']) {
    const fields = { url: 'http://localhost:1/', events: 'credits.low', hours: '1' };
    await notFound(await other.post(`${webhook}/${act}`, fields));
    await notFound(await other.post(`${unknown.webhook}/${act}`, fields));
  }
  for (const path of [webhook, unknown.webhook]) {
    const endpointId = path.replace('/webhooks/', '');
    await notFound(await other.post('/events/resend', { endpointId, deliveryId: 'dlv_1' }));
  }
  t.is(
    await notFound(await other.get(`/keys/${id}`)),
    await notFound(await other.get(`/keys/${unknown.key}`)),
  );
  for (const key of [id, unknown.key])
    for (const act of ['change', 'rotate', 'revoke'])
      await notFound(await other.post(`/keys/${key}/${act}`, { name: 'forged', overlapHours: '0' }));
  const again = visitor(stack, await signIn(stack.baseUrl, owner), owner);
  const session = await otherSession(t, owner);
  t.not(session, '');
  t.is(
    await notFound(await other.post(`/settings/sessions/${session}/end`)),
    await notFound(await other.post('/settings/sessions/none/end')),
  );
  t.is((await again.get('')).status, 200);
  t.regex(mainText(await pageOf(t, await owner.get('/keys'))), /live/);
  t.true(mainText(await pageOf(t, await owner.get(webhook))).includes(receiver.url));
});

test('the operator pages are accessible to operators only', async (t) => {
  const owner = await newOwner(stack);
  const accountId = await withStore(
    stack,
    async ({ accounts }) => (await accounts.findOne({ email: owner.email }))?._id ?? '',
  );
  const path = `/operator/accounts/${accountId}`;
  const fields = { amount: '1000', reason: 'for me', reference: randomUUID() };
  for (const response of [
    await owner.get('/operator'),
    await owner.get(path),
    await owner.get('/operator/calls/x'),
    await owner.get('/operator/payments/x'),
    await owner.get(`${path}/security`),
    await owner.get('/operator/pools'),
    await owner.get('/operator/notice'),
    await owner.get(`${path}/adjustment`),
    await owner.post(`${path}/adjustment`, fields),
    await owner.post('/operator/notice/end'),
    await owner.post(path, fields),
    await owner.post(`${path}/allowance`, { monthlyAllowance: '1000' }),
  ])
    t.is(response.status, 404);
  t.regex(mainText(await pageOf(t, await owner.get(''))), new RegExp(`Available ${FREE_CREDITS} `));
  const credentials = await makeUser(stack, 'operator');
  const operator = visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
  t.is((await operator.get(path)).status, 200);
  t.is((await operator.postRaw(path, fields)).status, 403);
  t.is((await operator.postRaw(`${path}/allowance`, { monthlyAllowance: '1' })).status, 403);
  t.is((await operator.get('/operator/accounts/acc_none')).status, 404);
});

test('visitors who are not signed in are redirected to the sign-in from every page, and change nothing', async (t) => {
  const anonymous = visitor(stack, '', { email: '', password: '' });
  for (const path of [
    '',
    '/tools',
    '/tools/ping',
    '/calls',
    '/calls/x',
    '/keys/x',
    '/keys/x/first-call',
    '/ledger',
    '/ledger/statement.csv',
    '/calls/calls.csv',
    '/webhooks/x/deliveries/x',
    '/credits/receipts/x',
    '/credits/receipts/x/receipt.pdf',
    '/credits/receipts/x/stripe',
    '/credits/invoices/x',
    '/credits/invoices/x/invoice.pdf',
    '/keys',
    '/webhooks',
    '/webhooks/x',
    '/events',
    '/credits',
    '/credits/test-checkout',
    '/settings',
    '/settings/security-log',
    '/settings/profile',
    '/settings/two-factor',
    '/settings/export.ndjson',
    '/settings/close',
    '/operator',
    '/operator/accounts/x',
    '/operator/incidents',
    '/operator/incidents/x',
    '/operator/calls/x',
    '/operator/invoices/x',
    '/operator/pools',
    '/operator/notice',
  ]) {
    const response = await anonymous.get(path);
    t.is(response.status, 303, path);
    t.is(response.headers.get('location'), '/dashboard/sign-in');
  }
  for (const path of [
    '/keys',
    '/webhooks',
    '/tools/hash-text',
    '/credits/buy',
    '/credits/test-checkout',
    '/settings/password',
    '/operator/accounts/x',
    '/operator/accounts/x/allowance',
    '/events/resend',
    '/tools/hash-text',
    '/settings/password',
    '/operator/accounts/x/adjustment',
    '/operator/incidents/x',
    '/operator/notice',
    '/operator/notice/end',
    '/notice/dismiss',
  ])
    t.is(
      (await anonymous.postRaw(path, { name: 'forged', scope: 'tools' })).headers.get('location'),
      '/dashboard/sign-in',
    );
});

test('markup in stored texts is escaped: key names, URLs, trial inputs', async (t) => {
  const plainOwner = await newOwner(stack);
  await plainOwner.post('/keys', { name: 'plain', scope: 'tools' });
  const plainPath = await addWebhook(t, plainOwner, 'http://localhost:3999/plain');
  const plain = {
    keys: shape(await pageOf(t, await plainOwner.get('/keys'))),
    events: shape(await pageOf(t, await plainOwner.get('/events'))),
    webhooks: shape(await pageOf(t, await plainOwner.get('/webhooks'))),
    webhook: shape(await pageOf(t, await plainOwner.get(plainPath))),
  };
  for (const text of HOSTILE) {
    const owner = await newOwner(stack);
    await owner.post('/keys', { name: text, scope: 'tools' });
    const keys = await pageOf(t, await owner.get('/keys'));
    t.deepEqual(shape(keys), plain.keys);
    t.true(keys.some((element) => element.tagName === 'td' && textOf(element) === text));
    const events = await pageOf(t, await owner.get('/events'));
    t.deepEqual(shape(events), plain.events);
    t.true(events.some((element) => element.tagName === 'td' && textOf(element).includes(text)));

    // The same holds for a URL that the current validation would reject, but that is already stored.
    const path = await addWebhook(t, owner, 'http://localhost:3999/plain');
    await withStore(stack, ({ webhookEndpoints }) =>
      webhookEndpoints.updateOne({ _id: path.replace('/webhooks/', '') }, { $set: { url: text } }),
    );
    t.deepEqual(shape(await pageOf(t, await owner.get('/webhooks'))), plain.webhooks);
    const webhook = await pageOf(t, await owner.get(path));
    t.deepEqual(shape(webhook), plain.webhook);
    t.true(webhook.some((element) => element.tagName === 'dd' && textOf(element) === text));

    const refused = await owner.post('/webhooks', { url: text });
    t.is(refused.status, 422);
    await pageOf(t, refused);
    const tried = await pageOf(t, await owner.post('/tools/hash-text', { text }));
    t.false(tried.some(({ tagName }) => tagName === 'img'));
    const area = tried.find(({ tagName }) => tagName === 'textarea');
    t.is(area && textOf(area), text);
  }
});

test("markup in a receiver's response is escaped, and its failure is shown at once", async (t) => {
  const owner = await newOwner(stack);
  const path = await addWebhook(t, owner, receiver.url);
  const body = HOSTILE.join('\n');
  receiver.answer(() => ({ status: 500, body, headers: { 'Content-Type': 'text/html' } }));
  const tested = await owner.post(`${path}/test`);
  t.is(tested.status, 303);
  const page = await pageOf(
    t,
    await owner.get((tested.headers.get('location') ?? '').replace('/dashboard', '')),
  );
  receiver.answer(() => ({}));
  t.regex(mainText(page), /The test failed\. Your server answered 500/);
  t.regex(mainText(page), /Consecutive failures 1 of 20/);
  const shown = page.find(({ tagName }) => tagName === 'pre');
  t.is(shown && textOf(shown), body);
  t.false(page.some(({ tagName }) => tagName === 'img'));
});

test('internal errors and unknown pages are pages without internal details', async (t) => {
  const owner = await newOwner(stack);
  for (const response of [
    await owner.get('/nothing'),
    await owner.postRaw('/nothing/at/all', {}),
    await owner.postRaw('/calls', {}),
  ]) {
    t.is(response.status, 404);
    await pageOf(t, response);
  }
  await withStore(stack, ({ accounts }) => accounts.deleteOne({ email: owner.email }));
  const response = await owner.get('');
  t.is(response.status, 500);
  const words = mainText(await pageOf(t, response));
  t.regex(words, /An internal error occurred\. It was logged/);
  t.true(words.includes(response.headers.get('x-request-id') ?? 'none'));
  t.false(words.includes('has no account'));
});

test('without a mail server the password reset link is logged', async (t) => {
  const owner = await newOwner(stack);
  const anonymous = visitor(stack, '', owner);
  t.true(linksOf(await pageOf(t, await anonymous.get('/sign-in'))).includes('/dashboard/forgot-password'));
  const asked = await anonymous.postRaw('/forgot-password', { email: owner.email });
  t.regex(mainText(await pageOf(t, asked)), /This installation sends no mail/);
  const link = await until('it is printed', async () => {
    const log = await readFile(join(stack.dataDir, 'logs', 'api.log'), 'utf8');
    return new RegExp(`mail to ${owner.email} was not sent: .*?(http\\S+?)"`).exec(log)?.[1] ?? null;
  });
  const { pathname, searchParams } = new URL(link);
  t.is(pathname, '/dashboard/reset-password');
  const fields = { token: searchParams.get('token') ?? '', newPassword: 'another password' };
  t.is((await anonymous.postRaw('/reset-password', fields)).status, 303);
  t.is((await owner.get('')).status, 303);
  await signIn(stack.baseUrl, { ...owner, password: fields.newPassword });
  // There is nothing to verify here.
  t.is((await anonymous.get('/verify?token=x')).status, 404);
});

test('every response has the security headers', async (t) => {
  const owner = await newOwner(stack);
  const responses = [
    await owner.get(''),
    await owner.get('/keys'),
    await owner.get('/nothing'),
    await owner.get('/sign-in'),
    await visitor(stack, '', owner).get('/keys'),
    await owner.postRaw('/keys', {}),
  ];
  for (const { headers, url } of responses)
    for (const [name, value] of [
      ['x-frame-options', 'DENY'],
      ['x-content-type-options', 'nosniff'],
      ['referrer-policy', 'same-origin'],
      ['cross-origin-opener-policy', 'same-origin'],
      ['cross-origin-resource-policy', 'same-origin'],
      ['cache-control', 'no-store'],
    ] as const)
      t.is(headers.get(name), value, `${url} ${name}`);
});

test('a session id from before the sign-in is invalid after it', async (t) => {
  const owner = await newOwner(stack);
  const planted = 'utility-tools.session_token=planted.by.somebody';
  const response = await postAuth(stack.baseUrl, 'sign-in/email', owner, {
    Cookie: planted,
    Origin: stack.baseUrl,
  });
  t.false(cookieOf(response).includes('planted'));
  t.is((await visitor(stack, planted, owner).get('')).status, 303);
});

test('no URL redirects to another site', async (t) => {
  const owner = await newOwner(stack);
  const evil = 'https://evil.example/';
  const query = new URLSearchParams({
    next: evil,
    redirect: evil,
    callbackURL: evil,
    cursor: evil,
    done: evil,
  });
  const anonymous = visitor(stack, '', owner);
  const locations = [
    await anonymous.postRaw(`/sign-in?${query}`, {
      email: owner.email,
      password: owner.password,
      next: evil,
    }),
    await anonymous.get(`/keys?${query}`, { 'X-Forwarded-Host': 'evil.example' }),
    await anonymous.get('//evil.example/'),
    await owner.get(`/sign-in?${query}`),
    await owner.post(`/sign-out?${query}`, { next: evil, callbackURL: evil }),
  ].map(({ headers }) => headers.get('location'));
  for (const location of locations)
    t.true(location === null || /^\/dashboard(\/|$)/.test(location), `${location}`);
});
