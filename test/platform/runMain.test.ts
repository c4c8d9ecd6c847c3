import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';

/** Starts a process of `runMain` and runs `act` when it is ready. @returns its exit status and output */
async function run(t: ExecutionContext, mode: string, act: (child: ChildProcess) => unknown) {
  const script = fileURLToPath(new URL('../helpers/main-child.ts', import.meta.url));
  const child = fork(script, [mode], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], execArgv: [] });
  t.teardown(() => child.kill('SIGKILL'));
  if (child.stdout === null) throw new Error('the process has no output');
  const output = text(child.stdout);
  const exited = once(child, 'exit');
  await once(child, 'message');
  act(child);
  const [code] = await exited;
  return { code, output: await output };
}

test('a process ends when its main function has returned, even with an open handle', async (t) => {
  t.deepEqual(await run(t, 'returns', () => undefined), { code: 0, output: '' });
});

test('a process stops on SIGTERM and when its parent has exited', async (t) => {
  const stopped = { code: 0, output: 'stopping\nstopped\n' };
  t.deepEqual(await run(t, 'stops', (child) => child.kill('SIGTERM')), stopped);
  t.deepEqual(await run(t, 'stops', (child) => child.disconnect()), stopped);
});

test('a process without a parent ends although its shutdown hangs', async (t) => {
  t.deepEqual(await run(t, 'hangs', (child) => child.disconnect()), { code: 1, output: 'stopping\n' });
});
