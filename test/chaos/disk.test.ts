import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { npmStart } from '../helpers/npm-start.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { callOnce, callUntilResult } from './calls.ts';
import { restart, sendSignal } from './faults.ts';
import { mountDisk } from './smallDisk.ts';

/** Size of the disk: enough for the journal files that MongoDB preallocates and some data. */
const DISK = '700m';
const IDENTICAL = 50;
const UNKEYED = 20;
const CREDITS = 1000;
const FULL_MS = 4000;
const CALL_EVERY_MS = 200;

test.serial(
  'when the disk of MongoDB and Temporal fills up during calls, all calls end and are charged once',
  async (t) => {
    t.timeout(300_000);
    await using open = new AsyncDisposableStack();
    const disk = await mountDisk(open, DISK);
    const servers = open.adopt(await startOwnServers(disk.path), (it) => it.stop());
    const stack = open.adopt(await startStack({ servers, pools: ['orchestrator', 'cpu'] }), (it) =>
      it.stop(),
    );
    const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
    const account = await makeAccount(stack, CREDITS);
    t.is((await callOnce(account, 'before', null))?.status, 200);

    const identical = Array.from({ length: IDENTICAL }, () => callUntilResult(account, 'full', 'full'));
    const unkeyed = Array.from({ length: UNKEYED }, (_, i) => callOnce(account, `full ${i}`, null));
    await sleep(100);
    await disk.fill();
    await sleep(FULL_MS);
    disk.free();
    // A database process that cannot write to its disk exits or hangs, so both are killed and started again, as a
    // supervisor would do.
    for (const processName of ['mongod', 'temporal']) {
      await sendSignal(processName, 'SIGKILL', stack, servers);
      await restart(processName, stack, servers);
    }

    const bodies = new Set(await Promise.all(identical));
    t.is(bodies.size, 1, 'identical calls get identical bodies');
    t.false(bodies.has(null), 'identical calls get their result');
    const succeeded = (await Promise.all(unkeyed)).filter((response) => response?.status === 200).length;
    t.deepEqual(await auditWhenIdle(store), [], 'all calls have ended and the ledger is consistent');
    const charged = (await callsOf(store, account.accountId)).filter(
      ({ state }) => state === 'charged',
    ).length;
    t.true(
      charged >= succeeded + 2 && charged <= UNKEYED + 2,
      `${charged} charged, ${succeeded} of the unkeyed calls answered`,
    );
    t.is((await accountOf(store, account.accountId)).balance, CREDITS - charged);
    t.is((await callOnce(account, 'after', null))?.status, 200);
  },
);

test.serial(
  'a local stack recovers from a full disk by itself and charges only successful calls',
  async (t) => {
    t.timeout(600_000);
    await using open = new AsyncDisposableStack();
    const disk = await mountDisk(open, DISK);
    const started = npmStart({ DATA_DIR: join(disk.path, 'data'), PORT: '0', RATE_LIMIT: 'off' });
    open.defer(async () => {
      started.kill('SIGTERM');
      await started.exited;
    });
    const stack = await started.ready();
    const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
    const account = await makeAccount(stack, CREDITS);
    const statuses = [(await callOnce(account, 'before', null))?.status];

    const calls: Promise<Response | null>[] = [];
    const callRepeatedly = async (phase: string, ms: number) => {
      for (let i = 0; i < ms / CALL_EVERY_MS; i++) {
        calls.push(callOnce(account, `${phase} ${i}`, null));
        await sleep(CALL_EVERY_MS);
      }
    };
    await callRepeatedly('before', FULL_MS);
    await disk.fill();
    await callRepeatedly('full', FULL_MS);
    disk.free();
    await callRepeatedly('freed', FULL_MS);
    statuses.push(...(await Promise.all(calls)).map((response) => response?.status));
    await until('calls succeed again', async () => {
      const response = await callOnce(account, 'after', null);
      statuses.push(response?.status);
      return response?.status === 200;
    });

    t.false(statuses.includes(undefined), 'every call is answered');
    t.deepEqual(await auditWhenIdle(store), [], 'all calls have ended and the ledger is consistent');
    const succeeded = statuses.filter((status) => status === 200).length;
    t.log(`${statuses.length} calls, ${succeeded} successful`);
    t.is(
      (await accountOf(store, account.accountId)).balance,
      CREDITS - succeeded,
      'only successful calls are charged',
    );
    t.regex(started.output(), /cannot write its log \(ENOSPC/, 'the console reports the full disk');
    t.regex(started.output(), /can write its log again/);
  },
);
