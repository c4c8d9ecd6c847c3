import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { isRecord, type Json, recordAt } from '../helpers/json.ts';
import { auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';

type Row = Record<string, unknown>;
interface List {
  items: Row[];
  nextCursor: string | null;
}

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
test.after.always(async () => {
  await store.close();
  await stack.stop();
});

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function list(account: TestAccount, path: string): Promise<List> {
  const response = await account.manage(`/api/v1/account/${path}`);
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return JSON.parse(await response.text());
}

/** Reads all pages of a list. Returns all rows and the number of pages. */
async function walk(account: TestAccount, path: string, limit: number) {
  const items: Row[] = [];
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const page: List = await list(
      account,
      `${path}?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return { items, pages };
}

async function problem(response: Response): Promise<{ status: number; code: string; pointers: string[] }> {
  const { code, errors = [] } = JSON.parse(await response.text());
  return { status: response.status, code, pointers: errors.map(({ pointer }: Row) => pointer).sort() };
}

function callRow(accountId: string, row: Partial<CallDoc>): CallDoc {
  const at = new Date();
  return {
    _id: randomUUID(),
    accountId,
    keyId: null,
    keyPrefix: null,
    tool: 'hash-text',
    cost: 1,
    charged: 0,
    state: 'refused',
    code: 'insufficient_credits',
    requestId: 'req_1',
    startedAt: at,
    touchedAt: at,
    finishedAt: at,
    actsOnWorld: false,
    ...row,
  };
}

test('the account object has all documented fields', async (t) => {
  const account = await makeAccount(stack, 40);
  const response = await account.manage('/api/v1/account');
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^application\/json/);
  t.is(response.headers.get('cache-control'), 'no-store');
  t.deepEqual(await response.json(), {
    id: account.accountId,
    email: account.email,
    balance: 40,
    reserved: 0,
    available: 40,
    lowThreshold: 25,
    monthlyAllowance: 0,
    jobs: { open: 0, maxOpen: 1000, storedBytes: 0, maxStoredBytes: null },
    files: { count: 0, storedBytes: 0, maxStoredBytes: null },
  });
});

test('a charged call appears in the call list, the ledger and the event list', async (t) => {
  const account = await makeAccount(stack, 25);
  t.is((await account.call('hash-text', { text: 'a' })).status, 200);

  const { items: calls, nextCursor } = await list(account, 'calls');
  const { id, startedAt, durationMs, phases, ...call } = calls[0] ?? {};
  t.deepEqual(call, {
    tool: 'hash-text',
    cost: 1,
    charged: 1,
    state: 'charged',
    code: null,
    keyPrefix: account.toolsKey.slice(0, 9),
    resultFrom: null,
  });
  t.regex(String(startedAt), TIME);
  t.true(Number.isInteger(durationMs));
  const { accept, queue, reserve, wait, run, settle } = recordAt({ phases }, 'phases');
  for (const ms of [accept, queue, reserve, wait, run, settle])
    t.true(Number.isInteger(ms), JSON.stringify(phases));
  t.is(Number(reserve) + Number(wait) + Number(run) + Number(settle), Number(durationMs));
  t.is(nextCursor, null);

  const { items: lines } = await list(account, 'ledger');
  t.deepEqual(
    lines.map(({ id: _id, at: _at, ...line }) => line),
    [
      {
        type: 'charge',
        amount: -1,
        balanceAfter: 24,
        callId: id,
        tool: 'hash-text',
        source: null,
        reference: null,
      },
      {
        type: 'signup',
        amount: 25,
        balanceAfter: 25,
        callId: null,
        tool: null,
        source: 'signup',
        reference: null,
      },
    ],
  );
  t.true(lines.every((line) => /^ent_/.test(String(line.id)) && TIME.test(String(line.at))));

  const { items: events } = await list(account, 'events');
  const low = events.find(({ event }) => event === 'credits.low');
  t.like(low, { event: 'credits.low', deliveries: [] });
  t.like(low?.data, { balance: 24, threshold: 25 });
  t.is(events.filter(({ event }) => event === 'api_key.created').length, 2);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});

test('a failed call, a refused call and a running call appear in the call list', async (t) => {
  const account = await makeAccount(stack, 0);
  const { accountId } = account;
  // Recent, because MongoDB deletes calls without a charge after a week.
  const startedAt = new Date();
  const ended = { startedAt, finishedAt: new Date(startedAt.getTime() + 322) };
  const row = {
    tool: 'ping',
    cost: 2,
    charged: 0,
    startedAt: startedAt.toISOString(),
    keyPrefix: null,
    phases: null,
    resultFrom: null,
  };
  for (const [state, code] of [
    ['refunded', 'target_failed'],
    ['refused', 'insufficient_credits'],
  ] as const) {
    const { _id: id } = callRow(accountId, {});
    await store.calls.insertOne(
      callRow(accountId, { _id: id, ...ended, tool: 'ping', cost: 2, state, code }),
    );
    const { items } = await list(account, `calls?state=${state}`);
    t.deepEqual(items, [{ ...row, id, state, code, durationMs: 322 }]);
  }
  const { _id: id } = callRow(accountId, {});
  const running = { state: 'running', code: null, finishedAt: null, tool: 'ping', cost: 2 } as const;
  await store.calls.insertOne(callRow(accountId, { ...running, _id: id, startedAt, touchedAt: new Date() }));
  const { items } = await list(account, 'calls?state=running');
  t.deepEqual(items, [{ ...row, id, state: 'running', code: null, durationMs: null }]);
  await store.calls.deleteOne({ _id: id });
});

test('pages contain every call exactly once, newest first, also with equal times and while calls are added', async (t) => {
  const account = await makeAccount(stack, 0);
  const at = (i: number) => new Date(Date.UTC(2026, 0, 1) + Math.floor(i / 7) * 1000);
  const rows = Array.from({ length: 45 }, (_, i) => callRow(account.accountId, { startedAt: at(i) }));
  await store.calls.insertMany(rows);
  const expected = rows
    .toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime() || (a._id < b._id ? 1 : -1))
    .map(({ _id }) => _id);
  for (const limit of [1, 7, 44, 45, 100]) {
    const { items, pages } = await walk(account, 'calls', limit);
    t.deepEqual(
      items.map(({ id }) => id),
      expected,
    );
    t.is(pages, Math.ceil(45 / limit));
  }
  const first = await list(account, 'calls?limit=10');
  await store.calls.insertMany(
    [1, 2, 3].map(() => callRow(account.accountId, { startedAt: new Date('2026-02-01') })),
  );
  const second = await list(account, `calls?limit=10&cursor=${first.nextCursor}`);
  t.deepEqual(
    [...first.items, ...second.items].map(({ id }) => id),
    expected.slice(0, 20),
  );
  t.is((await list(account, 'calls')).items.length, 20);
});

test('the lists of ledger entries, keys and events have pages too', async (t) => {
  const account = await makeAccount(stack, 0);
  const accounts = createAccounts(store);
  for (let i = 1; i <= 5; i++)
    await accounts.grant({
      accountId: account.accountId,
      type: 'adjustment',
      amount: i,
      reference: `r${i}`,
      reason: 'test',
    });
  const ledger = await walk(account, 'ledger', 2);
  t.deepEqual(
    ledger.items.map(({ amount, balanceAfter, source, reference }) => [
      amount,
      balanceAfter,
      source,
      reference,
    ]),
    [
      [5, 15, 'adjustment', 'r5'],
      [4, 10, 'adjustment', 'r4'],
      [3, 6, 'adjustment', 'r3'],
      [2, 3, 'adjustment', 'r2'],
      [1, 1, 'adjustment', 'r1'],
    ],
  );
  t.is(ledger.pages, 3);
  const events = await walk(account, 'events', 3);
  t.is(new Set(events.items.map(({ id }) => id)).size, 7);
  t.deepEqual(
    events.items.slice(0, 5).map(({ event, data }) => [event, data]),
    [5, 4, 3, 2, 1].map((i) => [
      'credits.granted',
      { balance: (i * (i + 1)) / 2, amount: i, source: 'adjustment', reference: `r${i}` },
    ]),
  );
  const keys = await walk(account, 'keys', 1);
  t.is(keys.pages, 2);
});

test('the call list can be filtered', async (t) => {
  const account = await makeAccount(stack, 0);
  const rows = [
    { tool: 'ping', startedAt: new Date('2026-03-01T00:00:00Z') },
    { tool: 'hash-text', startedAt: new Date('2026-03-02T00:00:00Z') },
    { tool: 'hash-text', startedAt: new Date('2026-03-03T00:00:00Z'), state: 'charged', charged: 1 },
  ] as const;
  const docs = rows.map((row) => callRow(account.accountId, row));
  await store.calls.insertMany(docs);
  const shown = async (query: string) =>
    (await list(account, `calls?${query}`)).items.map(({ id }) => docs.findIndex(({ _id }) => _id === id));

  t.deepEqual(await shown('tool=hash-text'), [2, 1]);
  t.deepEqual(await shown('tool=no-such-tool'), []);
  t.deepEqual(await shown('state=refused&tool=hash-text'), [1]);
  t.deepEqual(await shown('from=2026-03-02T00:00:00Z'), [2, 1]);
  t.deepEqual(await shown('to=2026-03-02T00:00:00Z'), [0]);
  t.deepEqual(await shown('from=2026-03-02T01:00:00%2B01:00&to=2026-03-02T00:00:00.001Z'), [1]);
  t.deepEqual(await shown('from=2026-03-03T00:00:00Z&to=2026-03-01T00:00:00Z'), []);
  const { nextCursor } = await list(account, 'calls?tool=hash-text&limit=1');
  t.deepEqual(await shown(`tool=hash-text&limit=1&cursor=${nextCursor}`), [1]);
});

test('an invalid query is refused, and the error names every fault', async (t) => {
  const account = await makeAccount(stack, 0);
  await account.addKey({});
  const { nextCursor } = await list(account, 'keys?limit=1');
  const refused = async (path: string, ...pointers: string[]) =>
    t.deepEqual(await problem(await account.manage(`/api/v1/account${path}`)), {
      status: 422,
      code: 'invalid_input',
      pointers,
    });
  for (const limit of ['0', '101', '-1', '1.5', '1e1', '0x10', '+5', '05', '', 'ten', '9'.repeat(30)])
    await refused(`/calls?limit=${encodeURIComponent(limit)}`, '/limit');
  await refused('/calls?limit=5&limit=6', '/limit');
  for (const cursor of ['', 'x', '!!!!', `${nextCursor}A`, `${nextCursor}=`, '%00', 'a'.repeat(5000)])
    await refused(`/keys?cursor=${cursor}`, '/cursor');
  await refused(`/events?cursor=${nextCursor}`, '/cursor');
  await refused(`/ledger?cursor=${nextCursor}`, '/cursor');
  await refused(
    '/calls?state=lost&from=yesterday&to=2026-01-01&page=2&limit=x',
    '/from',
    '/limit',
    '/page',
    '/state',
    '/to',
  );
  await refused('/calls?from=2026-12-31T23:59:60Z', '/from');
  await refused('/keys?tool=ping', '/tool');
  await refused('?__proto__=1&constructor=1', '/__proto__', '/constructor');
});

test('another account sees none of the rows', async (t) => {
  const [owner, other] = [await makeAccount(stack, 5), await makeAccount(stack, 7)];
  t.is((await owner.call('hash-text', { text: 'a' })).status, 200);
  const seen = async (path: string) => new Set((await list(owner, path)).items.map(({ id }) => id));
  for (const path of ['calls', 'ledger', 'keys', 'events']) {
    const own = await seen(path);
    t.true(own.size > 0);
    t.false((await list(other, path)).items.some(({ id }) => own.has(id)));
  }
});

/** Parses CSV with Python's csv module. Returns the cells of each row. */
const parseCsv = (text: string): string[][] =>
  JSON.parse(
    execFileSync(
      'python3',
      [
        '-c',
        'import csv,io,json,sys; print(json.dumps(list(csv.reader(io.TextIOWrapper(sys.stdin.buffer,"utf-8",newline=""),strict=True))))',
      ],
      { input: text, encoding: 'utf8', timeout: 30_000 },
    ),
  );

const NASTY = [
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\tx',
  '\r=x',
  '＝1',
  'a "quoted", text',
  'two\r\nlines',
  "it's",
  'ü€😀',
];

test('the statement as CSV is complete, has the same columns, and no cell that a spreadsheet would execute', async (t) => {
  const account = await makeAccount(stack, 2000);
  const accounts = createAccounts(store);
  for (const [i, reference] of NASTY.entries())
    await accounts.grant({
      accountId: account.accountId,
      type: 'adjustment',
      amount: i - 100,
      reference,
      reason: '=x',
    });
  t.is((await account.call('hash-text', { text: 'a' })).status, 200);
  await store.entries.insertMany(
    Array.from({ length: 300 }, (_, i) => ({
      _id: `ent_${randomUUID()}`,
      accountId: account.accountId,
      seq: 100 + i,
      at: new Date(),
      type: 'purchase' as const,
      amount: 1,
      balanceAfter: i,
      callId: null,
      tool: null,
      source: 'purchase',
      reference: `p${i}`,
    })),
  );
  const json = (await walk(account, 'ledger', 100)).items;

  const response = await account.manage('/api/v1/account/ledger?limit=1', undefined, {
    headers: { Accept: 'text/csv, application/json;q=0.5' },
  });
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^text\/csv; charset=utf-8$/);
  t.is(response.headers.get('content-disposition'), 'attachment; filename="ledger.csv"');
  t.is(response.headers.get('vary'), 'Accept');
  const text = await response.text();
  t.true(text.endsWith('\r\n'));
  const [columns = [], ...rows] = parseCsv(text);
  t.deepEqual(columns, [
    'id',
    'at',
    'type',
    'amount',
    'balanceAfter',
    'callId',
    'tool',
    'source',
    'reference',
  ]);
  t.is(rows.length, 300 + 1 + NASTY.length + 1);

  const isFormula = (cell: string) => /^[=+\-@\t\r＝]/.test(cell);
  const expected = json.map((row) =>
    columns.map((column) => {
      const value = row[column];
      return typeof value === 'string' && isFormula(value) ? `'${value}` : String(value ?? '');
    }),
  );
  t.deepEqual(rows, expected);
  t.deepEqual(
    rows.flatMap((row) => row.filter((cell, i) => isFormula(cell) && columns[i] !== 'amount')),
    [],
  );
  await store.entries.deleteMany({ accountId: account.accountId, seq: { $gte: 100 } });
});

/** Replaces the phases of a call by one field for each, as in the CSV file. */
const flatRow = ({ phases, ...row }: Json): Json => ({
  ...row,
  ...Object.fromEntries(
    Object.entries(isRecord(phases) ? phases : {}).map(([phase, ms]) => [`${phase}Ms`, ms]),
  ),
});

test('calls as CSV are complete and filtered by tool, key and time, like the list', async (t) => {
  const account = await makeAccount(stack, 20);
  const other = await account.addKey({ name: 'other' });
  const headers = { Authorization: `Bearer ${other.key}` };
  for (const text of ['a', 'b']) t.is((await account.call('hash-text', { text })).status, 200);
  t.is((await account.call('hash-text', { text: 'c' }, headers)).status, 200);
  t.is((await account.call('bcrypt-hash', { password: 'a', cost: 4 })).status, 422);
  const [row] = (await walk(account, 'calls', 100)).items;
  const old = new Date('2026-01-01T12:00:00Z');
  await store.calls.insertMany(
    Array.from({ length: 1200 }, (_, i) =>
      callRow(account.accountId, {
        tool: i < 1100 ? 'qr-generate' : 'hash-text',
        state: 'refunded',
        code: 'target_failed',
        startedAt: old,
      }),
    ),
  );
  for (const [query, count] of [
    ['', 1203],
    ['?tool=hash-text', 103],
    ['?tool=hash-text&from=2026-01-02T00:00:00Z', 3],
    ['?to=2026-01-01T12:00:00Z', 0],
    [`?key=${other.id}`, 1],
    ['?key=dashboard&state=refunded', 1200],
    ['?limit=1', 1203],
  ] as const) {
    const response = await account.manage(`/api/v1/account/calls${query}`, undefined, {
      headers: { Accept: 'text/csv' },
    });
    t.is(response.status, 200, query);
    t.is(response.headers.get('content-disposition'), 'attachment; filename="calls.csv"');
    const [columns = [], ...rows] = parseCsv(await response.text());
    t.is(rows.length, count, query);
    if (query !== '') continue;
    const expected = (await walk(account, 'calls', 100)).items.map(flatRow);
    t.deepEqual(columns.toSorted(), Object.keys(flatRow(row ?? {})).toSorted());
    t.deepEqual(
      rows,
      expected.map((it) => columns.map((column) => String(it[column] ?? ''))),
    );
  }
  const refused = await account.manage('/api/v1/account/calls?from=yesterday', undefined, {
    headers: { Accept: 'text/csv' },
  });
  t.is(refused.status, 422);
  await store.calls.deleteMany({ accountId: account.accountId, startedAt: old });
});

test('lists are returned as JSON unless Accept ranks CSV above it', async (t) => {
  const account = await makeAccount(stack, 1);
  for (const Accept of [
    '*/*',
    'text/csv;q=0.5, application/json',
    'text/csv, application/json',
    'image/png',
    '',
  ]) {
    const response = await account.manage('/api/v1/account/ledger', undefined, { headers: { Accept } });
    t.regex(response.headers.get('content-type') ?? '', /^application\/json/, Accept);
    await response.body?.cancel();
  }
});

test('an account with a shortfall is suspended from the next call on until the shortfall is settled', async (t) => {
  const account = await makeAccount(stack, 10);
  const { grant } = createAccounts(store);
  const adjust = (amount: number) =>
    grant({
      accountId: account.accountId,
      type: 'adjustment',
      amount,
      reference: randomUUID(),
      reason: 'test',
    });
  const call = async () => problem(await account.call('hash-text', { text: 'a' }));

  t.like(await adjust(-25), { balance: 0, shortfall: 15 });
  t.like(await call(), { status: 403, code: 'account_suspended' });
  t.is((await account.manage('/api/v1/account')).status, 200);
  t.like(await adjust(10), { balance: 0, shortfall: 5 });
  t.like(await call(), { status: 403, code: 'account_suspended' });
  t.like(await adjust(8), { balance: 3, shortfall: 0 });
  t.is((await account.call('hash-text', { text: 'a' })).status, 200);

  const { items } = await list(account, 'ledger');
  t.deepEqual(
    items.map(({ type, amount, balanceAfter }) => [type, amount, balanceAfter]),
    [
      ['charge', -1, 2],
      ['recovery', -5, 3],
      ['adjustment', 8, 8],
      ['recovery', -10, 0],
      ['adjustment', 10, 10],
      ['adjustment', -10, 0],
      ['signup', 10, 10],
    ],
  );
  const events = (await list(account, 'events')).items.filter(({ event }) => event === 'credits.granted');
  const granted = events.map(({ data }) => data);
  t.like(granted, [
    { balance: 3, amount: 8, source: 'adjustment' },
    { balance: 0, amount: 10, source: 'adjustment' },
  ]);
  t.is(events.length, 2);
});

test('unknown paths and methods are refused', async (t) => {
  const account = await makeAccount(stack, 0);
  const put = await account.manage('/api/v1/account/keys', undefined, { method: 'PUT' });
  t.deepEqual(put.headers.get('allow')?.split(', ').sort(), ['GET', 'HEAD', 'POST']);
  t.like(await problem(put), { status: 405, code: 'method_not_allowed' });
  t.like(await problem(await account.manage('/api/v1/account/nothing')), { status: 404, code: 'not_found' });
});
