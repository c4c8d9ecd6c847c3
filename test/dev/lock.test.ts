import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { acquireLock } from '../../dev/lock.mjs';

const module = new URL('../../dev/lock.mjs', import.meta.url).href;

/**
 * Starts a process that tries to take the lock, reports whether it succeeded, and holds the lock until it is killed.
 */
async function contender(t: ExecutionContext, file: string) {
  const script = `const { acquireLock } = await import(${JSON.stringify(module)});
    console.log((await acquireLock(${JSON.stringify(file)})) !== null);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  return {
    got: String(line).trim() === 'true',
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

test('one of many processes gets the lock; after it is killed, exactly one other process gets it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'lock-test-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'lock');
  const first = await contender(t, file);
  t.true(first.got);
  t.is(await acquireLock(file), null);
  await first.kill();

  const others = await Promise.all(Array.from({ length: 4 }, () => contender(t, file)));
  t.is(others.filter(({ got }) => got).length, 1);
  await Promise.all(others.map((other) => other.kill()));

  const lock = await acquireLock(file);
  t.true(lock?.abandoned);
  await lock?.release();
  t.deepEqual(await readdir(folder), [], 'no other files are left');
  t.false((await acquireLock(file))?.abandoned);
});
