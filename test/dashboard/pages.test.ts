import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import test from 'ava';
import { parseFragment } from 'parse5';
import { resultView } from '../../api/dashboard/components/result.ts';
import { toolInput } from '../../api/dashboard/toolForm.ts';
import { EVENTS } from '../../schemas/events.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createPayments } from '../../store/billing/payments.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { newDelivery, newEvent } from '../../store/webhooks/events.ts';
import { withStore } from '../helpers/account.ts';
import { newOwner, type Visitor, visitor } from '../helpers/dashboard.ts';
import { auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import {
  attribute,
  type Element,
  elementsOf,
  fieldValue,
  find,
  linksOf,
  mainText,
  pageOf,
  rowsOf,
  textOf,
} from '../helpers/markup.ts';
import { FREE_CREDITS, useStack } from '../helpers/profiles.ts';
import { seededRandom } from '../helpers/random.ts';
import { cookieOf, freshCredentials, makeUser, postAuth, signIn } from '../helpers/session.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';

const registry = await loadRegistry();

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

/** Returns the links within the page that have no target. */
const brokenAnchors = (elements: readonly Element[]): string[] =>
  linksOf(elements).filter(
    (href) => href.startsWith('#') && find(elements, 'id', href.slice(1)) === undefined,
  );

const callWith = (key: string, tool = 'hash-text', body: unknown = { text: 'abc' }) =>
  fetch(`${stack.baseUrl}/api/v1/tools/${tool}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

async function madeKey(owner: Visitor, name = 'website'): Promise<string> {
  const made = await owner.post('/keys', { name, scope: 'tools' });
  return /ut_[0-9A-Za-z]{36}/.exec(await made.text())?.[0] ?? '';
}

test('a sign-up shows the free credits and the next steps', async (t) => {
  const { email, password } = freshCredentials();
  const anonymous = visitor(stack, '', { email, password });
  const form = await pageOf(t, await anonymous.get('/sign-up'));
  t.regex(mainText(form), /30 free credits/);
  const response = await anonymous.postRaw('/sign-up', { email, password });
  t.is(response.status, 303);
  t.is(response.headers.get('location'), '/dashboard');
  const owner = visitor(stack, await signIn(stack.baseUrl, { email, password }), { email, password });
  const overview = await pageOf(t, await owner.get(''));
  t.regex(mainText(overview), /Available 30 /);
  for (const path of ['/dashboard/tools', '/dashboard/keys', '/dashboard/webhooks'])
    t.true(linksOf(overview).includes(path));
});

test('invalid sign-ups are explained on the form', async (t) => {
  const taken = await newOwner(stack);
  const anonymous = visitor(stack, '', taken);
  for (const [fields, words] of [
    [{ email: taken.email, password: 'long enough' }, /An account with this email address already exists/],
    [{ email: `${randomUUID()}@example.com`, password: 'short' }, /The password is too short/],
    [{ email: 'no e-mail', password: 'long enough' }, /Enter a valid email address/],
  ] as const) {
    const response = await anonymous.postRaw('/sign-up', fields);
    t.is(response.status, 422);
    t.deepEqual(response.headers.getSetCookie(), []);
    const elements = await pageOf(t, response);
    t.regex(mainText(elements), words);
    t.is(fieldValue(elements, 'email'), fields.email);
    t.is(fieldValue(elements, 'password'), '');
  }
});

test('a changed password is valid for the next session, and ends all others', async (t) => {
  const owner = await newOwner(stack);
  const elsewhere = visitor(stack, await signIn(stack.baseUrl, owner), owner);
  const change = { currentPassword: owner.password, newPassword: 'another password' };
  const wrong = await owner.post('/settings/password', { ...change, currentPassword: 'wrong' });
  t.is(wrong.status, 422);
  t.regex(mainText(await pageOf(t, wrong)), /The current password is wrong/);
  t.is((await elsewhere.get('')).status, 200);

  const short = await owner.post('/settings/password', { currentPassword: owner.password });
  t.is(short.status, 422);
  t.regex(mainText(await pageOf(t, short)), /The password is too short/);

  const changed = await owner.post('/settings/password', change);
  t.is(changed.status, 303);
  t.is((await elsewhere.get('')).status, 303);
  const [cookie = ''] = changed.headers.getSetCookie().map((it) => it.split(';')[0]);
  t.is((await visitor(stack, cookie, owner).get('')).status, 200);
  t.is((await postAuth(stack.baseUrl, 'sign-in/email', owner)).status, 401);
  await signIn(stack.baseUrl, { ...owner, password: change.newPassword });
});

test('an owner sees the active sessions, and ends one or all others', async (t) => {
  const owner = await newOwner(stack);
  const from = async (userAgent: string) => {
    const headers = { 'User-Agent': userAgent };
    const response = await postAuth(stack.baseUrl, 'sign-in/email', owner, headers);
    return visitor(stack, cookieOf(response), owner);
  };
  const linux = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  const windows =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0';
  const phone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';
  const sessions = [
    await from(linux),
    await from(windows),
    await from(phone),
    await from('my own <b>script</b>'),
  ];
  const [firefox, edge, safari, script] = sessions;
  if (!firefox || !edge || !safari || !script) return t.fail();
  const list = async (session: Visitor) => rowsOf(await pageOf(t, await session.get('/settings')));
  const rows = await list(firefox);
  t.is(rows.length, 5);
  for (const device of ['Edge on Windows', 'Safari on iPhone', 'my own <b>script</b>'])
    t.is(
      rows.filter((row) => row.startsWith(`${device} 127.0.0.1 `) && row.endsWith(' End')).length,
      1,
      device,
    );
  t.deepEqual(
    rows.filter((row) => row.includes('this session')).map((row) => row.split(' 127.')[0]),
    ['Firefox on Linux'],
  );

  const ids = (session: Visitor) =>
    withStore(stack, async ({ db }) => {
      const user = await db.collection('users').findOne({ email: session.email });
      const found = await db.collection('sessions').find({ userId: user?._id }).toArray();
      return new Map(found.map(({ _id, userAgent }) => [String(userAgent), String(_id)]));
    });
  const ended = await firefox.post(`/settings/sessions/${(await ids(owner)).get(windows)}/end`);
  t.is(ended.headers.get('location'), '/dashboard/settings?changed=session');
  t.is((await edge.get('')).status, 303);
  t.is((await safari.get('')).status, 200);
  t.is((await list(firefox)).length, 4);

  t.is((await firefox.post('/settings/sessions/end-others')).status, 303);
  for (const session of [owner, safari, script]) t.is((await session.get('')).status, 303);
  t.deepEqual((await list(firefox)).length, 1);
});

test('a key is shown once, works within its permissions, and not after it was revoked', async (t) => {
  const owner = await newOwner(stack);
  const made = await owner.post('/keys', [
    ['name', 'website'],
    ['scope', 'tools'],
    ['tools', 'hash-text'],
    ['expiresAt', '2999-12-31'],
  ]);
  t.is(made.status, 201);
  const elements = await pageOf(t, made);
  const key = textOf(find(elements, 'class', 'secret') ?? elements[0] ?? t.fail('no page'));
  t.is((await callWith(key)).status, 200);
  t.is((await callWith(key, 'qr-generate', { text: 'a' })).status, 403);

  const list = await pageOf(t, await owner.get('/keys'));
  t.false(mainText(list).includes(key));
  const [row = ''] = rowsOf(list);
  for (const shown of ['website', key.slice(0, 9), 'hash-text', 'live', '2999-12-31'])
    t.true(row.includes(shown));
  const revoke = list.find((element) => attribute(element, 'action')?.endsWith('/revoke'));
  const path = (revoke && attribute(revoke, 'action')) ?? '';
  t.is((await owner.post(path.replace('/dashboard', ''))).status, 303);
  t.is((await callWith(key)).status, 401);
  t.regex(rowsOf(await pageOf(t, await owner.get('/keys')))[0] ?? '', /revoked/);
});

test('the page of a key changes its limits, and rotates and revokes it', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  const made = await pageOf(
    t,
    await owner.post('/keys', [
      ['name', 'website'],
      ['scope', 'tools'],
      ['dailyBudget', '1'],
      ['monthlyBudget', ''],
      ['allowedNetworks', '127.0.0.1\r\n::1\r\n'],
    ]),
  );
  const secretOf = (elements: readonly Element[]) =>
    textOf(find(elements, 'class', 'secret') ?? t.fail('no secret'));
  const key = secretOf(made);
  t.is((await callWith(key)).status, 200);
  t.is((await callWith(key)).status, 402);
  const link = (await pageOf(t, await owner.get('/keys'))).find(
    (element) => element.tagName === 'a' && textOf(element) === 'website',
  );
  const path = ((link && attribute(link, 'href')) ?? '').replace('/dashboard', '');
  const page = await pageOf(t, await owner.get(path));
  t.regex(mainText(page), /Spent today \(UTC\) 1 of 1 credit\b/);
  t.regex(mainText(page), /Networks 127\.0\.0\.1, ::1/);
  t.is(fieldValue(page, 'dailyBudget'), '1');

  const limits = {
    name: 'renamed',
    dailyBudget: '3',
    monthlyBudget: '',
    rateLimit: '2',
    allowedNetworks: '',
  };
  t.is((await owner.post(`${path}/change`, { ...limits, expiresAt: '2999-12-31' })).status, 303);
  const changed = mainText(await pageOf(t, await owner.get(`${path}?done=changed`)));
  t.regex(
    changed,
    /renamed.*The key was changed.*1 of 3 credits.*2 requests per second.*Networks all.*2999-12-31/s,
  );
  t.is((await callWith(key)).status, 200);

  const wrong = { ...limits, dailyBudget: 'many', allowedNetworks: '10.0.0.1/8' };
  const refused = await owner.post(`${path}/change`, wrong);
  t.is(refused.status, 422);
  const again = await pageOf(t, refused);
  t.regex(textOf(find(again, 'id', 'dailyBudget-fault') ?? t.fail('no fault')), /must be an integer or null/);
  t.is(fieldValue(again, 'dailyBudget'), 'many');
  const corrected = await pageOf(t, await owner.post(`${path}/change`, { ...wrong, dailyBudget: '5' }));
  t.regex(textOf(find(corrected, 'id', 'allowedNetworks-fault') ?? t.fail('no fault')), /must be 0/);
  t.deepEqual(brokenAnchors(corrected), []);

  const fresh = secretOf(await pageOf(t, await owner.post(`${path}/rotate`, { overlapHours: '24' })));
  t.not(fresh, key);
  t.false(mainText(await pageOf(t, await owner.get(path))).includes(fresh), 'shown once');
  t.is((await callWith(key)).status, 200);
  const pending = await owner.post(`${path}/rotate`, { overlapHours: '24' });
  t.is(pending.status, 409);
  t.regex(mainText(await pageOf(t, pending)), /earlier rotation/);
  t.is((await owner.post(`${path}/rotate`, { overlapHours: '999' })).status, 422);
  const last = secretOf(
    await pageOf(t, await owner.post(`${path}/rotate`, { overlapHours: '0', force: 'true' })),
  );
  t.is((await callWith(key)).status, 401);
  t.is((await callWith(fresh)).status, 401);
  t.is((await callWith(last)).status, 402, 'the spend belongs to the key');
  t.is((await owner.post(`${path}/revoke`)).status, 303);
  t.is((await callWith(last)).status, 401);
  t.regex(mainText(await pageOf(t, await owner.get(path))), /revoked key cannot be changed/);
});

test('a change of other fields leaves the time of an expiry as it is', async (t) => {
  const owner = await newOwner(stack);
  await owner.post('/keys', { name: 'timed', scope: 'tools' });
  const expiresAt = new Date('2999-06-01T08:15:00Z');
  const id = await withStore(stack, async ({ apiKeys }) => {
    const row = await apiKeys.findOneAndUpdate(
      { name: 'timed' },
      { $set: { expiresAt } },
      { sort: { createdAt: -1 } },
    );
    return row?._id ?? t.fail('no key');
  });
  const form = { name: 'renamed', expiresAt: '2999-06-01' };
  t.is((await owner.post(`/keys/${id}/change`, form)).status, 303);
  const row = await withStore(stack, ({ apiKeys }) => apiKeys.findOne({ _id: id }));
  t.is(row?.name, 'renamed');
  t.deepEqual(row?.expiresAt, expiresAt);
});

test('invalid keys are explained beside their fields, and the input is kept', async (t) => {
  const owner = await newOwner(stack);
  const refused = await owner.post('/keys', [
    ['name', 'yesterday'],
    ['scope', 'account'],
    ['tools', 'hash-text'],
    ['expiresAt', '2001-01-01'],
  ]);
  t.is(refused.status, 422);
  const elements = await pageOf(t, refused);
  t.regex(textOf(find(elements, 'id', 'expiresAt-fault') ?? t.fail('no fault')), /in the future/);
  t.regex(mainText(elements), /Expires on \(UTC\) must be in the future/);
  t.regex(mainText(elements), /Allowed tools is permitted only with the scope "tools"/);
  const tools = find(elements, 'id', 'tools') ?? t.fail('no group');
  t.is(attribute(tools, 'aria-describedby'), 'tools-fault');
  t.regex(textOf(tools), /is permitted only with the scope "tools"/);
  t.deepEqual(brokenAnchors(elements), []);
  t.is(fieldValue(elements, 'name'), 'yesterday');
  t.is((await owner.post('/keys', { name: '' })).status, 422);
  t.is(rowsOf(await pageOf(t, await owner.get('/keys'))).length, 0);
});

test("a GET of the form's URL redirects to the page with the form", async (t) => {
  const owner = await newOwner(stack);
  const id = randomUUID();
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low', reference: id });
  const endpoint = `/webhooks/whe_${id}`;
  await owner.post('/keys', { name: 'website', scope: 'tools', reference: id });
  const ownKey = `/keys/key_${id}`;
  for (const [path, page] of [
    ...['test', 'enable', 'rotate', 'activate', 'resend', 'change', 'delete'].map((act) => [
      `${endpoint}/${act}`,
      endpoint,
    ]),
    ['/keys/key_1/revoke', '/keys'],
    ...['change', 'rotate'].map((act) => [`${ownKey}/${act}`, ownKey]),
    ['/settings/password', '/settings'],
    ['/settings/sessions/end-others', '/settings'],
    ['/settings/sessions/1/end', '/settings'],
    ['/credits/buy', '/credits'],
    ['/ledger/recompute', '/ledger'],
    ['/events/resend?state=held', '/events?state=held'],
    ['/sign-out', ''],
  ]) {
    const response = await owner.get(path ?? '');
    t.is(response.status, 303, path);
    t.is(response.headers.get('location'), `/dashboard${page}`);
    t.is((await owner.get(page ?? '')).status, 200, page);
  }
  t.is((await owner.get('/keys/key_1')).status, 404);
});

test('right-to-left input does not change the direction of the surrounding text', async (t) => {
  const owner = await newOwner(stack);
  const name = 'right\u202eleft';
  const made = await owner.post('/keys', { name, scope: 'tools' });
  t.is(made.status, 201);
  for (const page of [made, await owner.get('/keys'), await owner.get('/events')]) {
    const text = await page.text();
    t.true(text.includes(`<bdi>${name}</bdi>`));
    t.false(text.replaceAll(/<bdi>[^<]*<\/bdi>/g, '').includes('\u202e'));
  }
});

test('a list in a result has one caption', (t) => {
  const tool = registry.get('seo-meta') ?? t.fail('no tool');
  const headings = [{ level: 1, text: 'a' }];
  const elements = elementsOf(parseFragment(resultView(tool, { headings }).markup));
  const captions = elements.filter(({ tagName }) => tagName === 'caption');
  t.deepEqual(
    captions.map((it) => [textOf(it), attribute(it, 'class')]),
    [['headings', 'unseen']],
  );
});

test('a group without a choice shows its own error', async (t) => {
  const owner = await newOwner(stack);
  for (const [path, fields, group, label] of [
    ['/keys', { name: 'website' }, 'scopes', 'Access'],
    ['/webhooks', { url: 'http://localhost:3999/hook' }, 'events', 'Events'],
  ] as const) {
    const refused = await owner.post(path, fields);
    t.is(refused.status, 422);
    const elements = await pageOf(t, refused);
    t.regex(mainText(elements), new RegExp(`${label} must have at least 1 item`));
    const fieldset = find(elements, 'id', group) ?? t.fail('no group');
    t.is(attribute(fieldset, 'aria-describedby'), `${group}-fault`);
    t.is(textOf(find(elements, 'id', `${group}-fault`) ?? t.fail('no fault')), 'must have at least 1 item');
    t.deepEqual(brokenAnchors(elements), []);
  }
});

test('an invalid list query shows its errors', async (t) => {
  const credentials = await makeUser(stack, 'operator');
  const operator = visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
  const id = randomUUID();
  await operator.post('/webhooks', {
    url: 'http://localhost:3999/hook',
    events: 'credits.low',
    reference: id,
  });
  for (const [path, words] of [
    ['/keys?cursor=abc', /cursor is not a cursor of this list/],
    ['/ledger?cursor=%00', /cursor is not a cursor of this list/],
    ['/operator?cursor=zzz', /cursor is not a cursor of this list/],
    ['/calls?cursor=zzz', /cursor is not a cursor of this list/],
    ['/events?cursor=zzz', /cursor is not a cursor of this list/],
    [`/webhooks/whe_${id}?cursor=zzz`, /cursor is not a cursor of this list/],
    ['/calls?state=broken', /Outcome must be one of running, /],
    ['/calls?from=soon', /First day \(UTC\) must be a time/],
    ['/credits/test-checkout?pack=1000&reference=zz', /The pack must be selected on this page/],
  ] as const) {
    const refused = await operator.get(path);
    t.is(refused.status, 422, path);
    const elements = await pageOf(t, refused);
    t.regex(mainText(elements), words, path);
    t.deepEqual(brokenAnchors(elements), [], path);
  }
});

test('a key or endpoint form that is submitted twice creates one, and explains why it is not shown again', async (t) => {
  const owner = await newOwner(stack);
  for (const [path, fields, secret] of [
    ['/keys', { name: 'website', scope: 'tools' }, /ut_[0-9A-Za-z]{36}/],
    ['/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' }, /whsec_/],
  ] as const) {
    const reference = fieldValue(await pageOf(t, await owner.get(path)), 'reference');
    const send = () => owner.post(path, { ...fields, reference });
    const answers = await Promise.all([send(), send(), send()]);
    t.deepEqual(answers.map(({ status }) => status).sort(), [201, 303, 303], path);
    for (const answer of [...answers, await send()]) {
      if (answer.status === 201) {
        t.regex(await answer.text(), secret);
        continue;
      }
      const location = answer.headers.get('location') ?? '';
      const list = await pageOf(t, await owner.get(location.replace('/dashboard', '')));
      t.regex(mainText(list), /(key was created|endpoint was added) once\. .* shown only once/);
      t.is(rowsOf(list).length, 1);
      t.not(fieldValue(list, 'reference'), reference);
    }
    // A reloaded page is another form.
    t.is((await owner.post(path, { ...fields, reference: randomUUID() })).status, 201);
    t.is(rowsOf(await pageOf(t, await owner.get(path))).length, 2);
  }
});

test('a trial call is charged like any call, and once when its form is submitted twice', async (t) => {
  const owner = await newOwner(stack);
  const form = await pageOf(t, await owner.get('/tools/hash-text'));
  t.regex(mainText(form), /1 credit per call; 30 credits available/);
  const fields = { text: 'abc', algorithm: 'md5', '.attempt': fieldValue(form, '.attempt') };
  for (const [says, available] of [
    ['1 credit charged', 29],
    ['the call was charged once', 29],
  ] as const) {
    const result = await owner.post('/tools/hash-text', fields);
    t.is(result.status, 200);
    const text = mainText(await pageOf(t, result));
    // RFC 1321, appendix A.5
    for (const shown of ['900150983cd24fb0d6963f7d28e17f72', says, `${available} credits available`])
      t.true(text.includes(shown), shown);
  }
  t.deepEqual(
    rowsOf(await pageOf(t, await owner.get('/calls'))).map((row) =>
      row.replace(/^.*UTC /, '').replace(/[\d.]+ m?s /, ''),
    ),
    ['hash-text charged 1 dashboard'],
  );
});

test('multi-line input reaches a tool with the line breaks as typed', async (t) => {
  const owner = await newOwner(stack);
  const result = await owner.post('/tools/hash-text', { text: 'a\r\nb', algorithm: 'sha256' });
  // printf 'a
  // b' | sha256sum
  t.true(
    mainText(await pageOf(t, result)).includes(
      '7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78',
    ),
  );
});

test("an image is shown, and a tool's refusal is explained on its form", async (t) => {
  const owner = await newOwner(stack);
  const picture = await pageOf(
    t,
    await owner.post('/tools/qr-generate', { text: 'a', size: '64', errorCorrection: 'M' }),
  );
  const source =
    attribute(picture.find(({ tagName }) => tagName === 'img') ?? t.fail('no picture'), 'src') ?? '';
  t.is(Buffer.from(source.replace('data:image/png;base64,', ''), 'base64').subarray(1, 4).toString(), 'PNG');

  const refused = await owner.post('/tools/qr-generate', { text: 'a', size: '1', errorCorrection: 'M' });
  t.is(refused.status, 422);
  const elements = await pageOf(t, refused);
  t.truthy(find(elements, 'id', 'size-fault'));
  t.is(fieldValue(elements, 'size'), '1');
  t.regex(mainText(elements), /29 credits available/);
  t.regex(mainText(elements), /Invalid input .* Nothing was charged\. Error invalid_input, request req_/);
});

test('numbers are accepted in every notation that browsers accept', async (t) => {
  const owner = await newOwner(stack);
  const make = (size: string) => owner.post('/tools/qr-generate', { text: 'a', size, errorCorrection: 'M' });
  for (const size of ['2e2', '2E+2', '20000e-2', '200.0']) {
    const made = await make(size);
    t.is(made.status, 200, size);
    t.regex(mainText(await pageOf(t, made)), /size 200 View as JSON/, size);
  }
  for (const wrong of ['.5', '200.5', '2e', '1e400', '0x80', '2 00', '+200', '200.'])
    t.is((await make(wrong)).status, 422, wrong);
});

test('a password in a trial call is not repeated in the response', async (t) => {
  const owner = await newOwner(stack);
  for (const workFactor of ['4', '99']) {
    const password = randomUUID();
    const response = await owner.post('/tools/bcrypt-hash', { password, workFactor });
    t.is(response.status, workFactor === '4' ? 200 : 422);
    t.false((await response.text()).includes(password));
  }
});

for (const [title, program, ...options] of [
  ['curl', 'bash', '-c'],
  ['Node.js', process.execPath, '--input-type=module', '-e'],
  ['Python', 'python3', '-c'],
] as const)
  test(`the snippet for ${title} makes the same call as the form, whatever the input`, async (t) => {
    const owner = await newOwner(stack);
    const key = await madeKey(owner);
    const text = `it's "$HOME" \\ {url} \`id\` <b>&amp;\n\u{1f600}`;
    const page = await pageOf(t, await owner.post('/tools/hash-text', { text, algorithm: 'sha256' }));
    const snippet = textOf(find(page, 'aria-label', title) ?? t.fail('no snippet'));
    const env = { ...process.env, API_KEY: key };
    const { stdout } = await promisify(execFile)(program, [...options, snippet], { env, timeout: 60_000 });
    t.true(stdout.includes(createHash('sha256').update(text).digest('hex')), stdout);
  });

test('every tool has a form with a field for each input property', async (t) => {
  const owner = await newOwner(stack);
  const { items } = await (await fetch(`${stack.baseUrl}/api/v1/tools`)).json();
  t.true(items.length >= 19);
  for (const { name, price, input } of items) {
    const elements = await pageOf(t, await owner.get(`/tools/${name}`));
    t.regex(mainText(elements), new RegExp(`^.*${price} credits? per call`));
    for (const field of Object.keys(input.properties))
      t.truthy(find(elements, 'name', field), `${name} ${field}`);
  }
});

test('calls are filtered by tool, outcome and day, and paged', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  await callWith(key, 'qr-generate', { text: 'a' });
  for (let i = 0; i < 26; i++) await callWith(key);
  await callWith(key, 'qr-generate', { text: 'a'.repeat(2900), errorCorrection: 'H' });
  const rows = async (query: string) => rowsOf(await pageOf(t, await owner.get(`/calls${query}`)));
  t.is((await rows('?tool=qr-generate&state=charged&from=&to=')).length, 1);
  t.is((await rows('?tool=ping')).length, 0);
  t.is((await rows('?key=dashboard')).length, 0);
  t.is((await rows('?key=key_none')).length, 0);
  const option = find(await pageOf(t, await owner.get('/calls')), 'id', 'key');
  const keyId = /key_[\w-]+/.exec(
    JSON.stringify((option?.childNodes ?? []).flatMap((it) => ('attrs' in it ? it.attrs : []))),
  )?.[0];
  t.is((await rows(`?key=${keyId}&state=refunded`)).length, 1);
  const today = new Date().toISOString().slice(0, 10);
  t.is((await rows(`?from=${today}&to=${today}&tool=qr-generate`)).length > 0, true);
  t.is((await rows('?to=2001-01-01')).length, 0);
  // The day after this one would have a five-digit year.
  t.is((await rows('?tool=qr-generate&from=0001-01-01&to=9999-12-31')).length, 2);

  const first = await pageOf(t, await owner.get('/calls?tool=hash-text'));
  t.is(rowsOf(first).length, 25);
  const older = linksOf(first).find((href) => href.includes('cursor=')) ?? '';
  const second = await pageOf(t, await owner.get(older.replace('/dashboard', '')));
  t.is(rowsOf(second).length, 1);
  t.true(linksOf(second).includes('/dashboard/calls?tool=hash-text'));

  for (const query of ['?state=broken', '?from=soon', '?cursor=made-up']) {
    const refused = await owner.get(`/calls${query}`);
    t.is(refused.status, 422, query);
    await pageOf(t, refused);
  }
});

test('the ledger adds up as pages, as CSV and when recomputed', async (t) => {
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  for (let i = 0; i < 3; i++) await callWith(key);
  const rows = rowsOf(await pageOf(t, await owner.get('/ledger')));
  t.deepEqual(
    rows.map((row) => row.replace(/^.*UTC /, '')),
    ['charge hash-text −1 27', 'charge hash-text −1 28', 'charge hash-text −1 29', 'signup +30 30'],
  );
  const csv = await owner.get('/ledger/statement.csv');
  t.regex(csv.headers.get('content-type') ?? '', /^text\/csv/);
  t.regex(csv.headers.get('content-disposition') ?? '', /^attachment; filename="ledger.csv"/);
  t.is((await csv.text()).split('\r\n').length, 6);

  const calls = await pageOf(t, await owner.get('/calls?tool=hash-text'));
  const file = linksOf(calls).find((href) => href.includes('/calls.csv')) ?? '';
  const exported = await owner.get(file.replace('/dashboard', ''));
  t.regex(exported.headers.get('content-disposition') ?? '', /^attachment; filename="calls.csv"/);
  t.regex(await exported.text(), /^id,tool,.*\r\n(?:[\w-]+,hash-text,1,1,charged,.*\r\n){3}$/);
  t.is((await (await owner.get('/calls/calls.csv?tool=ping')).text()).split('\r\n').length, 2);
  const refused = await owner.get('/calls/calls.csv?from=soon');
  t.is(refused.status, 422);
  t.regex(mainText(await pageOf(t, refused)), /First day/);

  const recompute = async () => mainText(await pageOf(t, await owner.post('/ledger/recompute')));
  t.regex(await recompute(), /4 entries add up to 27 credits\. This equals your balance/);
  await withStore(stack, ({ accounts }) =>
    accounts.updateOne({ email: owner.email }, { $inc: { balance: 1 } }),
  );
  t.regex(await recompute(), /does not match.*balance: 27 expected, 28 found/);
});

test('the overview shows usage, forecast, latency and errors, as charts and as tables', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  t.regex(mainText(await pageOf(t, await owner.get(''))), /Lasts – .* No calls in this period/);
  const key = await madeKey(owner);
  await callWith(key);
  await callWith(key, 'bcrypt-hash', { password: 'a', workFactor: 4 });
  await callWith(key, 'qr-generate', { text: 'a'.repeat(2900), errorCorrection: 'H' });
  await withStore(stack, async ({ accounts, calls }) => {
    const account = await accounts.findOne({ email: owner.email });
    if (account === null) return t.fail('no account');
    // 11 credits six days ago, and more so long ago that only longer periods show them.
    const call = (days: number, charged: number): CallDoc => {
      const startedAt = new Date(Date.now() - days * 86_400_000);
      return {
        _id: randomUUID(),
        accountId: account._id,
        keyId: null,
        keyPrefix: null,
        tool: 'ping',
        cost: charged,
        charged,
        state: 'charged',
        code: null,
        requestId: `req_${randomUUID()}`,
        startedAt,
        touchedAt: startedAt,
        finishedAt: new Date(startedAt.getTime() + 60_000),
        actsOnWorld: false,
      };
    };
    await calls.insertMany([call(6, 11), call(20, 1000), call(120, 5)]);
  });
  const week = await pageOf(t, await owner.get('?days=7'));
  const text = mainText(week);
  // 27 credits at 14 in seven days.
  t.regex(text, /Lasts 13 days/);
  t.regex(text, /Used 14 credits in 7 days Calls 4 1 failed, not charged Success 75 %/);
  t.regex(text, /Credits by day \(UTC\) 14 credits, at most 11 a day/);
  t.regex(text, /Calls by day \(UTC\) 4 calls, at most 3 a day/);
  const charts = week.filter((element) => attribute(element, 'role') === 'img');
  t.deepEqual(
    charts.map((chart) => attribute(chart, 'aria-label')),
    ['Credits by day (UTC): 14 credits, at most 11 a day', 'Calls by day (UTC): 4 calls, at most 3 a day'],
  );
  t.regex(text, /Credits by day \(UTC\) 14 credits, at most 11 a day ?ping bcrypt-hash hash-text /);
  t.true(charts[0] !== undefined && /: 3 credits, 2 bcrypt-hash, 1 hash-text/.test(textOf(charts[0])));
  const byKey = await pageOf(t, await owner.get('?days=7&by=key'));
  t.regex(mainText(byKey), /Credits by day \(UTC\) 14 credits, at most 11 a day ?dashboard website ut_/);
  t.true(
    rowsOf(byKey).some((row) => row === `${new Date().toISOString().slice(0, 10)} 0 3`),
    'a table has the same numbers',
  );
  const rows = rowsOf(week);
  const today = new Date().toISOString().slice(0, 10);
  t.true(
    rows.some((row) => row.startsWith(`${today} 3 3 1 `)),
    rows.join('\n'),
  );
  t.true(
    rows.some(
      (row) => /^ping 11 1 100 % 60 s 60 s$/.test(row) || /^ping 11 1 100 % \d\d s \d\d s$/.test(row),
    ),
  );
  t.true(
    rows.some((row) => /^website ut_\S+ 3 3 66.6 %$/.test(row)),
    rows.join('\n'),
  );
  t.true(rows.some((row) => /qr-generate refunded \S+ 0 .* ut_/.test(row)));
  t.regex(mainText(await pageOf(t, await owner.get(''))), /Used 1,014 credits in 30 days/);
  t.regex(mainText(await pageOf(t, await owner.get('?days=90'))), /Used 1,014 credits in 90 days/);
});

test('the overview reports what needs attention', async (t) => {
  const owner = await newOwner(stack);
  t.notRegex(await (await owner.get('')).text(), /Needs attention/);
  const id = randomUUID();
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low', reference: id });
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await owner.post('/keys', { name: 'temporary', scope: 'tools', expiresAt: tomorrow });
  const failing = randomUUID();
  await owner.post('/webhooks', {
    url: 'http://localhost:3998/hook',
    events: 'credits.low',
    reference: failing,
  });
  await withStore(stack, async ({ webhookEndpoints, accounts }) => {
    await webhookEndpoints.updateOne({ _id: `whe_${id}` }, { $set: { state: 'disabled' } });
    await webhookEndpoints.updateOne({ _id: `whe_${failing}` }, { $set: { failures: 3 } });
    await accounts.updateOne({ email: owner.email }, { $set: { balance: 3 } });
  });
  const page = await pageOf(t, await owner.get(''));
  const [section] = page.filter((element) => attribute(element, 'aria-label') === 'Needs attention');
  const words = section === undefined ? '' : textOf(section);
  for (const shown of [
    /Only 3 credits left/,
    /http:\/\/localhost:3999\/hook is disabled/,
    /The last 3 attempts to deliver to the webhook endpoint http:\/\/localhost:3998\/hook failed/,
    /The key temporary expires on/,
  ])
    t.regex(words, shown);
});

test('the list of first steps marks the completed ones', async (t) => {
  const owner = await newOwner(stack);
  const steps = async () => {
    const done = (await pageOf(t, await owner.get(''))).filter((it) => attribute(it, 'class') === 'done');
    return done.map((it) => textOf(it).replaceAll(/\s+/g, ' ').trim());
  };
  t.deepEqual(await steps(), []);
  const key = await madeKey(owner);
  t.deepEqual(await steps(), ['Create a key (done)']);
  const id = await withStore(stack, async ({ apiKeys, accounts }) => {
    const account = await accounts.findOne({ email: owner.email });
    return (await apiKeys.findOne({ accountId: account?._id ?? '' }))?._id;
  });
  const firstCall = async (of: Visitor) => (await (await of.get(`/keys/${id}/first-call`)).json()).call;
  t.is(await firstCall(owner), null);
  await callWith(key);
  const { path, state } = await firstCall(owner);
  t.is(state, 'charged');
  t.is((await owner.get(path.replace('/dashboard', ''))).status, 200);
  t.deepEqual(await steps(), ['Create a key (done)', 'Make the first call with a key (done)']);
  const other = await newOwner(stack);
  t.is(await firstCall(other), null, "another account's key");
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' });
  t.notRegex(mainText(await pageOf(t, await owner.get(''))), /Get started/);
});

test('a call is found by its ids, and explained', async (t) => {
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  const good = await callWith(key);
  const bad = await callWith(key, 'qr-generate', { text: 'a'.repeat(2900), errorCorrection: 'H' });
  const { code } = await bad.json();
  const slow = await callWith(key, 'bcrypt-hash', { password: 'a', workFactor: 12 });
  const find = async (id: string) => {
    const response = await owner.get(`/calls?${new URLSearchParams({ id })}`);
    t.is(response.status, 303);
    return pageOf(t, await owner.get((response.headers.get('location') ?? '').replace('/dashboard', '')));
  };
  const requestId = good.headers.get('x-request-id') ?? '';
  const charged = mainText(await find(requestId));
  t.regex(charged, /returned a result and was charged\. Tool hash-text /);
  t.true(
    charged.includes(
      `Request id ${requestId} Key website ${key.slice(0, 9)}… Price 1 credit Charged 1 credit`,
    ),
  );
  const refunded = await find(bad.headers.get('x-request-id') ?? '');
  t.regex(
    mainText(refunded),
    /nothing was charged\. Tool qr-generate .* Charged 0 credits .*What went wrong/,
  );
  t.true(linksOf(refunded).includes(`/docs/errors#${code}`));

  const timed = await until('the response is recorded', async () => {
    const page = await find(slow.headers.get('x-request-id') ?? '');
    return /Respond result read and sent \d/.test(mainText(page)) && page;
  });
  const phases = rowsOf(timed);
  t.deepEqual(
    phases.map((row) => row.split(' ')[0]),
    ['Accept', 'Queue', 'Reserve', 'Wait', 'Tool', 'Settle', 'Respond'],
  );
  // A hash of this cost takes at least a tenth of a second on any machine.
  const [, time = '', unit] = /^Tool the work itself ([\d.]+) (ms|s) /.exec(phases[4] ?? '') ?? [];
  t.true(Number(time) * (unit === 's' ? 1000 : 1) >= 100, phases.join('\n'));
  t.regex(
    attribute(
      timed.find(
        ({ tagName, attrs }) => tagName === 'svg' && attrs.some(({ value }) => value === 'phases'),
      ) ?? t.fail('no bar'),
      'aria-label',
    ) ?? '',
    /Tool \d/,
  );
  t.is(rowsOf(refunded).length, 7, 'phases of a call that failed in the tool');

  const links = linksOf(await pageOf(t, await owner.get('/calls')));
  const path = (links.find((href) => /calls\/[0-9a-f-]{36}$/.test(href)) ?? '').replace('/dashboard', '');
  const callId = path.replace('/calls/', '');
  t.true(mainText(await find(callId)).includes(callId));
  t.regex(
    mainText(await pageOf(t, await owner.get('/calls?id=req_none'))),
    /No call of this account has this id/,
  );
  const other = await newOwner(stack);
  t.is((await other.get(path)).status, 404);
  t.is((await other.get(`/calls?id=${requestId}`)).status, 200);
});

test('input and output are kept only while the owner wants it, without secrets, and only the owner sees them', async (t) => {
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  const idOf = (response: Response) => response.headers.get('x-request-id') ?? '';
  const pageOfCall = async (id: string, visitor = owner) => {
    const found = await visitor.get(`/calls?${new URLSearchParams({ id })}`);
    const path = (found.headers.get('location') ?? '/calls').replace('/dashboard', '');
    return mainText(await pageOf(t, await visitor.get(path)));
  };
  const accountId = await withStore(
    stack,
    async ({ accounts }) => (await accounts.findOne({ email: owner.email }))?._id,
  );
  const stored = () =>
    withStore(stack, ({ callContents }) => callContents.find({ accountId: accountId ?? '' }).toArray());
  const words = `kept-${randomUUID()}`;

  const before = await callWith(key, 'hash-text', { text: words });
  t.regex(await pageOfCall(idOf(before)), /Input and output of calls are not kept/);
  t.regex(
    mainText(await pageOf(t, await owner.get('/calls'))),
    /Only you see them.*fields that the tool marks as secret/,
  );
  const on = await owner.post('/calls/contents', { keep: 'on' });
  t.is(on.headers.get('location'), '/dashboard/calls?contents=on#contents');
  t.regex(await pageOfCall(idOf(before)), /before you switched keeping on/);

  const kept = await callWith(key, 'hash-text', { text: words });
  const { hash: digest } = await kept.json();
  const failed = await callWith(key, 'qr-generate', { text: words.repeat(60), errorCorrection: 'H' });
  const { code } = await failed.json();
  const secret = await callWith(key, 'bcrypt-hash', { password: words, workFactor: 4 });
  const { hash } = await secret.json();
  const large = await callWith(key, 'hash-text', { text: words.repeat(15_000) });
  t.deepEqual(
    [kept, failed, secret, large].map(({ status }) => status),
    [200, 422, 200, 200],
  );
  await until('the calls are kept', async () => (await stored()).length === 4);
  const shown = await pageOfCall(idOf(kept));
  for (const part of ['Input', `"text": "${words}"`, 'Output', digest, 'are deleted at'])
    t.true(shown.includes(part), part);
  t.true((await pageOfCall(idOf(failed))).includes(`"code": "${code}"`));
  const masked = await pageOfCall(idOf(secret));
  t.regex(masked, /"workFactor": 4.*Output Not kept: the call contained a secret field/);
  for (const part of [words, hash]) t.false(masked.includes(part));
  t.regex(await pageOfCall(idOf(large)), /Input Not kept: larger than 512 KB/);
  const other = await newOwner(stack);
  await other.post('/calls/contents', { keep: 'on' });
  t.false((await pageOfCall(idOf(kept), other)).includes(words));
  for (const { sealed, expiresAt } of await stored()) {
    t.false(Buffer.from(sealed.buffer).includes(words));
    t.true(expiresAt.getTime() <= Date.now() + 86_400_000);
  }

  t.is((await owner.post('/calls/contents', { keep: 'off' })).status, 303);
  t.deepEqual(await stored(), []);
  t.notRegex(await pageOfCall(idOf(kept)), new RegExp(words));
  const after = await callWith(key, 'hash-text', { text: words });
  t.is(after.status, 200);
  t.regex(await pageOfCall(idOf(after)), /Input and output of calls are not kept/);
  t.deepEqual(await stored(), []);
});

/** Waits until the call of a form runs. Returns the path of its cancellation, below `/dashboard`. */
const runOf = (owner: Visitor, attempt: string, step?: string): Promise<string> =>
  until('the call runs', async () => {
    const { run } = await (await owner.get(`/runs/${attempt}`)).json();
    return run !== null && (step === undefined || run.step === step) && run.cancel.replace('/dashboard', '');
  });

test('a running call is cancelled and refunded, an ended one stays charged', async (t) => {
  const owner = await newOwner(stack);
  const other = await newOwner(stack);
  const attempt = randomUUID();
  // This stack has no worker for the tools of the browser, so the call waits until it is cancelled.
  const sent = owner.post('/tools/html-to-image', { html: 'a', '.attempt': attempt });
  const cancel = await runOf(owner, attempt, 'waiting');
  t.is((await (await other.get(`/runs/${attempt}`)).json()).run, null);
  t.is((await other.post(cancel)).status, 404);
  const page = await pageOf(t, await owner.get(cancel.replace('/cancel', '')));
  t.true(
    page.some((it) => attribute(it, 'action') === `/dashboard${cancel}`),
    'without JavaScript',
  );

  const cancelled = await owner.post(cancel);
  t.is(cancelled.status, 303);
  const location = (cancelled.headers.get('location') ?? '').replace('/dashboard', '');
  t.regex(
    mainText(await pageOf(t, await owner.get(location))),
    /The call was cancelled\. .*nothing was charged/,
  );
  const answer = await sent;
  t.is(answer.status, 409);
  t.regex(mainText(await pageOf(t, answer)), /Call cancelled .*Nothing was charged.* Error cancelled/);
  t.regex(mainText(await pageOf(t, await owner.get(''))), /Available 30 /);

  // The owner also cancels calls of programs.
  const key = await madeKey(owner);
  const waiting = callWith(key, 'html-to-image', { html: 'a' });
  const id = await until('the call is accepted', async () => {
    const links = linksOf(await pageOf(t, await owner.get('/calls?state=running')));
    return links.find((href) => /calls\/[0-9a-f-]{36}$/.test(href))?.replace('/dashboard', '') ?? null;
  });
  t.is((await owner.post(`${id}/cancel`)).status, 303);
  const refused = await waiting;
  t.is(refused.status, 409);
  t.is(refused.headers.get('X-Credits-Charged'), '0');
  t.like(await refused.json(), { code: 'cancelled' });

  await owner.post('/tools/hash-text', { text: 'a' });
  const [ended = ''] = linksOf(await pageOf(t, await owner.get('/calls?tool=hash-text'))).filter((href) =>
    /calls\/[0-9a-f-]{36}$/.test(href),
  );
  await owner.post(`${ended.replace('/dashboard', '')}/cancel`);
  t.regex(
    mainText(await pageOf(t, await owner.get(`${ended.replace('/dashboard', '')}?cancel=sent`))),
    /before it could be cancelled, and was charged/,
  );
  t.regex(mainText(await pageOf(t, await owner.get(''))), /Available 29 /);
});

test('a cancellation at any moment of a call leads to its result and a charge, or to neither', async (t) => {
  const random = seededRandom(t.log);
  const owner = await newOwner(stack);
  let charged = 0;
  for (let race = 0; race < 8; race++) {
    const attempt = randomUUID();
    // Some of the calls contain a secret field.
    const [tool, fields, price] =
      race % 2 === 0
        ? (['hash-text', { text: `race ${race}` }, 1] as const)
        : (['bcrypt-hash', { password: `race ${race}`, workFactor: '10' }, 2] as const);
    const sent = owner.post(`/tools/${tool}`, { ...fields, '.attempt': attempt });
    let isOver = false;
    const ended = sent.finally(() => {
      isOver = true;
    });
    const cancel = await until('the call runs or has ended', async () => {
      if (isOver) return '';
      const { run } = await (await owner.get(`/runs/${attempt}`)).json();
      return run?.cancel.replace('/dashboard', '') ?? false;
    });
    await sleep(random.integer(0, 200));
    if (cancel !== '') await owner.post(cancel);
    await ended;
    const answer = await sent;
    const { status } = answer;
    t.true(status === 200 || status === 409, mainText(await pageOf(t, answer)));
    if (status === 200) charged += price;
  }
  t.log(`${charged} of 12 credits charged`);
  await withStore(stack, async (store) => {
    const account = await store.accounts.findOne({ email: owner.email });
    t.deepEqual(await auditAccountWhenIdle(store, account?._id ?? ''), []);
    t.is(account?.balance, FREE_CREDITS - charged);
  });
});

test('a number of milliseconds in the form reaches a tool as a number', async (t) => {
  const tool = registry.get('website-screenshot') ?? t.fail('no tool');
  const waitFor = (text: string) =>
    toolInput(tool, new URLSearchParams({ url: 'http://a/', waitFor: text })).waitFor;
  t.deepEqual(['2000', '#main', '.a2', ''].map(waitFor), [2000, '#main', '.a2', undefined]);
  const owner = await newOwner(stack);
  const fields = { url: 'https://example.com/', waitFor: '20000' };
  const refused = await pageOf(t, await owner.post('/tools/website-screenshot', fields));
  t.truthy(find(refused, 'id', 'waitFor-fault'));
  t.is(fieldValue(refused, 'waitFor'), '20000');
});

test('a form has the defaults of the schema, and the example only on request', async (t) => {
  const owner = await newOwner(stack);
  const form = await pageOf(t, await owner.get('/tools/website-screenshot'));
  const field = (elements: readonly Element[], name: string, of: string) =>
    attribute(find(elements, 'name', name) ?? t.fail(name), of);
  const { width, height } = registry.get('website-screenshot')?.input.properties ?? {};
  t.is(field(form, 'width', 'value'), String(width?.default));
  t.is(field(form, 'height', 'value'), String(height?.default));
  t.is(field(form, 'url', 'value') ?? '', '');
  t.is(field(form, 'url', 'placeholder'), 'e.g. https://example.com/');
  t.true(linksOf(form).includes('/dashboard/tools/website-screenshot?example=1'));
  const example = await pageOf(t, await owner.get('/tools/website-screenshot?example=1'));
  t.is(field(example, 'url', 'value'), 'https://example.com/');
  const secret = await pageOf(t, await owner.get('/tools/bcrypt-hash?example=1'));
  t.is(field(secret, 'password', 'value'), undefined);
  t.is(field(secret, 'workFactor', 'value'), '11');
});

test('fields of lists and objects are JSON', async (t) => {
  const owner = await newOwner(stack);
  const run = async (headers: string, cookies: string) => {
    const url = 'http://10.0.0.1/';
    const fields = { url, width: '800', height: '600', headers, cookies, format: 'png' };
    return mainText(await pageOf(t, await owner.post('/tools/website-screenshot', fields)));
  };
  t.regex(await run('Accept: x', ''), /headers must be an object/);
  t.regex(await run('{"Host": "x"}', ''), /headers cannot be set/);
  t.regex(await run('{}', '[{"name": "a"}]'), /cookies is required/);
});

test('tools are found by a search, in groups', async (t) => {
  const owner = await newOwner(stack);
  const names = async (query: string) =>
    linksOf(await pageOf(t, await owner.get(`/tools${query}`))).flatMap(
      (href) => /^\/dashboard\/tools\/([\w-]+)$/.exec(href)?.[1] ?? [],
    );
  t.deepEqual((await names('')).sort(), [...registry.keys()].sort());
  t.deepEqual(await names('?q=QR+code'), ['qr-generate']);
  t.deepEqual(await names('?q=password'), ['bcrypt-hash', 'bcrypt-verify', 'argon2-verify']);
  t.regex(mainText(await pageOf(t, await owner.get('/tools?q=zzz'))), /No tool matches/);
  const links = await (await owner.get('/tools.json')).json();
  t.deepEqual(
    links.map(({ name }: { name: string }) => name),
    [...registry.keys()],
  );
});

test('credits are bought with the test checkout, once when the form is submitted twice', async (t) => {
  const owner = await newOwner(stack);
  const shop = await pageOf(t, await owner.get('/credits'));
  t.regex(mainText(shop), /Test checkout: no payment is made/);
  const packs = shop.filter((element) => attribute(element, 'name') === 'pack');
  t.deepEqual(packs.map(textOf), [
    '1,000 credits for $9.00',
    '5,000 credits for $39.00',
    '25,000 credits for $169.00',
  ]);
  const reference = fieldValue(shop, 'reference');
  const sent = await owner.post('/credits/buy', { pack: '5000', reference });
  t.is(sent.status, 303);
  const checkout = await pageOf(
    t,
    await owner.get((sent.headers.get('location') ?? '').replace('/dashboard', '')),
  );
  t.regex(mainText(checkout), /Test checkout: no payment is made.* 5,000 credits .* \$39\.00/);
  const fields = { pack: fieldValue(checkout, 'pack'), reference: fieldValue(checkout, 'reference') };
  const paid = await Promise.all([1, 2, 3].map(() => owner.post('/credits/test-checkout', fields)));
  for (const { status, headers } of paid)
    t.deepEqual([status, headers.get('location')], [303, '/dashboard/credits?done=bought']);
  const after = await pageOf(t, await owner.get('/credits?done=bought'));
  t.regex(mainText(after), /The credits were added to your account\..* Available 5,030 /);
  t.is(rowsOf(after).filter((row) => /UTC 5,000 \$39\.00 test paid test_/.test(row)).length, 1);
  const receipt = linksOf(after).find((href) => href.includes('/receipts/')) ?? '';
  const receiptPage = mainText(await pageOf(t, await owner.get(receipt.replace('/dashboard', ''))));
  t.regex(receiptPage, /Item 5,000 credits, prepaid Total USD 39\.00 Payment None \(test checkout\)/);
  t.notRegex(receiptPage, /Receipt of Stripe/);
  t.is(rowsOf(after).filter((row) => /UTC purchase 5,000 5,000$/.test(row)).length, 1);
  t.regex(mainText(after), /The newest purchase .* The newest grant /);

  const other = await newOwner(stack);
  for (const wrong of [
    await owner.post('/credits/test-checkout', { ...fields, pack: '1000' }),
    await other.post('/credits/test-checkout', fields),
    await owner.post('/credits/test-checkout', { ...fields, pack: '5001' }),
    await owner.post('/credits/test-checkout', { ...fields, reference: 'mine' }),
    await owner.post('/credits/buy', { ...fields, pack: '-5000' }),
    await owner.get('/credits/test-checkout?pack=5001'),
  ])
    t.is(wrong.status, 422);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Available 5,030 /);
  t.regex(
    mainText(await pageOf(t, await other.get('/credits'))),
    /Available 30 .* There are no purchases yet/,
  );
});

test('a shortfall is shown where credits are bought and used, and so is its settlement', async (t) => {
  const owner = await newOwner(stack);
  const owe = (shortfall: number) =>
    withStore(stack, ({ accounts }) => accounts.updateOne({ email: owner.email }, { $set: { shortfall } }));
  const textOn = async (path: string) => mainText(await pageOf(t, await owner.get(path)));
  const buy = async (pack: string) => {
    const fields = { pack, reference: randomUUID() };
    const bought = await owner.post('/credits/test-checkout', fields);
    return textOn((bought.headers.get('location') ?? '').replace('/dashboard', ''));
  };
  await owe(1200);
  for (const path of ['', '/credits', '/tools', '/tools/hash-text'])
    t.regex(
      await textOn(path),
      /suspended: 1,200 credits of an adjustment or a refund could not be deducted/,
      path,
    );
  const refused = mainText(await pageOf(t, await owner.post('/tools/hash-text', { text: 'a' })));
  t.regex(refused, /suspended: 1,200 credits/);

  const first = await buy('1000');
  t.regex(first, /suspended: 200 credits/);
  t.regex(first, /Of the 1,000 credits of the newest purchase, 1,000 settled the account's shortfall\./);
  t.notRegex(first, /added to your account/);
  const second = await buy('1000');
  t.notRegex(second, /suspended/);
  t.regex(
    second,
    /newest purchase, 200 settled the account's shortfall; the rest was added to your account\./,
  );
  t.regex(await buy('1000'), /The credits were added to your account\./);
  t.notRegex(await textOn('/tools/hash-text'), /suspended/);
});

test('operators set a monthly allowance', async (t) => {
  const credentials = await makeUser(stack, 'operator');
  const operator = visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
  const owner = await newOwner(stack);
  const list = await pageOf(t, await operator.get(`/operator?q=${encodeURIComponent(owner.email)}`));
  const path = (linksOf(list).find((href) => href.includes('/accounts/')) ?? '').replace('/dashboard', '');
  const set = await operator.post(`${path}/allowance`, { monthlyAllowance: '500' });
  t.is(set.status, 303);
  const page = await pageOf(
    t,
    await operator.get((set.headers.get('location') ?? '').replace('/dashboard', '')),
  );
  t.regex(mainText(page), /The monthly allowance was set/);
  t.is(fieldValue(page, 'monthlyAllowance'), '500');
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Allowance 500 granted each month/);
  for (const monthlyAllowance of ['-1', '1.5', '', '1000000001']) {
    const refused = await operator.post(`${path}/allowance`, { monthlyAllowance });
    t.is(refused.status, 422, monthlyAllowance);
    t.is(fieldValue(await pageOf(t, refused), 'monthlyAllowance'), monthlyAllowance);
  }
  t.is((await owner.post(`${path}/allowance`, { monthlyAllowance: '1' })).status, 404);
  t.is((await owner.get(`${path}/allowance`)).status, 404);
  t.is((await operator.get(`${path}/allowance`)).headers.get('location'), `/dashboard${path}`);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Allowance 500 /);
  const ended = await operator.post(`${path}/allowance`, { monthlyAllowance: '0' });
  const news = await operator.get((ended.headers.get('location') ?? '').replace('/dashboard', ''));
  t.regex(mainText(await pageOf(t, news)), /The monthly allowance was removed\./);
});

test('events are filtered by type and delivery state, and paged', async (t) => {
  const owner = await newOwner(stack);
  t.regex(mainText(await pageOf(t, await owner.get('/events'))), /There are no events yet/);
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' });
  await withStore(stack, async ({ accounts, events, deliveries, webhookEndpoints }) => {
    const account = await accounts.findOne({ email: owner.email });
    const endpoint = await webhookEndpoints.findOne({ accountId: account?._id ?? '' });
    if (account === null || endpoint === null) return t.fail('no endpoint');
    const { _id, accountId } = endpoint;
    const past = (days: number) => ({ createdAt: new Date(Date.now() - days * 86_400_000) });
    const granted = { balance: 30, amount: 5, source: 'purchase', reference: 'pi_1' } as const;
    const rows = [
      newEvent(accountId, 'credits.low', EVENTS['credits.low'].example, past(1)),
      newEvent(accountId, 'credits.granted', granted, past(20)),
      ...Array.from({ length: 30 }, () =>
        newEvent(accountId, 'webhook.test', EVENTS['webhook.test'].example, past(2)),
      ),
    ].map(({ pending: _handedOver, ...event }) => event);
    const [low, old, ...tests] = rows;
    if (low === undefined || old === undefined) return t.fail();
    await events.insertMany(rows);
    const failed = { state: 'failed', attempts: 8, nextAt: null } as const;
    const nextAt = new Date('2999-12-31T01:02:03Z');
    await deliveries.insertMany([
      { ...newDelivery(low, _id, false), ...failed },
      { ...newDelivery(low, 'whe_deleted', false), attempts: 2, nextAt },
      newDelivery(old, _id, true),
      ...tests.map((event) => ({ ...newDelivery(event, _id, false), ...failed })),
    ]);
  });
  const page = async (query: string) => pageOf(t, await owner.get(`/events${query}`));
  const [low = ''] = rowsOf(await page('?event=credits.low'));
  t.regex(
    low,
    /credits\.low Only 24 credits are left\. http:\/\/localhost:3999\/hook failed 8 attempts Resend credits\.low deleted endpoint pending 2 attempts, next 2999-12-31 01:02 UTC$/,
  );
  // Deliveries that are too old and test deliveries cannot be resent.
  const [old = '', ...rest] = rowsOf(await page('?state=held'));
  t.regex(
    old,
    /credits\.granted balance: 30, amount: 5, source: purchase, reference: pi_1 http:\/\/localhost:3999\/hook held 0 attempts$/,
  );
  t.deepEqual(rest, []);
  t.is(rowsOf(await page('?state=failed&event=webhook.test')).filter((it) => /Resend/.test(it)).length, 0);
  t.regex(mainText(await page('?state=delivered')), /No events match/);

  for (const [query, count] of [
    ['', 32],
    ['?state=failed', 31],
    ['?event=webhook.test', 30],
    ['?event=webhook.test&state=failed', 30],
  ] as const) {
    const first = await page(query);
    t.is(rowsOf(first).length, 25);
    const older = linksOf(first).find((href) => href.includes('cursor=')) ?? '';
    t.is(rowsOf(await pageOf(t, await owner.get(older.replace('/dashboard', '')))).length, count - 25);
    const api = await fetch(`${stack.baseUrl}/api/v1/account/events${query}`, {
      headers: { Cookie: owner.cookie },
    });
    t.is((await api.json()).items.length, 20);
  }
  for (const query of ['?state=lost', '?event=made.up', '?cursor=made-up']) {
    const refused = await owner.get(`/events${query}`);
    t.is(refused.status, 422, query);
    await pageOf(t, refused);
  }
});

test('a pending secret is shown with its endpoint until it is activated', async (t) => {
  const owner = await newOwner(stack);
  const made = await pageOf(
    t,
    await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' }),
  );
  const rotate = made.find((element) => attribute(element, 'action')?.endsWith('/rotate'));
  const path = ((rotate && attribute(rotate, 'action')) ?? '').replace(/^\/dashboard|\/rotate$/g, '');
  const shown = async () => rowsOf(await pageOf(t, await owner.get('/webhooks')))[0] ?? '';
  t.notRegex(await shown(), /pending/);
  t.is((await owner.post(`${path}/rotate`)).status, 200);
  t.regex(await shown(), /new secret pending until .* UTC Activate/);
  t.is((await owner.post(`${path}/rotate`)).status, 409);
  t.regex(mainText(await pageOf(t, await owner.post(`${path}/rotate`, { force: 'true' }))), /whsec_/);
  t.is((await owner.post(`${path}/activate`)).status, 303);
  t.notRegex(await shown(), /pending/);
});

test('a disabled endpoint shows what disabled it', async (t) => {
  const owner = await newOwner(stack);
  const id = randomUUID();
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low', reference: id });
  for (const [failures, words] of [
    [0, /No deliveries since .* UTC: the operator disabled the endpoint/],
    [19, /the operator disabled the endpoint/],
    [20, /No deliveries since .* UTC: 20 of 20 consecutive attempts failed\. Repair the receiver/],
  ] as const) {
    await withStore(stack, ({ webhookEndpoints }) =>
      webhookEndpoints.updateOne(
        { _id: `whe_${id}` },
        { $set: { state: 'disabled', disabledAt: new Date(), failures } },
      ),
    );
    const text = mainText(await pageOf(t, await owner.get(`/webhooks/whe_${id}`)));
    t.regex(text, words);
    t.is(/consecutive attempts failed/.test(text), failures === 20);
  }
});

test('operators suspend an account, whose owner sees why and keeps keys and session, and end the suspension', async (t) => {
  const credentials = await makeUser(stack, 'operator');
  const operator = visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
  const owner = await newOwner(stack);
  const account = await withStore(stack, (store) => store.accounts.findOne({ email: owner.email }));
  const path = `/operator/accounts/${account?._id}`;
  const text = async (from: typeof owner, page: string) => mainText(await pageOf(t, await from.get(page)));
  t.is((await operator.post(`${path}/suspension`, { suspensionReason: ' ' })).status, 422);
  t.notRegex(await text(owner, ''), /suspended/);

  const reason = 'The <b>terms</b> forbid this.';
  const { headers } = await operator.post(`${path}/suspension`, { suspensionReason: reason });
  t.is(headers.get('location'), `/dashboard${path}?done=suspended`);
  t.regex(await text(operator, path), /Suspended .*: The <b>terms<\/b> forbid this\./);
  for (const page of ['', '/tools', '/credits'])
    t.regex(await text(owner, page), /suspended by an operator of the service: The <b>terms<\/b> forbid/);
  t.regex(
    await text(owner, '/settings/security-log'),
    /Account suspended The <b>terms<\/b> forbid this\. An operator/,
  );
  t.is((await owner.post('/tools/hash-text', { text: 'a' })).status, 403);
  t.is((await owner.get('/keys')).status, 200);
  t.is((await owner.post(`${path}/lift`, {})).status, 404, 'owners cannot end it');

  t.is((await operator.post(`${path}/lift`, {})).status, 303);
  t.notRegex(await text(owner, ''), /suspended/);
  t.regex(await text(owner, '/settings/security-log'), /Suspension ended/);
  t.is((await owner.post('/tools/hash-text', { text: 'a' })).status, 200);

  await withStore(stack, (store) =>
    store.db.collection('attempts').insertOne({
      key: `uncharged:${account?._id}`,
      points: 1_234_567,
      expire: new Date(Date.now() + 3_600_000),
    }),
  );
  t.true((await text(operator, '/operator/shares')).includes(`${owner.email} – 0 1,234,567`));
  t.is((await owner.get('/operator/shares')).status, 404);
});

test('operators find an account and adjust it once, even if the form is submitted twice', async (t) => {
  const credentials = await makeUser(stack, 'operator');
  const operator = visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
  const owner = await newOwner(stack);
  const list = await pageOf(t, await operator.get(`/operator?q=${encodeURIComponent(owner.email)}`));
  t.is(rowsOf(list).length, 1);
  t.regex(mainText(list), /tools-cpu ok/);
  const path = (linksOf(list).find((href) => href.includes('/accounts/')) ?? '').replace('/dashboard', '');
  const form = await pageOf(t, await operator.get(path));
  const fields = { amount: '12', reason: 'a <b>gift</b>', reference: fieldValue(form, 'reference') };
  const review = await pageOf(t, await operator.post(`${path}/adjustment`, fields));
  const shown = mainText(review);
  t.true(shown.includes(owner.email));
  t.regex(shown, /Change Add 12 credits Reason a <b>gift<\/b> Balance 30 now, 42 after the adjustment/);
  for (const [name, value] of Object.entries(fields)) t.is(fieldValue(review, name), value);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Available 30 /);
  for (let i = 0; i < 2; i++) t.is((await operator.post(path, fields)).status, 303);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Available 42 /);
  for (const [amount, available] of [
    ['1e3', 1042],
    ['-1.0e3', 42],
    ['+.1e2', 52],
    ['-10', 42],
  ] as const) {
    t.is(
      (await operator.post(path, { amount, reason: 'a gift', reference: randomUUID() })).status,
      303,
      amount,
    );
    t.regex(
      mainText(await pageOf(t, await owner.get('/credits'))),
      new RegExp(`Available ${available.toLocaleString('en')} `),
    );
  }
  for (const wrong of [{ amount: '0' }, { amount: '1.5' }, { reason: ' ' }, { amount: '13' }]) {
    const refused = await operator.post(path, { ...fields, ...wrong });
    t.is(refused.status, 422, JSON.stringify(wrong));
    if (wrong.amount === '13') continue;
    t.is((await operator.post(`${path}/adjustment`, { ...fields, ...wrong })).status, 422);
  }
  const mistake = { amount: '-50', reason: 'a mistake', reference: randomUUID() };
  t.regex(
    mainText(await pageOf(t, await operator.post(`${path}/adjustment`, mistake))),
    /removes only 42 credits, .* shortfall of 8 credits, which suspends the account.* Balance 42 now, 0 after/,
  );
  t.is((await operator.post(path, mistake)).status, 303);
  t.regex(mainText(await pageOf(t, await owner.get(''))), /suspended: 8 credits/);
  t.is((await owner.post('/tools/hash-text', { text: 'a' })).status, 403);
});

const newOperator = async (): Promise<Visitor> => {
  const credentials = await makeUser(stack, 'operator');
  return visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
};

const search = (operator: Visitor, query: string) => operator.get(`/operator?q=${encodeURIComponent(query)}`);

test('operators find accounts by a part of the address, a key or an id, and calls by their ids', async (t) => {
  const operator = await newOperator();
  const owner = await newOwner(stack);
  const key = await madeKey(owner, 'of the shop');
  const requestId = (await callWith(key)).headers.get('x-request-id') ?? '';
  const { accountId, keyId, callId } = await withStore(stack, async ({ calls }) => {
    const call = (await calls.findOne({ requestId })) ?? t.fail('no call');
    return { accountId: call.accountId, keyId: call.keyId ?? '', callId: call._id };
  });
  const path = `/dashboard/operator/accounts/${accountId}`;

  const found = await pageOf(t, await search(operator, ` ${owner.email.slice(9, 30).toUpperCase()} `));
  t.is(rowsOf(found).length, 1);
  t.true(linksOf(found).includes(path));
  for (const nothing of [
    owner.email.replace('@', '.'),
    '(',
    '[a',
    '\\',
    '\0.*\0',
    'ut_!',
    'acc_none',
    'req_none',
  ]) {
    const response = await search(operator, nothing);
    t.is(response.status, 200, nothing);
    t.regex(mainText(await pageOf(t, response)), /Nothing was found/, nothing);
  }
  for (const beginning of [key.slice(0, 7), key.slice(0, 9), key]) {
    const page = await pageOf(t, await search(operator, beginning));
    t.true(linksOf(page).includes(`${path}#keys`), beginning);
    t.true(mainText(page).includes('of the shop'));
    t.false(mainText(page).includes(key));
  }
  const callPath = `/dashboard/operator/calls/${callId}`;
  for (const [id, to] of [
    [accountId, path],
    [keyId, `${path}#keys`],
    [callId, callPath],
    [requestId, callPath],
  ] as const) {
    const response = await search(operator, id);
    t.is(response.status, 303);
    t.is(response.headers.get('location'), to);
  }
  const call = await pageOf(t, await operator.get(`/operator/calls/${requestId}`));
  t.regex(
    mainText(call),
    new RegExp(`Outcome charged Tool hash-text Call id ${callId} Request id ${requestId}`),
  );
  t.true(linksOf(call).includes(path));
  t.is((await operator.get('/operator/calls/none')).status, 404);
});

test("an account's page shows operators its keys, calls, ledger, grants, webhooks, sessions and usage", async (t) => {
  const operator = await newOperator();
  const owner = await newOwner(stack);
  const key = await madeKey(owner, 'of the shop');
  const requestId = (await callWith(key)).headers.get('x-request-id') ?? '';
  await owner.post('/webhooks', { url: 'http://localhost:3999/shop', events: 'credits.low' });
  await signIn(stack.baseUrl, owner);
  const call = await withStore(stack, ({ calls }) => calls.findOne({ requestId }));
  const path = `/operator/accounts/${call?.accountId}`;
  await operator.post(path, { amount: '5', reason: 'for the wait', reference: randomUUID() });
  const page = await pageOf(t, await operator.get(path));
  const shown = mainText(page);
  for (const words of [
    /Sign-in owner, 2 active sessions/,
    /Balance 34 granted minus charged/,
    /1 call and 1 credit in 30 days, success 100 %/,
    /of the shop ut_\S+… key_\S+ all tools live/,
    /hash-text charged 1 /,
    /adjustment \+5 \+5 \S+@example\.com \w+ for the wait/,
    /http:\/\/localhost:3999\/shop active 0 of 20/,
  ])
    t.regex(shown, words);
  t.true(rowsOf(page).some((row) => /charge ?hash-text -1 29/.test(row)));
  t.true(linksOf(page).includes(`/dashboard/operator/calls/${call?._id}`));
  t.deepEqual(brokenAnchors(page), []);
});

test('operators page through the lists of an account and see who adjusted its credits; owners see only that an operator did', async (t) => {
  const operator = await newOperator();
  const owner = await newOwner(stack);
  const paymentId = `test_${randomUUID()}`;
  const accountId = await withStore(stack, async (store) => {
    const accounts = createAccounts(store);
    const { _id } = (await accounts.findByEmail(owner.email)) ?? t.fail('no account');
    for (let i = 0; i < 27; i++)
      await accounts.grant({
        accountId: _id,
        type: 'adjustment',
        amount: 1,
        reference: `ticket ${i}`,
        reason: `reason ${i}`,
        operator: 'command line',
      });
    const fact = { kind: 'paid', accountId: _id, credits: 1000, amount: 900, test: true } as const;
    const report = { paymentId, source: paymentId, currency: 'EUR', fact };
    await createPayments(store, accounts).record(report);
    await store.notices.insertOne({
      _id: randomUUID(),
      accountId: _id,
      at: new Date(),
      tries: 1,
      dueAt: null,
      kind: 'balance',
      balance: 7,
      thresholds: [20],
    });
    return _id;
  });
  const path = `/operator/accounts/${accountId}`;
  await operator.post(path, { amount: '-2', reason: 'for the wait', reference: randomUUID() });
  const userId = await withStore(stack, async ({ db }) => {
    const user = await db.collection('users').findOne({ email: operator.email });
    return String(user?._id);
  });

  const page = await pageOf(t, await operator.get(path));
  t.deepEqual(brokenAnchors(page), []);
  const all = linksOf(page).filter((href) => href.startsWith(`/dashboard${path}/`));
  t.deepEqual(all, [`/dashboard${path}/ledger`, `/dashboard${path}/grants`]);
  for (const [list, words] of [
    ['grants', /^.* adjustment ?\+1 ?\+1 ?command line ?reason \d+$/],
    ['ledger', /^.* adjustment ?ticket \d+ ?command line ?\+1 ?\d+$/],
  ] as const) {
    const rows: string[] = [];
    let next: string | undefined = `/dashboard${path}/${list}`;
    while (next !== undefined) {
      const shown: Element[] = await pageOf(t, await operator.get(next.replace('/dashboard', '')));
      rows.push(...rowsOf(shown));
      next = linksOf(shown).find((href) => href.includes('cursor='));
    }
    t.is(new Set(rows.filter((row) => words.test(row))).size, 27, rows.join('\n'));
    const own = rows.filter((row) => row.includes(' -2 ')).join();
    t.true(own.includes(operator.email) && own.includes(userId), own);
  }
  t.is((await operator.get(`${path}/grants?cursor=zzz`)).status, 422);
  t.is((await operator.get('/operator/accounts/acc_none/grants')).status, 404);

  t.regex(mainText(await pageOf(t, await operator.get(`${path}/security`))), /Signed in/);
  t.regex(mainText(await pageOf(t, await operator.get(`${path}/notices`))), /balance below 20: 7 credits/);
  for (const list of ['keys', 'calls', 'webhooks'])
    t.regex(mainText(await pageOf(t, await operator.get(`${path}/${list}`))), /There are none/);
  const payments = await pageOf(t, await operator.get(`${path}/payments`));
  const receipt = linksOf(payments).find((href) => href.includes('/payments/')) ?? '';
  t.is(receipt, `/dashboard/operator/payments/${paymentId}`);
  const facts = mainText(await pageOf(t, await operator.get(receipt.replace('/dashboard', ''))));
  t.true(facts.includes(paymentId) && facts.includes(owner.email), facts);
  const pdf = await operator.get(`/operator/payments/${paymentId}/receipt.pdf`);
  t.is(pdf.headers.get('content-type'), 'application/pdf');
  t.is((await operator.get('/operator/payments/none')).status, 404);

  const ledger = mainText(await pageOf(t, await owner.get('/ledger')));
  t.regex(ledger, /adjustment by an operator/);
  const credits = mainText(await pageOf(t, await owner.get('/credits')));
  t.regex(credits, /adjustment by an operator/);
  const data = await (await owner.get('/settings/export.ndjson')).text();
  t.regex(data, /"byOperator":true/);
  for (const shown of [ledger, credits, data])
    for (const hidden of [operator.email, userId, 'reason 1', 'for the wait', 'command line'])
      t.false(shown.includes(hidden), hidden);
});

test('operators see the queues of the last hour as charts and as a table', async (t) => {
  const operator = await newOperator();
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  const at = new Date(minute - 30 * 60_000);
  await withStore(stack, ({ poolSamples }) =>
    poolSamples.insertOne({
      _id: at.toISOString(),
      at,
      queues: {
        orchestrator: { waiting: 0, calls: null, workers: 2 },
        'tools-cpu': { waiting: 3, calls: 7, workers: 2 },
      },
    }),
  );
  const page = await pageOf(t, await operator.get('/operator/pools'));
  const time = at.toISOString().slice(11, 16);
  const titles = page.filter(({ tagName }) => tagName === 'title').map(textOf);
  t.true(titles.includes(`${time}: 7 calls, 3 waiting`), titles.join('; '));
  t.true(titles.some((title) => title.includes('not sampled')));
  t.true(rowsOf(page).some((row) => row.includes(time) && row.includes('4 + 3 (2)')));
  t.regex(mainText(page), /pool tools-heavy failed/);
});
