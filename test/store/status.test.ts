import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createRecorder } from '../../api/status/monitor.ts';
import { createReadStatus } from '../../api/status/readStatus.ts';
import { statusOf, uptimeOf } from '../../api/status/status.ts';
import { checkTwice, statesOf } from '../../api/status/statusChecks.ts';
import type { ComponentStates } from '../../schemas/status.ts';
import { createBroadcasts } from '../../store/accounts/broadcast.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { createIncidents } from '../../store/status/incidents.ts';
import { countOpenCalls } from '../../store/status/poolSamples.ts';
import { readStatusDays, recordMinute } from '../../store/status/statusDays.ts';
import { startDatabase } from '../helpers/stack.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';
import { openDatabases } from './ledgerFixtures.ts';

/** Start of today. MongoDB deletes the documents of older days. */
const DAY = Math.floor(Date.now() / 86_400_000) * 86_400_000;
const minute = (number: number) => new Date(DAY + number * 60_000);
const dayOf = (number: number) => minute(number).toISOString().slice(0, 10);
const READ_MS = 10_000;

let store: Store;
let close: () => PromiseLike<void>;

test.before(async (t) => {
  const databases = await openDatabases(1);
  close = () => databases[Symbol.asyncDispose]();
  store = databases.stores[0] ?? t.fail('no store');
});
test.after.always(() => close?.());

test('each minute counts once, whichever process records it and in whatever order; the others are unknown', async (t) => {
  const now = minute(60);
  const results = await Promise.all(
    [0, 1, 2].flatMap((api) =>
      Array.from({ length: 30 }, (_, index) => {
        const number = api === 1 ? 29 - index : index;
        const states: ComponentStates = { cpu: number < 3 ? 'failed' : 'ok', heavy: 'unknown' };
        return recordMinute(store, minute(number), states);
      }),
    ),
  );
  t.is(results.filter((isRecorded) => isRecorded).length, 30);
  const days = await readStatusDays(store, now, READ_MS);
  const { components } = statusOf({ cpu: 'ok', heavy: 'ok' }, { days, incidents: [] }, true, now);
  const today = (name: string) =>
    components.find(({ component }) => component === name)?.days.at(-1) ?? t.fail(name);
  t.deepEqual(today('cpu'), { day: dayOf(0), ok: 27, failed: 3, unknown: 30 });
  t.deepEqual(today('heavy'), { day: dayOf(0), ok: 0, failed: 0, unknown: 60 });
  t.is(uptimeOf([today('cpu')]), 90);
  t.is(uptimeOf([today('heavy')]), null);
  // No checks were recorded on the day before.
  t.deepEqual(components[0]?.days.at(-2), { day: dayOf(-1), ok: 0, failed: 0, unknown: 1440 });
  t.is(components[0]?.days.length, 90);
});

test('an outage becomes one incident after two failed checks, and ends after two successful ones', async (t) => {
  const incidents = createIncidents(store);
  const of = async (component: string) =>
    (await incidents.list()).filter((incident) => incident.component === component);
  const failed: ComponentStates = { network: 'failed', api: 'ok' };
  const ok: ComponentStates = { network: 'ok', api: 'ok' };
  await incidents.advance(minute(0), failed);
  await incidents.advance(minute(1), ok);
  await incidents.advance(minute(2), failed);
  t.deepEqual(await of('network'), [], 'single failures are no incident');

  await Promise.all([incidents.advance(minute(3), failed), incidents.advance(minute(3), failed)]);
  const [open] = await of('network');
  t.deepEqual([open?.startedAt, open?.endedAt], [minute(2), null]);
  await incidents.advance(minute(4), ok);
  await incidents.advance(minute(5), failed);
  await incidents.advance(minute(6), { network: 'unknown', api: 'ok' });
  t.is((await of('network'))[0]?.endedAt, null);
  await incidents.advance(minute(7), ok);
  await incidents.advance(minute(8), ok);
  await incidents.advance(minute(9), ok);
  const after = await of('network');
  t.is(after.length, 1);
  t.deepEqual([after[0]?.startedAt, after[0]?.endedAt], [minute(2), minute(7)]);

  const [{ _id = '' } = {}] = after;
  for (const reference of ['a', 'a', 'b'])
    t.true(await incidents.update(_id, { reference, text: `text ${reference}` }));
  t.deepEqual(
    (await incidents.find(_id))?.updates.map(({ text }) => text),
    ['text a', 'text b'],
  );
  t.false(await incidents.update('inc_none', { reference: 'a', text: 'x' }));
});

test('minutes that could not be recorded are recorded later', async (t) => {
  const { mongodbUri, stop } = await startDatabase();
  const closed = await openStore(mongodbUri);
  await closed.close();
  let isAway = true;
  const warnings: unknown[] = [];
  const add = createRecorder({
    record: async (at, states) => void (await recordMinute(isAway ? closed : store, at, states)),
    log: { warn: (details: object) => warnings.push(details) },
  });
  const day = minute(-2 * 1440).getTime();
  const at = (number: number) => new Date(day + number * 60_000);
  await add(at(0), { mongodb: 'failed' });
  await add(at(1), { mongodb: 'failed' });
  t.is(warnings.length, 2);
  isAway = false;
  await add(at(2), { mongodb: 'ok' });
  await stop();
  const days = await readStatusDays(store, minute(0), READ_MS);
  const row = days.find((it) => it.day.getTime() === day);
  t.deepEqual([row?.ok, row?.failed], [{ mongodb: 1 }, { mongodb: 2 }]);
});

test('without MongoDB, the status has the history that was last read, and says so', async (t) => {
  await untilDayLasts();
  const { mongodbUri, stop } = await startDatabase();
  const own = await openStore(mongodbUri);
  const now = new Date();
  await recordMinute(own, now, { cpu: 'failed' });
  const errors: unknown[] = [];
  const readStatus = createReadStatus({
    store: own,
    incidents: createIncidents(own),
    readiness: async () => ({
      status: 'unready',
      checks: { mongodb: 'failed', temporal: 'ok', 'pool tools-cpu': 'ok' },
    }),
    onError: (error) => errors.push(error),
  });
  const failedToday = ({ components }: Awaited<ReturnType<typeof readStatus>>) =>
    components.find(({ component }) => component === 'cpu')?.days.at(-1)?.failed;
  const before = await readStatus();
  t.true(before.isHistoryCurrent);
  t.is(failedToday(before), 1);
  await own.close();
  const after = await readStatus();
  t.false(after.isHistoryCurrent);
  t.is(failedToday(after), 1);
  t.is(errors.length, 1);
  t.deepEqual(
    after.components.map(({ component, state }) => `${component} ${state}`),
    ['api ok', 'mongodb failed', 'temporal ok', 'cpu ok'],
  );
  await stop();
});

test('without Temporal, the state of the workers is unknown', (t) => {
  const checks = {
    mongodb: 'ok',
    temporal: 'failed',
    'pool tools-cpu': 'failed',
    'pool delivery': 'ok',
  } as const;
  t.deepEqual(statesOf({ status: 'unready', checks }), {
    mongodb: 'ok',
    temporal: 'failed',
    cpu: 'unknown',
    delivery: 'unknown',
  });
});

test('a check that succeeds when it is repeated has not failed', async (t) => {
  const results: ComponentStates[] = [
    { cpu: 'failed', api: 'failed', mongodb: 'ok' },
    { cpu: 'ok', api: 'failed', mongodb: 'failed' },
  ];
  const check = async () => results.shift() ?? {};
  t.deepEqual(await checkTwice(check, AbortSignal.timeout(60_000), 1), {
    api: 'failed',
    mongodb: 'ok',
    cpu: 'ok',
  });
});

test('a notice that has expired is not shown, although it still exists', async (t) => {
  const notice = { id: 'a', text: 'x', level: 'info' } as const;
  await createBroadcasts(store).publish({ ...notice, expiresAt: new Date(Date.now() - 1000) });
  t.is(await createBroadcasts(store).current(), null);
  await createBroadcasts(store).publish({ ...notice, expiresAt: new Date(Date.now() + 60_000) });
  t.is((await createBroadcasts(store).current())?.id, 'a');
});

test('the calls that hold credits are counted by pool', async (t) => {
  const account = (running: object, reserved: number) => ({
    _id: randomUUID(),
    email: randomUUID(),
    running,
    reserved,
  });
  await store.db
    .collection<ReturnType<typeof account>>('accounts')
    .insertMany([account({ cpu: 2, heavy: 1 }, 5), account({ cpu: 3 }, 3), account({ cpu: 0 }, 0)]);
  t.deepEqual(Object.fromEntries(await countOpenCalls(store)), { cpu: 5, heavy: 1 });
});
