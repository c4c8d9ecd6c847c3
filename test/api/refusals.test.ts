import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { callWith, madeKey, newOwner } from '../helpers/dashboard.ts';
import { linksOf, mainText, pageOf, rowsOf } from '../helpers/markup.ts';
import { connectMcp } from '../helpers/mcp.ts';
import { useStack } from '../helpers/profiles.ts';
import { until } from '../helpers/until.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';

interface Row {
  code: string;
  tool: string | null;
  keyPrefix: string;
  count: number;
  faults: { pointer: string; message: string }[];
  requestIds: string[];
}

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
test.after.always(async () => {
  await store.close();
  await stack.stop();
});

/** Waits until this number of an account's requests are listed as refused. */
const refusalsOf = ({ manage }: TestAccount, requests: number): Promise<Row[]> =>
  until('the refusals are written', async () => {
    const { items }: { items: Row[] } = await (await manage('/api/v1/account/refusals')).json();
    return items.reduce((sum, { count }) => sum + count, 0) >= requests && items;
  });

test('refused requests are listed with code, key, tool and faults, and without their input', async (t) => {
  const account = await makeAccount(stack, 5);
  const { call, accountId, toolsKey } = account;
  const secret = `secret-${randomUUID()}`;
  const invalid = await call('hash-text', { text: secret, algorithm: secret });
  t.is(invalid.status, 422);
  t.is((await call('website-screenshot', { url: 'https://example.com' })).status, 402);
  t.is((await call('no-such-tool', {})).status, 404);
  const limited = await account.addKey({ tools: ['ping'] });
  t.is((await callWith(stack, limited.key)).status, 403);
  const expired = await account.addKey({ expiresAt: new Date(Date.now() - 1000) });
  t.is((await callWith(stack, expired.key)).status, 401);
  const elsewhere = await account.addKey({ allowedNetworks: ['198.51.100.0/24'] });
  t.is((await callWith(stack, elsewhere.key)).status, 403);
  // A call is not among them, however it ends.
  t.is((await call('hash-text', { text: 'abc' })).status, 200);
  await call('qr-generate', { text: 'a'.repeat(2900), errorCorrection: 'H' });

  await using connection = await connectMcp(stack.baseUrl, toolsKey);
  t.true((await connection.client.callTool({ name: 'hash-text', arguments: {} })).isError);

  const rows = await refusalsOf(account, 7);
  t.deepEqual(rows.map(({ code, tool, count }) => `${code} ${tool} ${count}`).sort(), [
    'insufficient_credits website-screenshot 1',
    'invalid_api_key null 1',
    'invalid_input hash-text 2',
    'network_not_allowed null 1',
    'tool_not_allowed hash-text 1',
    'unknown_tool null 1',
  ]);
  const byCode = new Map(rows.map((row) => [row.code, row]));
  t.is(byCode.get('invalid_input')?.keyPrefix, toolsKey.slice(0, 9));
  t.is(byCode.get('invalid_api_key')?.keyPrefix, expired.key.slice(0, 9));
  t.true(byCode.get('invalid_input')?.requestIds.includes(invalid.headers.get('X-Request-Id') ?? ''));
  t.deepEqual(byCode.get('invalid_input')?.faults, [{ pointer: '/text', message: 'is required' }]);
  const stored = await store.refusals.find({ accountId }).toArray();
  t.false(JSON.stringify(stored).includes(secret));
  const other = await makeAccount(stack, 0);
  t.deepEqual((await (await other.manage('/api/v1/account/refusals')).json()).items, []);
});

test('the dashboard shows refused requests, finds them by id, counts them and names them', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  const refused = await callWith(stack, key, 'hash-text', {});
  const requestId = refused.headers.get('X-Request-Id') ?? '';
  const calls = await until('the refusal is listed', async () => {
    const page = await pageOf(t, await owner.get('/calls'));
    return mainText(page).includes('Refused requests') && page;
  });
  t.true(
    rowsOf(calls).some((row) =>
      /UTC 1 hash-text Invalid input invalid_input \/text is required ut_/.test(row),
    ),
  );
  t.true(linksOf(calls).includes('/dashboard/calls/refused'));
  t.notRegex(mainText(await pageOf(t, await owner.get('/calls?state=charged'))), /Refused requests/);
  t.notRegex(mainText(await pageOf(t, await owner.get('/calls?tool=ping'))), /Refused requests/);

  const found = await owner.get(`/calls?id=${requestId}`);
  t.is(found.headers.get('location'), `/dashboard/calls/refused?request=${requestId}`);
  t.regex(
    mainText(await pageOf(t, await owner.get(`/calls/refused?request=${requestId}`))),
    new RegExp(`${requestId} is one of these`),
  );
  const overview = mainText(await pageOf(t, await owner.get('')));
  t.regex(overview, /1 request was refused in the last 24 hours: 1 × Invalid input\. Show why/);
  t.regex(overview, /Calls by day \(UTC\) 0 calls and 1 refused request/);
  // The page of another owner does not have it.
  const other = await newOwner(stack);
  t.regex(mainText(await pageOf(t, await other.get('/calls/refused'))), /No requests were refused/);
  t.is((await other.get(`/calls?id=${requestId}`)).status, 200);
});

test('the overview names keys that have spent 80 % or all of a budget', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  for (const name of ['low', 'high', 'full']) await madeKey(owner, name);
  const account = await store.accounts.findOne({ email: owner.email });
  const keys = await store.apiKeys.find({ accountId: account?._id ?? '' }).toArray();
  const now = new Date();
  const day = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()));
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
  for (const [name, spent] of [
    ['low', 79],
    ['high', 80],
    ['full', 100],
  ] as const) {
    const id = keys.find((key) => key.name === name)?._id ?? '';
    await store.apiKeys.updateOne({ _id: id }, { $set: { monthlyBudget: 100 } });
    const spend = { day, inDay: spent, month, inMonth: spent };
    await store.accounts.updateOne({ _id: account?._id ?? '' }, { $set: { [`keySpend.${id}`]: spend } });
  }
  const text = mainText(await pageOf(t, await owner.get('')));
  t.regex(text, /The key high has spent 80 of 100 credits per month\./);
  t.regex(text, /The key full has used up its budget of 100 credits per month\..* Raise the budget/);
  t.notRegex(text, /The key low has/);
});

test('owners who want it are notified once: of refused requests a day, and of each share of a budget', async (t) => {
  await untilDayLasts();
  const [wants, wantsNot] = [await makeAccount(stack, 30), await makeAccount(stack, 30)];
  await store.accounts.updateOne({ _id: wants.accountId }, { $set: { mailsAttention: true } });
  for (const account of [wants, wantsNot]) {
    const { id, key } = await account.addKey({ name: 'capped' });
    await store.apiKeys.updateOne({ _id: id }, { $set: { dailyBudget: 5 } });
    // 1 credit each: the fourth call reaches 80 %, the fifth 100 %, and the sixth is refused.
    for (let i = 0; i < 6; i++) await callWith(stack, key);
    for (const baseUrl of stack.baseUrls) await account.at(baseUrl).call('hash-text', {});
  }
  const notices = await until('all notices are written', async () => {
    const found = await store.notices.find({ accountId: wants.accountId }).toArray();
    return found.length >= 3 && found;
  });
  t.deepEqual(
    notices
      .map((notice) =>
        notice.kind === 'budget' ? `${notice.kind} ${notice.period} ${notice.percent}` : notice.kind,
      )
      .sort(),
    ['budget day 100', 'budget day 80', 'refused'],
  );
  await refusalsOf(wantsNot, 1 + stack.baseUrls.length);
  t.is(await store.notices.countDocuments({ accountId: wantsNot.accountId }), 0);
});
