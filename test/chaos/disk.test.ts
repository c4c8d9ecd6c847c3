import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, callsOf, closeBooks, until } from '../helpers/books.ts';
import { npmStart } from '../helpers/npm-start.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { callOnce, insist } from './callers.ts';
import { revive, strike } from './victims.ts';

/** Room for the journals that MongoDB makes ahead, and some more. */
const DISK = '700m';
const EQUAL = 50;
const CARELESS = 20;
const CREDITS = 1000;
const FULL_MS = 4000;
const CALL_EVERY_MS = 200;

function run(file: string, args: string[]): void {
  const { status, stderr } = spawnSync(file, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${file}: ${stderr}`);
}

/** Writes until not a byte more fits. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (let size = 1 << 20; size >= 1; )
      try {
        writeSync(file, Buffer.alloc(size, 1));
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
        size = Math.floor(size / 2);
      }
  } finally {
    closeSync(file);
  }
}

/** A small disk of its own, which is gone with `open`. */
async function mountDisk(open: AsyncDisposableStack): Promise<string> {
  const disk = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-disk-')), rmdir);
  run('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', disk]);
  open.defer(() => run('umount', ['-l', disk]));
  return disk;
}

test.serial(
  'the disk under MongoDB and Temporal is full in the middle of calls: all ends, and is charged once',
  async (t) => {
    t.timeout(300_000);
    await using open = new AsyncDisposableStack();
    const disk = await mountDisk(open);
    const servers = open.adopt(await startOwnServers(disk), (it) => it.stop());
    const stack = open.adopt(await startStack({ servers, pools: ['orchestrator', 'cpu'] }), (it) =>
      it.stop(),
    );
    const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
    const account = await makeAccount(stack, CREDITS);
    t.is((await callOnce(account, 'before', null))?.status, 200);

    const ballast = join(disk, 'ballast');
    const equal = Array.from({ length: EQUAL }, () => insist(account, 'full', 'full'));
    const careless = Array.from({ length: CARELESS }, (_, i) => callOnce(account, `full ${i}`, null));
    await sleep(100);
    fill(ballast);
    await sleep(FULL_MS);
    await rm(ballast);
    // A database that could not write has ended, or should be: it is started again, as whoever supervises it does.
    for (const victim of ['mongod', 'temporal']) {
      await strike(victim, 'SIGKILL', stack, servers);
      await revive(victim, stack, servers);
    }

    const bodies = new Set(await Promise.all(equal));
    t.is(bodies.size, 1, 'equal calls, equal bodies');
    t.false(bodies.has(null), 'they get their result');
    const paid = (await Promise.all(careless)).filter((answer) => answer?.status === 200).length;
    t.deepEqual(await closeBooks(store), [], 'all has ended, and the books are right');
    const charged = (await callsOf(store, account.accountId)).filter(
      ({ state }) => state === 'charged',
    ).length;
    t.true(
      charged >= paid + 2 && charged <= CARELESS + 2,
      `${charged} charged, ${paid} of the careless answered`,
    );
    t.is((await accountOf(store, account.accountId)).balance, CREDITS - charged);
    t.is((await callOnce(account, 'after', null))?.status, 200);
  },
);

test.serial(
  'the disk under a whole local stack is full: it goes on by itself, and what is charged was answered',
  async (t) => {
    t.timeout(600_000);
    await using open = new AsyncDisposableStack();
    const disk = await mountDisk(open);
    const started = npmStart({ DATA_DIR: join(disk, 'data'), PORT: '0', RATE_LIMIT: 'off' });
    open.defer(async () => {
      started.kill('SIGTERM');
      await started.exited;
    });
    const stack = await started.ready();
    const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
    const account = await makeAccount(stack, CREDITS);
    const statuses = [(await callOnce(account, 'before', null))?.status];

    const ballast = join(disk, 'ballast');
    const calls: Promise<Response | null>[] = [];
    const callSeveral = async (what: string, ms: number) => {
      for (let i = 0; i < ms / CALL_EVERY_MS; i++) {
        calls.push(callOnce(account, `${what} ${i}`, null));
        await sleep(CALL_EVERY_MS);
      }
    };
    await callSeveral('there is space', FULL_MS);
    fill(ballast);
    await callSeveral('full', FULL_MS);
    await rm(ballast);
    await callSeveral('space again', FULL_MS);
    statuses.push(...(await Promise.all(calls)).map((answer) => answer?.status));
    await until('calls run again', async () => {
      const response = await callOnce(account, 'after', null);
      statuses.push(response?.status);
      return response?.status === 200;
    });

    t.false(statuses.includes(undefined), 'every call is answered');
    t.deepEqual(await closeBooks(store), [], 'all has ended, and the books are right');
    const paid = statuses.filter((status) => status === 200).length;
    t.log(`${statuses.length} calls, ${paid} with a result`);
    t.is((await accountOf(store, account.accountId)).balance, CREDITS - paid, 'charged for results alone');
    t.regex(started.output(), /cannot write its log \(ENOSPC/, 'it says so');
    t.regex(started.output(), /can write its log again/);
  },
);
