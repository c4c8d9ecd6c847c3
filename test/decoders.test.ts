import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { OffloadOptions } from '../activities/decoders/offload.ts';
import { createDecoders } from '../activities/decoders/pool.ts';
import { codeOf, soon } from './helpers/egress.ts';
import type hostile from './helpers/jobs/hostile.ts';
import type { Deed } from './helpers/jobs/hostile.ts';
import { stillAlive } from './helpers/processes.ts';

const MEMORY = 256 * 2 ** 20;
const crashes: string[] = [];
const decoders = createDecoders({ memoryBytes: MEMORY, log: (line) => crashes.push(line) });
test.after.always(() => decoders.close());

const run = (deed: Deed, options: Partial<OffloadOptions> = {}) =>
  decoders.offload<typeof hostile>('../../test/helpers/jobs/hostile', deed, { ...soon(), ...options });
const pidOfNext = async () => Number(await run('pid'));

/** Most memory that a process has held, bytes. */
const peakOf = (pid: number): number =>
  1024 * Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

for (const [deed, code] of [
  ['heap', 'source_too_large'],
  ['buffers', 'source_too_large'],
  ['SIGABRT', 'source_too_large'],
  ['SIGSEGV', 'corrupt_source'],
  ['SIGBUS', 'corrupt_source'],
  ['exit', 'corrupt_source'],
] as const)
  test.serial(
    `a job that ends its process (${deed}) is refused with ${code}, and the next one runs`,
    async (t) => {
      t.is(await codeOf(() => run(deed)), code);
      t.is(await run('answer'), 'fine');
    },
  );

test.serial('a job that wants endless memory is stopped at the limit by the kernel', async (t) => {
  const pid = await pidOfNext();
  let peak = 0;
  const watch = setInterval(() => {
    try {
      peak = Math.max(peak, peakOf(pid));
    } catch {
      // It has ended.
    }
  }, 5);
  t.is(await codeOf(() => run('buffers')), 'source_too_large');
  clearInterval(watch);
  t.log(`${Math.round(peak / 2 ** 20)} MB`);
  // Beside the limit, Node itself and what it has mapped and not used.
  t.true(peak < MEMORY + 256 * 2 ** 20, `${peak}`);
});

test.serial('a process that is killed from outside is no fault of the file', async (t) => {
  await t.throwsAsync(run('SIGKILL'), { message: /ended with SIGKILL/ });
  t.is(await run('answer'), 'fine');
});

test.serial('the process is used again, and only one that failed is replaced', async (t) => {
  const pid = await pidOfNext();
  t.is(await pidOfNext(), pid);
  t.is(await codeOf(() => run('SIGSEGV')), 'corrupt_source');
  t.not(await pidOfNext(), pid);
  t.true(crashes.some((line) => line.includes('SIGSEGV')));
});

test.serial('what must not meet the bytes of others runs in a process of its own', async (t) => {
  const pid = await pidOfNext();
  const own = Number(await run('pid', { isolated: true }));
  t.not(own, pid);
  t.deepEqual(await stillAlive([own], 5_000), []);
  t.is(await pidOfNext(), pid);
});

test.serial('the process has nothing of the environment, which holds keys', async (t) => {
  process.env.MASTER_KEYS = 'secret';
  const env = Object(await run('env', { isolated: true }));
  delete process.env.MASTER_KEYS;
  t.deepEqual(
    Object.keys(env).filter((name) => !/^(PATH|PWD|OLDPWD|SHLVL|_|LANG|TMPDIR|NODE_CHANNEL_\w+)$/.test(name)),
    [],
  );
});

for (const deed of ['spin', 'wait'] as const)
  test.serial(
    `a job that goes on for ever (${deed}) is ended with its time, and with its call`,
    async (t) => {
      const late = await pidOfNext();
      t.is(await codeOf(() => run(deed, { deadline: Date.now() + 300 })), 'deadline_exceeded');
      const cancelled = await pidOfNext();
      t.not(cancelled, late);
      const cancel = new AbortController();
      const work = run(deed, { signal: cancel.signal });
      await sleep(300);
      cancel.abort(new Error('hung up'));
      await t.throwsAsync(work, { message: 'hung up' });
      t.deepEqual(await stillAlive([late, cancelled], 5_000), []);
    },
  );

test.serial(
  'a job that waits for a process gives up when its time is over, and takes no place',
  async (t) => {
    const cancel = new AbortController();
    const busy = Array.from({ length: 100 }, () =>
      run('wait', { signal: cancel.signal }).catch(() => 'ended'),
    );
    t.is(await codeOf(() => run('answer', { deadline: Date.now() + 300 })), 'deadline_exceeded');
    cancel.abort(new Error('enough'));
    await Promise.all(busy);
    t.is(await run('answer'), 'fine');
  },
);

test.serial('a process at work is gone when the process that started it is killed', async (t) => {
  const child = fileURLToPath(new URL('./helpers/decoders-child.ts', import.meta.url));
  const owner = spawn(process.execPath, [child], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(owner.stdout, 'data');
  const pid = Number(String(line));
  await sleep(500);
  t.deepEqual(await stillAlive([pid], 0), [pid]);
  owner.kill('SIGKILL');
  t.deepEqual(await stillAlive([pid], 5_000), []);
});

test.serial('closing leaves no process', async (t) => {
  const own = createDecoders({ memoryBytes: MEMORY, log: () => undefined });
  const options = soon();
  const at = '../../test/helpers/jobs/hostile';
  const pid = Number(await own.offload<typeof hostile>(at, 'pid', options));
  const busy = own.offload<typeof hostile>(at, 'spin', options);
  await sleep(100);
  await own.close();
  await t.throwsAsync(busy);
  t.deepEqual(await stillAlive([pid], 1_000), []);
});
