import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import test from 'ava';
import { parseFragment } from 'parse5';
import { resultView } from '../../api/dashboard/components/result.ts';
import { EVENTS } from '../../schemas/events.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { newDelivery } from '../../store/dispatchEvents.ts';
import { newEvent } from '../../store/events.ts';
import type { CallDoc } from '../../store/mongo.ts';
import { withStore } from '../helpers/account.ts';
import { newOwner, type Visitor, visitor } from '../helpers/dashboard.ts';
import { attribute, type Element, elementsOf, linksOf, mainText, pageOf, textOf } from '../helpers/markup.ts';
import { cookieOf, freshCredentials, makeUser, postAuth, signIn } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';

const FREE_CREDITS = 30;
const registry = await loadRegistry();

let stack: Stack;

test.before(async () => {
  stack = await startStack({ pools: ['orchestrator', 'cpu'], env: { FREE_CREDITS: `${FREE_CREDITS}` } });
});
test.after.always(() => stack?.stop());

const find = (elements: readonly Element[], name: string, value: string): Element | undefined =>
  elements.find((element) => attribute(element, name) === value);

const fieldValue = (elements: readonly Element[], name: string): string => {
  const field = find(elements, 'name', name);
  return (field && attribute(field, 'value')) ?? '';
};

const rowsOf = (elements: readonly Element[]): string[] =>
  elements
    .filter(({ tagName }) => tagName === 'tr')
    .slice(1)
    .map((row) => textOf(row).replaceAll(/\s+/g, ' ').trim());

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
    /The key was changed.*renamed.*1 of 3 credits.*2 requests per second.*Networks all.*2999-12-31/s,
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
    ['charge hash-text -1 27', 'charge hash-text -1 28', 'charge hash-text -1 29', 'signup +30 30'],
  );
  const csv = await owner.get('/ledger/statement.csv');
  t.regex(csv.headers.get('content-type') ?? '', /^text\/csv/);
  t.regex(csv.headers.get('content-disposition') ?? '', /^attachment; filename="ledger.csv"/);
  t.is((await csv.text()).split('\r\n').length, 6);

  const recompute = async () => mainText(await pageOf(t, await owner.post('/ledger/recompute')));
  t.regex(await recompute(), /4 entries add up to 27 credits\. This equals your balance/);
  await withStore(stack, ({ accounts }) =>
    accounts.updateOne({ email: owner.email }, { $inc: { balance: 1 } }),
  );
  t.regex(await recompute(), /does not match.*balance: 27 expected, 28 found/);
});

test('the overview shows usage, forecast, latency and errors, as charts and as tables', async (t) => {
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
  t.regex(text, /Credits by day 14 credits, at most 11 a day/);
  t.regex(text, /Calls by day 4 calls, at most 3 a day/);
  const charts = week.filter((element) => attribute(element, 'role') === 'img');
  t.deepEqual(
    charts.map((chart) => attribute(chart, 'aria-label')),
    ['Credits by day: 14 credits, at most 11 a day', 'Calls by day: 4 calls, at most 3 a day'],
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
  await withStore(stack, async ({ webhookEndpoints, accounts }) => {
    await webhookEndpoints.updateOne({ _id: `whe_${id}` }, { $set: { state: 'disabled' } });
    await accounts.updateOne({ email: owner.email }, { $set: { balance: 3 } });
  });
  const page = await pageOf(t, await owner.get(''));
  const [section] = page.filter((element) => attribute(element, 'aria-label') === 'Needs attention');
  const words = section === undefined ? '' : textOf(section);
  for (const shown of [
    /Only 3 credits left/,
    /http:\/\/localhost:3999\/hook is disabled/,
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
  t.deepEqual(await steps(), ['Create a key (done)', 'Make the first call (done)']);
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
  t.is(rowsOf(after).filter((row) => /UTC 5,000 \$39\.00 \$0\.00 test paid test_/.test(row)).length, 1);
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
  const list = await pageOf(t, await operator.get(`/operator?email=${encodeURIComponent(owner.email)}`));
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
  t.regex(await shown(), / current /);
  t.is((await owner.post(`${path}/rotate`)).status, 200);
  t.regex(await shown(), /new secret pending until .* UTC Activate/);
  t.is((await owner.post(`${path}/rotate`)).status, 409);
  t.regex(mainText(await pageOf(t, await owner.post(`${path}/rotate`, { force: 'true' }))), /whsec_/);
  t.is((await owner.post(`${path}/activate`)).status, 303);
  t.regex(await shown(), / current /);
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

test('operators find an account and adjust it once, even if the form is submitted twice', async (t) => {
  const credentials = await makeUser(stack, 'operator');
  const operator = visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
  const owner = await newOwner(stack);
  const list = await pageOf(t, await operator.get(`/operator?email=${encodeURIComponent(owner.email)}`));
  t.is(rowsOf(list).length, 1);
  t.regex(mainText(list), /tools-cpu ok/);
  const path = (linksOf(list).find((href) => href.includes('/accounts/')) ?? '').replace('/dashboard', '');
  const form = await pageOf(t, await operator.get(path));
  const fields = { amount: '12', reason: 'a gift', reference: fieldValue(form, 'reference') };
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
  }
  t.is(
    (await operator.post(path, { amount: '-50', reason: 'a mistake', reference: randomUUID() })).status,
    303,
  );
  t.regex(mainText(await pageOf(t, await owner.get(''))), /suspended: 8 credits/);
  t.is((await owner.post('/tools/hash-text', { text: 'a' })).status, 403);
});
