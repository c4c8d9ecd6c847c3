import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import sharp from 'sharp';
import type { Offload, OffloadOptions } from '../activities/decoders/offload.ts';
import { createDecoders } from '../activities/decoders/pool.ts';
import { codeOf, soon } from './helpers/egress.ts';
import { startFiles } from './helpers/images.ts';
import type hostile from './helpers/jobs/hostile.ts';
import type { Deed } from './helpers/jobs/hostile.ts';
import { stillAlive } from './helpers/processes.ts';
import { loadTool } from './helpers/tool.ts';
import { until } from './helpers/until.ts';

const MEMORY = 256 * 2 ** 20;
const crashes: string[] = [];
const decoders = createDecoders({ memoryBytes: MEMORY, log: (line) => crashes.push(line) });
test.after.always(() => decoders.close());

const run = (deed: Deed, options: Partial<OffloadOptions> = {}) =>
  decoders.offload<typeof hostile>('../../test/helpers/jobs/hostile', deed, { ...soon(), ...options });
const pidOfNext = async () => Number(await run('pid'));

/** Waits until a decoder process has begun a job. */
const untilDoing = (pid: number, deed: Deed) =>
  until(`a job to ${deed} has begun`, async () =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(deed),
  );

/** Returns the peak memory of a process, in bytes. */
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
    `a job that ends its process (${deed}) is reported as ${code}, and the next job runs`,
    async (t) => {
      t.is(await codeOf(() => run(deed)), code);
      t.is(await run('answer'), 'fine');
    },
  );

test.serial('the kernel stops a job that allocates memory without end at the memory limit', async (t) => {
  const pid = await pidOfNext();
  let peak = 0;
  const watch = setInterval(() => {
    try {
      peak = Math.max(peak, peakOf(pid));
    } catch {
      // The process has ended.
    }
  }, 5);
  t.is(await codeOf(() => run('buffers')), 'source_too_large');
  clearInterval(watch);
  t.log(`${Math.round(peak / 2 ** 20)} MB`);
  // In addition to the limit, the memory of Node.js itself, including pages that it has mapped and not used.
  t.true(peak < MEMORY + 256 * 2 ** 20, `${peak}`);
});

test.serial('the kill of a decoder process from outside is not reported as a corrupt file', async (t) => {
  await t.throwsAsync(run('SIGKILL'), { message: /ended with SIGKILL/ });
  t.is(await run('answer'), 'fine');
});

test.serial('a decoder process is reused, and replaced only after a failure', async (t) => {
  const pid = await pidOfNext();
  t.is(await pidOfNext(), pid);
  t.is(await codeOf(() => run('SIGSEGV')), 'corrupt_source');
  t.not(await pidOfNext(), pid);
  t.true(crashes.some((line) => line.includes('SIGSEGV')));
});

test.serial(
  'a job whose library leaves a rejected promise unhandled succeeds, and its process is kept',
  async (t) => {
    const pid = Number(await run('reject'));
    t.is(await pidOfNext(), pid);
  },
);

test.serial(
  'a job that waits for a promise that is never settled fails long before its deadline',
  async (t) => {
    crashes.length = 0;
    t.is(await codeOf(() => run('stall')), 'corrupt_source');
    t.true(crashes.some((line) => line.includes('never settled')));
    t.is(await run('answer'), 'fine');
  },
);

test.serial('an isolated job runs in a new process', async (t) => {
  const pid = await pidOfNext();
  const own = Number(await run('pid', { isolated: true }));
  t.not(own, pid);
  t.deepEqual(await stillAlive([own]), []);
  t.is(await pidOfNext(), pid);
});

test.serial('a decoder process does not inherit the environment variables, which contain keys', async (t) => {
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
    `a job that never ends (${deed}) is ended at its deadline or when its call is cancelled`,
    async (t) => {
      const late = await pidOfNext();
      t.is(await codeOf(() => run(deed, { deadline: Date.now() + 300 })), 'deadline_exceeded');
      const cancelled = await pidOfNext();
      t.not(cancelled, late);
      const cancel = new AbortController();
      const work = run(deed, { signal: cancel.signal });
      work.catch(() => undefined);
      await untilDoing(cancelled, deed);
      cancel.abort(new Error('hung up'));
      await t.throwsAsync(work, { message: 'hung up' });
      t.deepEqual(await stillAlive([late, cancelled]), []);
    },
  );

test.serial('a job that waits for a process fails at its deadline and then uses no process', async (t) => {
  const cancel = new AbortController();
  const busy = Array.from({ length: 100 }, () => run('wait', { signal: cancel.signal }).catch(() => 'ended'));
  t.is(await codeOf(() => run('answer', { deadline: Date.now() + 300 })), 'deadline_exceeded');
  cancel.abort(new Error('enough'));
  await Promise.all(busy);
  t.is(await run('answer'), 'fine');
});

test.serial('a busy decoder process ends when the process that started it is killed', async (t) => {
  const child = fileURLToPath(new URL('./helpers/decoders-child.ts', import.meta.url));
  const owner = spawn(process.execPath, [child], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(owner.stdout, 'data');
  const pid = Number(String(line));
  await untilDoing(pid, 'spin');
  owner.kill('SIGKILL');
  t.deepEqual(await stillAlive([pid]), []);
});

test.serial('closing the pool leaves no process', async (t) => {
  const own = createDecoders({ memoryBytes: MEMORY, log: () => undefined });
  const options = soon();
  const at = '../../test/helpers/jobs/hostile';
  const pid = Number(await own.offload<typeof hostile>(at, 'pid', options));
  const busy = own.offload<typeof hostile>(at, 'spin', options);
  busy.catch(() => undefined);
  await untilDoing(pid, 'spin');
  await own.close();
  await t.throwsAsync(busy);
  t.deepEqual(await stillAlive([pid]), []);
});

test.serial('a file whose decoding needs more memory than permitted is refused as too large', async (t) => {
  const [tool, files] = [await loadTool('watermark-image'), await startFiles()];
  // An ordinary image that takes 160 MB decoded. The same job succeeds with the memory that the tool has.
  const canvas = sharp({ create: { width: 8000, height: 5000, channels: 4, background: '#4568' } });
  const fileUrl = files.put({ bytes: await canvas.png().toBuffer() });
  const low = createDecoders({ memoryBytes: 16 * 2 ** 20, log: () => undefined });
  t.teardown(async () => {
    files.close();
    await low.close();
  });
  const watermark = (offload?: Offload) =>
    codeOf(() => tool.call({ fileUrl, text: 'x' }, { egress: files.guard, ...(offload && { offload }) }));
  t.is(await watermark(low.offload), 'source_too_large');
  t.is(await watermark(), 'ok');
});
