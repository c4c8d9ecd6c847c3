import test from 'ava';
import { withStore } from '../helpers/account.ts';
import { callWith, newOwner } from '../helpers/dashboard.ts';
import {
  attribute,
  brokenAnchors,
  type Element,
  fieldValue,
  find,
  mainText,
  pageOf,
  rowsOf,
  textOf,
} from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

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
  t.is((await callWith(stack, key)).status, 200);
  t.is((await callWith(stack, key, 'qr-generate', { text: 'a' })).status, 403);

  const list = await pageOf(t, await owner.get('/keys'));
  t.false(mainText(list).includes(key));
  const [row = ''] = rowsOf(list);
  for (const shown of ['website', key.slice(0, 9), 'hash-text', 'live', '2999-12-31'])
    t.true(row.includes(shown));
  const revoke = list.find((element) => attribute(element, 'action')?.endsWith('/revoke'));
  const path = (revoke && attribute(revoke, 'action')) ?? '';
  t.is((await owner.post(path.replace('/dashboard', ''))).status, 303);
  t.is((await callWith(stack, key)).status, 401);
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
  t.is((await callWith(stack, key)).status, 200);
  t.is((await callWith(stack, key)).status, 402);
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
  t.is((await callWith(stack, key)).status, 200);

  const wrong = { ...limits, dailyBudget: 'many', allowedNetworks: '10.0.0.1/8' };
  const refused = await owner.post(`${path}/change`, wrong);
  t.is(refused.status, 422);
  const again = await pageOf(t, refused);
  t.regex(
    textOf(find(again, 'id', 'dailyBudget-fault') ?? t.fail('no fault')),
    /must be an integer or empty/,
  );
  t.is(fieldValue(again, 'dailyBudget'), 'many');
  const negative = await pageOf(t, await owner.post(`${path}/change`, { ...limits, dailyBudget: '-5' }));
  t.regex(textOf(find(negative, 'id', 'dailyBudget-fault') ?? t.fail('no fault')), /must be at least 1/);
  const corrected = await pageOf(t, await owner.post(`${path}/change`, { ...wrong, dailyBudget: '5' }));
  t.regex(textOf(find(corrected, 'id', 'allowedNetworks-fault') ?? t.fail('no fault')), /must be 0/);
  t.deepEqual(brokenAnchors(corrected), []);

  const fresh = secretOf(await pageOf(t, await owner.post(`${path}/rotate`, { overlapHours: '24' })));
  t.not(fresh, key);
  t.false(mainText(await pageOf(t, await owner.get(path))).includes(fresh), 'shown once');
  t.is((await callWith(stack, key)).status, 200);
  const pending = await owner.post(`${path}/rotate`, { overlapHours: '24' });
  t.is(pending.status, 409);
  t.regex(mainText(await pageOf(t, pending)), /earlier rotation/);
  t.is((await owner.post(`${path}/rotate`, { overlapHours: '999' })).status, 422);
  const last = secretOf(
    await pageOf(t, await owner.post(`${path}/rotate`, { overlapHours: '0', force: 'true' })),
  );
  t.is((await callWith(stack, key)).status, 401);
  t.is((await callWith(stack, fresh)).status, 401);
  t.is((await callWith(stack, last)).status, 402, 'the spend belongs to the key');
  t.is((await owner.post(`${path}/revoke`)).status, 303);
  t.is((await callWith(stack, last)).status, 401);
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
