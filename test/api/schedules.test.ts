import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { Client, Connection, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import test from 'ava';
import sharp from 'sharp';
import { retryUntilAborted } from '../../platform/temporal/retryUntilAborted.ts';
import { createScheduleClock } from '../../platform/temporal/scheduleClock.ts';
import { MAX_SCHEDULES, type ScheduleCallbackRow, type ScheduleRunRow } from '../../schemas/schedules.ts';
import { closeAccount } from '../../store/accounts/closeAccount.ts';
import { OPERATOR } from '../../store/accounts/securityLog.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { createScheduleRuns, runIdAt } from '../../store/schedules/scheduleRuns.ts';
import { JOB_PRIORITY, workflowIds } from '../../workflows/contract.ts';
import { makeAccount } from '../helpers/account.ts';
import { recordsAt } from '../helpers/json.ts';
import { accountOf, auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { type Random, seededRandom } from '../helpers/random.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { schedulesOf } from '../helpers/schedules.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const HOUR_MS = 3_600_000;
const NOW = new Date();
/** All hours but this one and the next two, so that no clock fires while a test runs. */
const HOURS = Array.from({ length: 21 }, (_, i) => (NOW.getUTCHours() + 3 + i) % 24).sort((a, b) => a - b);
const HOURLY = `0 ${HOURS} * * *`;
const HASH = { job: { tool: 'hash-text', input: { text: 'abc' } } };
/** Once a year, so that its clock does not fire while a test runs. */
const RARE = { name: 'rare', cron: '30 4 29 2 *', ...HASH };

/** What the target answers with; null: it does not answer yet. */
let page: string | Buffer | null = 'first';
const open = new Set<ServerResponse>();

const release = () => {
  page = 'late';
  for (const response of open) response.end('late');
  open.clear();
};
const fetchPage = () => ({ job: { tool: 'http-request', input: { url: `http://${target}/` } } });
const iso = (date: Date): string => date.toISOString();

/** Repeats a request while Temporal is overloaded by other test files. */
const ask = <T>(request: () => Promise<T>): Promise<T> =>
  retryUntilAborted(client, request, AbortSignal.timeout(60_000));

/** Returns what Temporal knows of the clock of a schedule; null if there is none. */
async function describeClock(id: string): Promise<ScheduleDescription | null> {
  try {
    const handle = client.schedule.getHandle(workflowIds.scheduleClock(id));
    return await ask(() => handle.describe());
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

const isClockPaused = async (id: string): Promise<boolean | null> =>
  (await describeClock(id))?.state.paused ?? null;

/** The time of a schedule of `HOURLY` in a recent day. @param index of its hour */
const dueAt = (index: number): Date =>
  new Date(Date.UTC(NOW.getUTCFullYear(), NOW.getUTCMonth(), NOW.getUTCDate() - 2, HOURS[index]));

/** Makes the clock of a schedule fire for a time, and waits for what it starts. */
async function fire(id: string, time: Date): Promise<void> {
  const start = new Date(time.getTime() - 60_000);
  const handle = client.schedule.getHandle(workflowIds.scheduleClock(id));
  await ask(() => handle.backfill({ start, end: time }));
  const suffix = `-${iso(time).replace('.000', '')}`;
  await until('the clock has fired', async () => {
    // The clock of a schedule that does not exist is deleted when it fires.
    const described = await describeClock(id);
    if (described === null) return true;
    const { info } = described;
    const started = info.recentActions.findLast(({ action }) => action.workflow.workflowId.endsWith(suffix));
    if (started === undefined) return false;
    const { workflowId } = started.action.workflow;
    const { status } = await ask(() => client.workflow.getHandle(workflowId).describe());
    return status.name === 'COMPLETED';
  });
}

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const connection = await Connection.connect({ address: stack.temporalAddress });
const client = new Client({ connection, namespace: stack.namespace });
const server = createServer((_request, response) => {
  if (page === null) open.add(response);
  else response.end(page);
});
const target = await listenAsTarget(server);
test.after.always(async () => {
  server.closeAllConnections();
  server.close();
  await connection.close();
  await store.close();
  await stack.stop();
});

test.serial(
  'each time of a schedule runs once, however often its clock fires or it is backfilled',
  async (t) => {
    const account = await makeAccount(stack, 100);
    const schedules = schedulesOf(account, stack.baseUrl);
    const row = await schedules.create({ ...RARE, name: 'hourly', cron: HOURLY, overlap: 'queue' });
    t.like(row, {
      timeZone: 'UTC',
      overlap: 'queue',
      onChange: 'off',
      paused: false,
      tools: ['hash-text'],
      cost: 1,
    });
    const next = new Date(row.nextAt ?? '');
    t.true(next > new Date() && HOURS.includes(next.getUTCHours()));
    t.deepEqual(await schedules.get(row.id), row);
    const [first, last] = [dueAt(0), dueAt(HOURS.length - 1)];
    const fireAll = async () => {
      for (const index of [3, 4, 3, 4]) await fire(row.id, dueAt(index));
    };
    // Two times of the clock, twice, beside backfills that include them, from both API processes.
    const [one, other] = await Promise.all([
      schedules.backfill(row.id, first, last),
      schedulesOf(account, stack.baseUrls[1] ?? '').backfill(row.id, first, last),
      fireAll(),
    ]);
    t.is(one.times, HOURS.length);
    t.is(other.times, HOURS.length);
    const runs = await schedules.ended(row.id, HOURS.length);
    t.deepEqual(
      runs.map((run) => run.dueAt),
      HOURS.map((_, index) => iso(dueAt(index))),
    );
    t.true(runs.every(({ state, charged }) => state === 'succeeded' && charged === 1));
    t.is(new Set(runs.map(({ jobId }) => jobId)).size, HOURS.length);
    t.deepEqual(await schedules.backfill(row.id, first, last), { times: HOURS.length, added: 0 });
    t.is((await schedules.runs(row.id)).length, HOURS.length);
    t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
    t.is((await accountOf(store, account.accountId)).balance, 100 - HOURS.length);
    t.is((await callsOf(store, account.accountId)).length, HOURS.length);
  },
);

test.serial('bad schedules are refused, and nothing of them is stored', async (t) => {
  const account = await makeAccount(stack, 10);
  const { accountId } = account;
  const schedules = schedulesOf(account, stack.baseUrl);
  const faultsOf = async (body: object) =>
    recordsAt((await isProblem(t, await schedules.post({ ...RARE, ...body }), 'invalid_input')).errors);
  const crons = [
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '5-1 * * * *',
    '*/0 * * * *',
    '0 0 30 2 *',
    '@daily',
  ];
  for (const cron of crons) t.like(await faultsOf({ cron }), [{ pointer: '/cron' }], cron);
  for (const timeZone of ['Mars/Base', 'europe/berlin', '+01:00', ''])
    t.like(await faultsOf({ timeZone }), [{ pointer: '/timeZone' }], timeZone);
  const wrong = await faultsOf({ job: { tool: 'hash-text', input: { txt: 'x' } } });
  t.deepEqual(wrong.map(({ pointer }) => pointer).sort(), ['/job/input/text', '/job/input/txt']);
  t.like(await faultsOf({ batch: { tool: 'hash-text', inputs: [{ text: 'x' }] } }), [{ pointer: '/batch' }]);
  t.like(await faultsOf({ callbackUrl: 'http://example.com/' }), [{ pointer: '/callbackUrl' }]);
  const mark = (input: object) => ({ job: { tool: 'watermark-image', input: { text: 'a', ...input } } });
  const fileUrl = `file_${randomUUID()}`;
  t.like(await faultsOf(mark({ fileUrl })), [{ pointer: '/job/input/fileUrl' }]);
  const linked = mark({ fileUrl: 'https://example.com/a.png', output: 'link' });
  t.like(await faultsOf({ ...linked, onChange: 'changed' }), [{ pointer: '/onChange' }]);
  const secret = { password: 'x', hash: '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy' };
  const [fault] = await faultsOf({ job: { tool: 'bcrypt-verify', input: secret } });
  t.regex(String(fault?.message), /secrets \(.*password.*\) never are/);
  await isProblem(t, await schedules.post({ ...RARE, job: { tool: 'none', input: {} } }), 'unknown_tool');
  const { job: _job, ...none } = RARE;
  await isProblem(t, await schedules.post(none), 'invalid_input');
  const { key } = await account.addKey({ tools: ['http-request'] });
  const init = { method: 'POST', body: JSON.stringify(RARE) };
  await isProblem(t, await schedules.request('', init, key), 'tool_not_allowed');
  await isProblem(t, await schedules.request('', init, account.accountKey), 'insufficient_scope');
  t.is(await store.schedules.countDocuments({ accountId, deletedAt: { $exists: false } }), 0);
});

test.serial(
  'the same Idempotency-Key gives the same schedule and the same run; others see neither',
  async (t) => {
    const account = await makeAccount(stack, 10);
    const schedules = schedulesOf(account, stack.baseUrl);
    const key = { 'Idempotency-Key': 'k' };
    const created = await Promise.all(
      [0, 1].map(async (i) => (await schedulesOf(account, stack.baseUrls[i] ?? '').post(RARE, key)).json()),
    );
    const id: string = created[0].id;
    t.is(created[1].id, id);
    await isProblem(t, await schedules.post({ ...RARE, name: 'other' }, key), 'idempotency_key_mismatch');

    const triggered = await Promise.all([0, 1, 2, 3].map(() => schedules.trigger(id, key)));
    t.is(new Set(triggered.map((run) => run.id)).size, 1);
    const [run] = await schedules.ended(id, 1);
    t.like(run, { origin: 'trigger', state: 'succeeded', charged: 1 });
    t.like(await schedules.trigger(id, key), { id: run?.id, state: 'succeeded' });
    t.is((await schedules.runs(id)).length, 1);
    t.is((await accountOf(store, account.accountId)).balance, 9);

    const stranger = schedulesOf(await makeAccount(stack, 10), stack.baseUrl);
    const period = { from: iso(dueAt(0)), to: iso(dueAt(1)) };
    const json = (method: string, body: object) => ({ method, body: JSON.stringify(body) });
    for (const [path, init] of [
      ['', {}],
      ['', json('PATCH', { paused: true })],
      ['', { method: 'DELETE' }],
      ['/runs', {}],
      ['/callbacks', {}],
      ['/trigger', { method: 'POST' }],
      ['/backfill', json('POST', period)],
    ] as const)
      await isProblem(t, await stranger.request(`/${id}${path}`, init), 'not_found');
    t.deepEqual((await (await stranger.request('')).json()).items, []);

    t.is((await schedules.remove(id)).status, 204);
    await isProblem(t, await schedules.request(`/${id}`), 'not_found');
    t.is(await isClockPaused(id), null);
  },
);

test.serial('an account has a limited number of schedules', async (t) => {
  const account = await makeAccount(stack, 10);
  const schedules = schedulesOf(account, stack.baseUrl);
  const { id } = await schedules.create(RARE);
  const known = await store.schedules.findOne({ _id: id });
  if (known === null) throw new Error('no schedule');
  // The others have no clock.
  await store.schedules.insertMany(
    Array.from({ length: MAX_SCHEDULES - 2 }, (_, i) => ({ ...known, _id: `${id}-${i}` })),
  );
  t.is((await schedules.post(RARE)).status, 201);
  await isProblem(t, await schedules.post(RARE), 'limit_reached');
});

test.serial('times are those of the time zone, also when its clocks change', async (t) => {
  const schedules = schedulesOf(await makeAccount(stack, 10), stack.baseUrl);
  const clock = createScheduleClock(client);
  const timesOf = async (body: object, from: string, to: string): Promise<string[]> => {
    const { id } = await schedules.create({ ...RARE, paused: true, ...body });
    return (await ask(() => clock.times(id, new Date(from), new Date(to), 10))).map(iso);
  };
  const timeZone = 'America/New_York';
  t.deepEqual(
    await timesOf({ cron: '30 2 * * *', timeZone }, '2027-03-13T00:00:00Z', '2027-03-16T00:00:00Z'),
    // On 14 March, 2:30 does not exist.
    ['2027-03-13T07:30:00.000Z', '2027-03-15T06:30:00.000Z'],
  );
  t.deepEqual(
    await timesOf({ cron: '30 1 * * *', timeZone }, '2027-11-06T00:00:00Z', '2027-11-09T00:00:00Z'),
    // On 7 November, 1:30 exists twice.
    [
      '2027-11-06T05:30:00.000Z',
      '2027-11-07T05:30:00.000Z',
      '2027-11-07T06:30:00.000Z',
      '2027-11-08T06:30:00.000Z',
    ],
  );
  // Either field of days, as in cron: the 12th, and Fridays. Both ends of the period count.
  t.deepEqual(await timesOf({ cron: '0 12 12 * fri' }, '2027-08-12T12:00:00Z', '2027-08-20T12:00:00Z'), [
    '2027-08-12T12:00:00.000Z',
    '2027-08-13T12:00:00.000Z',
    '2027-08-20T12:00:00.000Z',
  ]);
});

/** A random cron expression that never matches within the next hours, and the times at which it does, in UTC. */
function randomTimes(random: Random): { cron: string; times(count: number): string[] } {
  const list = (min: number, max: number): number[] =>
    Array.from({ length: random.integer(1, 3) }, () => random.integer(min, max));
  const field = (min: number, max: number): { text: string; has(value: number): boolean } => {
    const step = random.integer(2, 5);
    // Each month has 28 days.
    const values = list(min, Math.min(max, 28));
    return random.pick([
      { text: '*', has: () => true },
      { text: `*/${step}`, has: (value: number) => (value - min) % step === 0 },
      { text: values.join(), has: (value: number) => values.includes(value) },
    ]);
  };
  const [minutes, hours] = [list(0, 59), list(0, 1).map((hour) => HOURS.at(-1 - hour) ?? 0)];
  const [days, months, weekdays] = [field(1, 31), field(1, 12), field(0, 6)];
  // As in cron: either field of days, unless one of them begins with a star.
  const isEither = [days, weekdays].every(({ text }) => !text.startsWith('*'));
  const matches = (date: Date): boolean => {
    const [day, weekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
    return months.has(date.getUTCMonth() + 1) && (isEither ? day || weekday : day && weekday);
  };
  return {
    cron: [minutes.join(), hours.join(), days.text, months.text, weekdays.text].join(' '),
    times(count) {
      const found: string[] = [];
      const ascending = (values: number[]) => [...new Set(values)].sort((a, b) => a - b);
      const first = Date.UTC(NOW.getUTCFullYear(), NOW.getUTCMonth(), NOW.getUTCDate());
      for (let day = 0; found.length < count; day++) {
        const date = new Date(first + day * 24 * HOUR_MS);
        if (matches(date))
          for (const hour of ascending(hours))
            for (const minute of ascending(minutes)) {
              const time = new Date(date.getTime() + hour * HOUR_MS + minute * 60_000);
              if (time > NOW) found.push(iso(time));
            }
      }
      return found.slice(0, count);
    },
  };
}

test.serial('the next times are those of the expression, and those at which Temporal runs', async (t) => {
  const schedules = schedulesOf(await makeAccount(stack, 10), stack.baseUrl);
  const nextOf = async (cron: string): Promise<string[]> => {
    const { id } = await schedules.create({ ...RARE, cron });
    const { info } = await ask(() => client.schedule.getHandle(workflowIds.scheduleClock(id)).describe());
    const next = info.nextActionTimes.map(iso);
    // The service leaves the time out while Temporal does not answer.
    const nextAt = await until('the next time is known', async () => (await schedules.get(id)).nextAt);
    t.deepEqual([nextAt], next.slice(0, 1), cron);
    t.true(next.length > 3, cron);
    return next;
  };
  // Each 13th and each Friday.
  const days = Array.from({ length: 60 }, (_, day) => new Date(NOW.getTime() + (day + 1) * 24 * HOUR_MS));
  const expected = days.filter((day) => day.getUTCDate() === 13 || day.getUTCDay() === 5);
  const next = await nextOf('0 0 13 * 5');
  t.deepEqual(
    next,
    expected.slice(0, next.length).map((day) => `${iso(day).slice(0, 10)}T00:00:00.000Z`),
  );
  const random = seededRandom(t.log);
  for (let i = 0; i < 12; i++) {
    const { cron, times } = randomTimes(random);
    const described = await nextOf(cron);
    t.deepEqual(described, times(described.length), cron);
  }
});

test.serial('a paused schedule has no runs of its clock, and goes on when it is resumed', async (t) => {
  const schedules = schedulesOf(await makeAccount(stack, 10), stack.baseUrl);
  const { id } = await schedules.create({ ...RARE, cron: HOURLY });
  t.is(await isClockPaused(id), false);
  t.like(await schedules.change(id, { paused: true }), {
    paused: true,
    pauseReason: 'requested',
    nextAt: null,
  });
  t.is(await isClockPaused(id), true);
  await fire(id, dueAt(0));
  t.deepEqual(await schedules.runs(id), []);
  t.like(await schedules.change(id, { paused: false }), { paused: false, pauseReason: null });
  await fire(id, dueAt(1));
  t.like(await schedules.ended(id, 1), [{ dueAt: iso(dueAt(1)), origin: 'clock', state: 'succeeded' }]);
  // A clock that fires while the schedule is being paused.
  const known = await store.schedules.findOneAndUpdate({ _id: id }, { $set: { paused: true } });
  if (known === null) throw new Error('no schedule');
  const due = dueAt(2);
  const added = await createScheduleRuns(store).add(known, [
    { id: runIdAt(id, due), origin: 'clock', dueAt: due },
  ]);
  t.deepEqual(added, []);
});

test.serial('the next time is asked for once, and clocks wait for calls', async (t) => {
  const account = await makeAccount(stack, 10);
  const schedules = schedulesOf(account, stack.baseUrl);
  const { id } = await schedules.create(RARE);
  const nextAt = await until('the next time is known', async () => (await schedules.get(id)).nextAt);
  const described = await describeClock(id);
  t.like(described?.action.priority, { priorityKey: JOB_PRIORITY, fairnessKey: account.accountId });
  // Without its clock, Temporal does not know the time any more.
  await createScheduleClock(client).remove(id);
  t.is((await schedules.get(id)).nextAt, nextAt);
  t.is((await (await schedules.request('')).json()).items[0].nextAt, nextAt);
});

test.serial('a change that is refused changes nothing', async (t) => {
  const schedules = schedulesOf(await makeAccount(stack, 10), stack.baseUrl);
  const { id } = await schedules.create({ ...RARE, onChange: 'changed' });
  await schedules.trigger(id);
  await schedules.ended(id, 1);
  const stored = async () => {
    const found = await store.schedules.findOne({ _id: id });
    if (found === null) throw new Error('no schedule');
    const { version: _version, unsyncedSince: _since, turn: _turn, ...row } = found;
    return row;
  };
  const before = await stored();
  t.truthy(before.last);
  const change = {
    name: 'other',
    // Known to JavaScript, whatever its case, and not to Temporal.
    timeZone: 'europe/berlin',
    job: { tool: 'hash-text', input: { text: 'other' } },
    onChange: 'always',
  };
  const response = await schedules.request(`/${id}`, { method: 'PATCH', body: JSON.stringify(change) });
  t.like(await isProblem(t, response, 'invalid_input'), { errors: [{ pointer: '/timeZone' }] });
  t.deepEqual(await stored(), before);
});

test.serial('a schedule pauses by itself when its key is revoked or its account is suspended', async (t) => {
  const account = await makeAccount(stack, 10);
  const schedules = schedulesOf(account, stack.baseUrl);
  const { id: keyId, key } = await account.addKey({});
  const { id } = await schedulesOf({ toolsKey: key }, stack.baseUrl).create({ ...RARE, cron: HOURLY });
  await store.apiKeys.updateOne({ _id: keyId }, { $set: { revokedAt: new Date() } });
  await fire(id, dueAt(0));
  t.like(await schedules.get(id), { paused: true, pauseReason: 'key_revoked' });
  t.is(await isClockPaused(id), true);
  // The key of this request takes it over.
  await schedules.change(id, { paused: false });
  const own = { _id: account.accountId };
  await store.accounts.updateOne(own, { $set: { suspension: { at: new Date(), reason: 'test' } } });
  await fire(id, dueAt(1));
  await store.accounts.updateOne(own, { $unset: { suspension: '' } });
  t.like(await schedules.get(id), { paused: true, pauseReason: 'account_suspended' });
  t.deepEqual(await schedules.runs(id), []);
});

test.serial('the overlap policy skips, queues or cancels', async (t) => {
  const account = await makeAccount(stack, 100);
  const schedules = schedulesOf(account, stack.baseUrl);
  page = null;
  t.teardown(release);
  const outcomes = async (overlap: string): Promise<{ id: string; runs: ScheduleRunRow[] }> => {
    const before = open.size;
    const { id } = await schedules.create({ ...RARE, ...fetchPage(), overlap });
    await schedules.trigger(id);
    await until('the first run is at the target', async () => open.size === before + 1);
    return { id, runs: [await schedules.trigger(id), await schedules.trigger(id)] };
  };
  const skip = await outcomes('skip');
  t.true(skip.runs.every(({ state, code }) => state === 'skipped' && code === 'overlap'));
  const queue = await outcomes('queue');
  t.true(queue.runs.every(({ state }) => state === 'waiting'));
  const cancel = await outcomes('cancel');
  await until('the last run has replaced the others', async () => {
    const states = (await schedules.runs(cancel.id)).map(({ state }) => state);
    return states.join() === 'running,cancelled,cancelled';
  });
  release();
  const states = async (id: string, count: number) =>
    (await schedules.ended(id, count)).map(({ state }) => state);
  t.deepEqual(await states(queue.id, 3), ['succeeded', 'succeeded', 'succeeded']);
  t.deepEqual(await states(cancel.id, 3), ['cancelled', 'cancelled', 'succeeded']);
  await states(skip.id, 3);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  t.is((await accountOf(store, account.accountId)).balance, 100 - 5 * 2);
});

test.serial('a schedule that is deleted while it runs leaves its job alone', async (t) => {
  const account = await makeAccount(stack, 10);
  const schedules = schedulesOf(account, stack.baseUrl);
  page = null;
  t.teardown(release);
  const before = open.size;
  const { id } = await schedules.create({ ...RARE, ...fetchPage(), onChange: 'changed' });
  await schedules.trigger(id);
  await until('the run is at the target', async () => open.size === before + 1);
  const [run] = await schedules.runs(id);
  t.is((await schedules.remove(id)).status, 204);
  release();
  const job = `${stack.baseUrl}/api/v1/jobs/${run?.jobId}?wait=30`;
  const headers = { Authorization: `Bearer ${account.toolsKey}` };
  await until('the job has succeeded', async () => {
    const { state } = await (await fetch(job, { headers })).json();
    return state === 'succeeded';
  });
  t.is(await store.schedules.countDocuments({ _id: id }), 0);
  t.is(await store.scheduleRuns.countDocuments({ scheduleId: id }), 0);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  t.is((await accountOf(store, account.accountId)).balance, 10 - 2);
});

test.serial('callbacks tell what has changed, and only then', async (t) => {
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const account = await makeAccount(stack, 100);
  const schedules = schedulesOf(account, stack.baseUrl);
  const { id } = await schedules.create({
    ...RARE,
    ...fetchPage(),
    onChange: 'changed',
    callbackUrl: receiver.url,
  });
  const runWith = async (text: string, count: number): Promise<ScheduleRunRow | undefined> => {
    page = text;
    await schedules.trigger(id);
    return (await schedules.ended(id, count)).at(-1);
  };
  t.like(await runWith('bread: 3\nrolls: 1\n', 1), { changed: false, difference: null });
  t.like(await runWith('bread: 3\nrolls: 1\n', 2), { changed: false, difference: null });
  const changed = await runWith('bread: 4\nrolls: 1\n', 3);
  const difference = {
    added: 1,
    removed: 1,
    lines: [
      { change: 'removed', text: 'bread: 3' },
      { change: 'added', text: 'bread: 4' },
    ],
  };
  t.like(changed, { changed: true, difference });
  t.is((await runWith('bread: 4\nrolls: 1\n', 4))?.changed, false);
  const [delivery] = await receiver.until(1);
  t.is(delivery?.event, 'schedule.changed');
  t.like(JSON.parse(delivery?.body ?? ''), {
    id: `cbk_${changed?.id}`,
    data: { schedule: { id, name: 'rare' }, run: { id: changed?.id, changed: true, difference } },
  });
  // From now on, the end of every run is reported, also of one that fails.
  await schedules.change(id, {
    onChange: 'always',
    job: { tool: 'http-request', input: { url: 'http://127.0.0.1:9/' } },
  });
  await schedules.trigger(id);
  const failed = (await schedules.ended(id, 5)).at(-1);
  t.like(failed, { state: 'failed', code: 'target_refused', changed: null, charged: 0 });
  const deliveries = await receiver.until(2);
  t.like(JSON.parse(deliveries[1]?.body ?? ''), {
    data: { run: { state: 'failed', code: 'target_refused' } },
  });
  const callbacks = async (): Promise<ScheduleCallbackRow[]> =>
    (await (await schedules.request(`/${id}/callbacks`)).json()).items;
  const [, first] = await until('both callbacks are delivered', async () => {
    const rows = await callbacks();
    return rows.length === 2 && rows.every(({ state }) => state === 'delivered') && rows;
  });
  t.is(receiver.received.length, 2);
  t.like(first?.history, [{ attempt: 1, statusCode: 200, error: null }]);

  // They are sent again: those that are named, or those that failed.
  const resend = async (body: object, by = schedules): Promise<Response> =>
    by.request(`/${id}/callbacks/resend`, { method: 'POST', body: JSON.stringify(body) });
  const attempted = (count: number, state: string) =>
    until(`a callback was attempted ${count} times`, async () =>
      (await callbacks()).some((it) => it.id === first?.id && it.attempts === count && it.state === state),
    );
  t.deepEqual(await (await resend({})).json(), { queued: 0 });
  receiver.answer(() => ({ status: 500 }));
  const named = { callbackIds: [first?.id, `cbk_run_${'0'.repeat(32)}`] };
  t.deepEqual(await (await resend(named)).json(), { queued: 1 });
  // It has the whole retry schedule before it.
  await attempted(5, 'failed');
  receiver.answer(() => ({}));
  t.deepEqual(await (await resend({})).json(), { queued: 1 });
  await attempted(6, 'delivered');
  const sent = receiver.received.filter((it) => it.id === first?.id);
  t.deepEqual([sent.length, new Set(sent.map(({ body }) => body)).size], [6, 1]);
  t.is((await callbacks())[1]?.history.length, 6);
  const stranger = schedulesOf(await makeAccount(stack, 10), stack.baseUrl);
  await isProblem(t, await resend({}, stranger), 'not_found');
  // What was compared is encrypted.
  t.notRegex(JSON.stringify(await store.schedules.findOne({ _id: id })), /bread|:9\//);
  t.notRegex(JSON.stringify(await store.scheduleCallbacks.find({ scheduleId: id }).toArray()), /bread/);
});

test.serial('pictures are compared by their pixels, and the difference is a picture', async (t) => {
  const account = await makeAccount(stack, 100);
  const schedules = schedulesOf(account, stack.baseUrl);
  const input = { fileUrl: `http://${target}/chart.png`, text: 'x', position: 'bottom-right' };
  const { id } = await schedules.create({
    ...RARE,
    job: { tool: 'watermark-image', input },
    onChange: 'changed',
  });
  const chart = (background: string, bars: object[] = []) =>
    sharp({ create: { width: 300, height: 200, channels: 3, background } })
      .composite(bars)
      .png()
      .toBuffer();
  const bar = { input: await chart('#0000ff'), left: 0, top: 0 };
  const small = await sharp(bar.input).resize(20, 10, { fit: 'fill' }).toBuffer();
  const runWith = async (picture: Buffer, count: number): Promise<ScheduleRunRow | undefined> => {
    page = picture;
    await schedules.trigger(id);
    return (await schedules.ended(id, count)).at(-1);
  };
  t.like(await runWith(await chart('#fff0e0'), 1), { state: 'succeeded', changed: false });
  // Each pixel differs, but nobody can see it.
  t.like(await runWith(await chart('#f8f0e8'), 2), { state: 'succeeded', changed: false, difference: null });
  const drawn = [{ input: small, left: 30, top: 40 }];
  const third = await runWith(await chart('#fff0e0', drawn), 3);
  t.like(third, { state: 'succeeded', changed: true });
  t.is(third?.difference?.lines.length, 2);
  const { changedPixels, pixels, url } = third?.difference?.picture ?? {};
  t.deepEqual({ changedPixels, pixels }, { changedPixels: 200, pixels: 300 * 200 });
  // Without a key, as the receiver of a callback would show it.
  const response = await fetch(String(url));
  t.is(response.headers.get('content-type'), 'image/png');
  const shown = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
  t.like(shown, { width: 300, height: 200 });
  t.like(await runWith(await chart('#fff0e0', drawn), 4), { changed: false, difference: null });
  const dark = (await runWith(await chart('#000000'), 5))?.difference?.picture;
  t.true((dark?.changedPixels ?? 0) > 0.9 * 300 * 200);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);

  const stored = () => store.results.countDocuments({ _id: { $regex: `^${id}:` } });
  t.true((await stored()) >= 3);
  t.is((await schedules.remove(id)).status, 204);
  t.is(await stored(), 0);
  t.is((await fetch(String(url))).status, 404);
});

test.serial('a batch repeats, and its rows are compared', async (t) => {
  const account = await makeAccount(stack, 100);
  const schedules = schedulesOf(account, stack.baseUrl);
  const inputs = [{ url: `http://${target}/` }, { url: `http://${target}/2` }];
  page = 'old';
  const { job: _job, ...rare } = RARE;
  const row = await schedules.create({
    ...rare,
    batch: { tool: 'http-request', inputs, maxCredits: 10 },
    onChange: 'changed',
  });
  t.like(row, { job: null, batch: { tool: 'http-request', rows: 2, maxCredits: 10 }, cost: 4 });
  await schedules.trigger(row.id);
  t.like(await schedules.ended(row.id, 1), [{ state: 'succeeded', charged: 4, changed: false, jobId: null }]);
  page = 'new';
  await schedules.trigger(row.id);
  const [, second] = await schedules.ended(row.id, 2);
  t.like(second, { changed: true, difference: { added: 2, removed: 2 } });
  t.deepEqual(second?.difference?.lines[0], { change: 'removed', text: 'row 0: old' });
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  t.is((await accountOf(store, account.accountId)).balance, 100 - 8);
  // A list of schedules reads and decrypts no inputs, which can be 1 MB each.
  const inputsOf = async () => (await store.schedules.findOne({ _id: row.id }))?.sealedInputs;
  t.true(String(await inputsOf()).length > 100);
  await store.schedules.updateOne({ _id: row.id }, { $set: { sealedInputs: 'AA==' } });
  t.like((await (await schedules.request('')).json()).items, [{ batch: { rows: 2 } }]);
});

test.serial('what a crash left between MongoDB and Temporal is completed', async (t) => {
  const account = await makeAccount(stack, 10);
  const schedules = schedulesOf(account, stack.baseUrl);
  const ago = new Date(Date.now() - HOUR_MS);
  const make = async () => (await schedules.create({ ...RARE, cron: HOURLY })).id;
  const [lost, orphan, old, stuck] = [await make(), await make(), await make(), await make()];
  const [moved, named] = [await make(), await make()];
  // The process was killed before it made the clock.
  await createScheduleClock(client).remove(lost);
  await store.schedules.updateOne({ _id: lost }, { $set: { unsyncedSince: ago } });
  // The clock is that of a schedule that does not exist, or of an earlier version.
  await store.schedules.deleteOne({ _id: orphan });
  await store.schedules.updateOne({ _id: old }, { $set: { paused: true }, $inc: { version: 1 } });
  for (const id of [orphan, old]) await fire(id, dueAt(0));
  t.is(await isClockPaused(orphan), null);
  t.is(await isClockPaused(old), true);
  t.deepEqual(await schedules.runs(old), []);
  // The clock is still that of an expression that the owner has changed.
  const changed = { cron: RARE.cron, unsyncedSince: new Date() };
  await store.schedules.updateOne({ _id: moved }, { $set: changed, $inc: { version: 1 } });
  await fire(moved, dueAt(0));
  t.deepEqual(await schedules.runs(moved), []);
  // Only its name was changed: the time is still one of the schedule.
  await store.schedules.updateOne({ _id: named }, { $set: { name: 'new' }, $inc: { version: 1 } });
  await fire(named, dueAt(0));
  t.like(await schedules.ended(named, 1), [{ dueAt: iso(dueAt(0)), state: 'succeeded' }]);
  // The process was killed before it had the runs started.
  const waiting = await store.schedules.findOne({ _id: named });
  if (waiting === null) throw new Error('no schedule');
  const late = { id: runIdAt(named, dueAt(1)), origin: 'backfill', dueAt: dueAt(1) } as const;
  await createScheduleRuns(store).add(waiting, [late]);
  await store.scheduleRuns.updateOne({ _id: late.id }, { $set: { movedAt: ago } });
  await schedules.ended(named, 2);
  // The process was killed after it had started a run, and before it created the job.
  await schedules.trigger(stuck);
  const [run] = await schedules.ended(stuck, 1);
  const jobId = randomUUID();
  await store.scheduleRuns.updateOne(
    { _id: run?.id ?? '' },
    { $set: { state: 'running', jobId, endedAt: null, isOpen: true, movedAt: ago, startedAt: new Date() } },
  );
  await until('the clock was made', async () => (await isClockPaused(lost)) === false);
  await until('the run has ended', async () => (await schedules.runs(stuck))[0]?.state === 'succeeded');
  t.is((await schedules.runs(stuck))[0]?.jobId, jobId);

  const own = { accountId: account.accountId };
  await closeAccount(store, { ...own, email: account.email, actor: OPERATOR });
  await store.schedules.updateMany(own, { $set: { unsyncedSince: ago } });
  await until(
    'the schedules of a closed account are gone',
    async () => (await store.schedules.countDocuments(own)) === 0,
  );
  t.is(await isClockPaused(lost), null);
});
