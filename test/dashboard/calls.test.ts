import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { parseFragment } from 'parse5';
import { resultView } from '../../api/dashboard/pages/calls/result.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { withStore } from '../helpers/account.ts';
import { callWith, madeKey, newOwner, type Visitor } from '../helpers/dashboard.ts';
import { auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { attribute, elementsOf, find, linksOf, mainText, pageOf, rowsOf, textOf } from '../helpers/markup.ts';
import { FREE_CREDITS, useStack } from '../helpers/profiles.ts';
import { seededRandom } from '../helpers/random.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';

const registry = await loadRegistry();

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

/** Waits until the call of a form runs. Returns the path of its cancellation, below `/dashboard`. */
const runOf = (owner: Visitor, attempt: string, step?: string): Promise<string> =>
  until('the call runs', async () => {
    const { run } = await (await owner.get(`/runs/${attempt}`)).json();
    return run !== null && (step === undefined || run.step === step) && run.cancel.replace('/dashboard', '');
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

test('calls are filtered by tool, outcome and day, and paged', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  await callWith(stack, key, 'qr-generate', { text: 'a' });
  for (let i = 0; i < 26; i++) await callWith(stack, key);
  await callWith(stack, key, 'qr-generate', { text: 'a'.repeat(2900), errorCorrection: 'H' });
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

test('a call is found by its ids, and explained', async (t) => {
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  const good = await callWith(stack, key);
  const bad = await callWith(stack, key, 'qr-generate', { text: 'a'.repeat(2900), errorCorrection: 'H' });
  const { code } = await bad.json();
  const slow = await callWith(stack, key, 'bcrypt-hash', { password: 'a', workFactor: 12 });
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
    /nothing was charged\. Tool qr-generate .* Charged 0 credits .*What went wrong Invalid input\. The input does not match what the tool accepts/,
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

  const before = await callWith(stack, key, 'hash-text', { text: words });
  t.regex(await pageOfCall(idOf(before)), /Input and output of calls are not kept/);
  t.regex(
    mainText(await pageOf(t, await owner.get('/calls'))),
    /Only you see them.*fields that the tool marks as secret/,
  );
  const on = await owner.post('/calls/contents', { keep: 'on' });
  t.is(on.headers.get('location'), '/dashboard/calls?contents=on#contents');
  t.regex(await pageOfCall(idOf(before)), /before you switched keeping on/);

  const kept = await callWith(stack, key, 'hash-text', { text: words });
  const { hash: digest } = await kept.json();
  const failed = await callWith(stack, key, 'qr-generate', { text: words.repeat(60), errorCorrection: 'H' });
  const { code } = await failed.json();
  const secret = await callWith(stack, key, 'bcrypt-hash', { password: words, workFactor: 4 });
  const { hash } = await secret.json();
  const large = await callWith(stack, key, 'hash-text', { text: words.repeat(15_000) });
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
  const after = await callWith(stack, key, 'hash-text', { text: words });
  t.is(after.status, 200);
  t.regex(await pageOfCall(idOf(after)), /Input and output of calls are not kept/);
  t.deepEqual(await stored(), []);
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
  const waiting = callWith(stack, key, 'html-to-image', { html: 'a' });
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
