import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';

/** Starts a process of `runMain` and runs `act` when it is ready. @returns its exit status or signal, and its output */
async function run(t: ExecutionContext, mode: string, act: (child: ChildProcess) => unknown) {
  const script = fileURLToPath(new URL('../helpers/main-child.ts', import.meta.url));
  const child = fork(script, [mode], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], execArgv: [] });
  t.teardown(() => child.kill('SIGKILL'));
  if (child.stdout === null) throw new Error('the process has no output');
  const output = text(child.stdout);
  const exited = once(child, 'exit');
  await once(child, 'message');
  act(child);
  const [code, signal] = await exited;
  return { end: signal ?? code, output: await output };
}

test('a process ends when its main function has returned, even with an open handle', async (t) => {
  t.deepEqual(await run(t, 'returns', () => undefined), { end: 0, output: '' });
});

test('a process stops on SIGTERM and when its parent has exited', async (t) => {
  const output = 'stopping\nstopped\n';
  t.deepEqual(await run(t, 'stops', (child) => child.kill('SIGTERM')), { end: 0, output });
  for (const mode of ['stops', 'loads'])
    t.deepEqual(await run(t, mode, (child) => child.disconnect()), { end: 'SIGKILL', output });
});

test('a process without a parent ends although its shutdown hangs or a thread computes', async (t) => {
  for (const mode of ['hangs', 'computes'])
    t.deepEqual(await run(t, mode, (child) => child.disconnect()), { end: 'SIGKILL', output: 'stopping\n' });
});
