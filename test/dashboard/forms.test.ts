import { randomUUID } from 'node:crypto';
import test from 'ava';
import { newOwner } from '../helpers/dashboard.ts';
import {
  attribute,
  brokenAnchors,
  fieldValue,
  find,
  mainText,
  pageOf,
  rowsOf,
  textOf,
} from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { newOperator } from '../helpers/users.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

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
  const operator = await newOperator(stack);
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
