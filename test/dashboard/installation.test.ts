import { randomUUID } from 'node:crypto';
import test from 'ava';
import { parse } from 'parse5';
import { withStore } from '../helpers/account.ts';
import { newOwner, type Visitor } from '../helpers/dashboard.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import {
  attribute,
  elementsOf,
  fieldValue,
  linksOf,
  mainText,
  pageOf,
  rowsOf,
  textOf,
} from '../helpers/markup.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { newOperator } from '../helpers/users.ts';

// Notices and incidents of operators hold for the whole installation, so a shared stack would show them to other tests.

let stack: Stack;

test.before(async () => {
  stack = await startStack({ pools: ['orchestrator', 'cpu'] });
});
test.after.always(() => stack?.stop());

test('the status page shows the state, the days and the incidents with the updates of operators', async (t) => {
  const operator = await newOperator(stack);
  // One hour before the end of the day before yesterday, for which the API of this stack has recorded nothing.
  const startedAt = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 90_000_000);
  const day = startedAt.toISOString().slice(0, 10);
  const id = `inc_${randomUUID()}`;
  await withStore(stack, async ({ statusDays, incidents }) => {
    const counts = { day: new Date(`${day}T00:00:00Z`), minutes: {}, ok: { cpu: 1420 }, failed: { cpu: 8 } };
    // Replaces the day of an earlier run on the same stack.
    await statusDays.replaceOne({ _id: day }, counts, { upsert: true });
    await incidents.deleteMany({ component: 'cpu', startedAt });
    await incidents.insertOne({
      _id: id,
      component: 'cpu',
      startedAt,
      endedAt: new Date(startedAt.getTime() + 8 * 60_000),
      failures: 8,
      updates: [],
    });
  });
  const list = await pageOf(t, await operator.get('/operator/incidents'));
  t.true(linksOf(list).includes(`/dashboard/operator/incidents/${id}`));
  const form = await pageOf(t, await operator.get(`/operator/incidents/${id}`));
  const text = 'A disk was full. <b>It is larger now.</b>';
  const fields = { text, reference: fieldValue(form, 'reference') };
  for (let i = 0; i < 2; i++) t.is((await operator.post(`/operator/incidents/${id}`, fields)).status, 303);
  const empty = await operator.post(`/operator/incidents/${id}`, { text: ' ' });
  t.is(empty.status, 422);
  t.regex(mainText(await pageOf(t, empty)), /Update must have 1 to 1000 characters/);
  t.is((await operator.get('/operator/incidents/inc_none')).status, 404);

  const response = await fetch(`${stack.baseUrl}/status`);
  t.is(response.status, 200);
  t.is(response.headers.get('cache-control'), 'public, max-age=5');
  t.regex(response.headers.get('content-security-policy') ?? '', /script-src 'self'; style-src 'sha256-/);
  const elements = elementsOf(parse(await response.text()));
  const shown = mainText(elements);
  // The stack runs no worker of these pools.
  t.regex(shown, /components? (is|are) down\. Checked \d{4}-/);
  t.regex(shown, /API Operational/);
  t.regex(shown, /Processing tools Operational/);
  t.regex(shown, /Large-file tools Down/);
  t.regex(shown, /Outage: Processing tools resolved .*, 8 minutes .*: A disk was full. <b>It is/);
  const row = rowsOf(elements).find((it) => it.startsWith(day)) ?? '';
  t.regex(row, /99\.43 % up, 8 minutes down, 12 minutes unknown/);
  t.is(
    textOf(elements.find(({ tagName }) => tagName === 'ol') ?? t.fail('no list')).split('A disk').length,
    2,
  );
  const bars = elements.filter((it) => attribute(it, 'class') === 'uptime');
  t.is(bars.length, 9);
  for (const bar of bars)
    t.regex(attribute(bar, 'aria-label') ?? '', /^.+, last 90 days: .+, downtime on \d+ days?/);
  t.notRegex(shown, /127\.0\.0\.1|mongodb:|ECONN|Error/);

  const json = recordAt(await (await fetch(`${stack.baseUrl}/status.json`)).json());
  t.is(json.status, 'failed');
  const incident = recordsAt(json.incidents).find((it) => it.id === id);
  t.deepEqual(
    recordsAt(incident?.updates).map((update) => update.text),
    [text],
  );
  const owner = await newOwner(stack);
  t.is((await owner.get('/operator/incidents')).status, 404);
  t.is((await owner.post(`/operator/incidents/${id}`, fields)).status, 404);
  t.true(linksOf(elementsOf(parse(await (await owner.get('')).text()))).includes('/status'));
});

test("an operator's notice is on every page until it is dismissed or ended", async (t) => {
  const operator = await newOperator(stack);
  const [owner, other] = [await newOwner(stack), await newOwner(stack)];
  const barOf = async (who: Visitor, path = '', headers = {}) => {
    const page = await pageOf(t, await who.get(path, headers));
    return page.find(({ tagName }) => tagName === 'aside');
  };
  for (const wrong of [{ text: ' ' }, { level: 'loud' }, { hours: '1000' }]) {
    const fields = { text: 'x', level: 'info', hours: '1', ...wrong };
    t.is((await operator.post('/operator/notice', fields)).status, 422, JSON.stringify(wrong));
  }
  t.is((await owner.post('/operator/notice', { text: 'x', level: 'info', hours: '1' })).status, 404);
  t.is(await barOf(owner), undefined);

  const text = 'Maintenance <i>tonight</i> at 22:00 UTC';
  const published = await operator.post('/operator/notice', { text, level: 'warning', hours: '4' });
  t.is(published.headers.get('location'), '/dashboard/operator/notice?done=published');
  for (const path of ['', '/keys', '/settings']) {
    const bar = await barOf(owner, path);
    t.true(bar && textOf(bar).includes(`Warning: ${text}`), path);
  }
  const [hidden] = elementsOf((await barOf(owner)) ?? t.fail('no notice')).filter(
    (element) => attribute(element, 'name') === 'id',
  );
  const id = (hidden && attribute(hidden, 'value')) ?? '';
  for (const [from, to] of [
    [`${stack.baseUrl}/dashboard/keys?cursor=`, '/dashboard/keys?cursor='],
    ['http://other.example/dashboard/keys', '/dashboard'],
    [`${stack.baseUrl}//other.example/`, '/dashboard'],
  ] as const) {
    const dismissed = await owner.post('/notice/dismiss', { id }, { Referer: from });
    t.is(dismissed.headers.get('location'), to);
    const [cookie = ''] = dismissed.headers
      .getSetCookie()
      .filter((it) => it.startsWith('utility-tools.notice='));
    t.regex(cookie, /; httponly/i);
    t.is(await barOf(owner, '', { Cookie: `${owner.cookie}; ${cookie.split(';')[0]}` }), undefined);
  }
  t.not(await barOf(other), undefined);
  t.is((await operator.post('/operator/notice/end')).status, 303);
  t.is(await barOf(other), undefined);
});
