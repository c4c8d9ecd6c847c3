import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { OwnedProcess } from '../../dev/process.ts';

test('the error of a process that does not start names the uncaught error that ended it', async (t) => {
  await using open = new AsyncDisposableStack();
  const logDir = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-process-')), (it) =>
    rm(it, { recursive: true }),
  );
  const shown: string[] = [];
  const child = new OwnedProcess({
    name: 'child',
    command: () => ({
      file: process.execPath,
      args: ['-e', 'console.error("before"); throw new RangeError("the port is in use")'],
      env: {},
      ipc: true,
    }),
    ready: (_child, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    readyMs: 30_000,
    graceMs: 1_000,
    logDir,
    showOutput: true,
    thirdParty: false,
    log: (line) => shown.push(line),
    supervise: false,
  });
  const error = await t.throwsAsync(child.start(), { name: 'StartError' });
  t.is(
    error.message,
    `child did not start: the process ended (exit code 1): RangeError: the port is in use. Its log: ${logDir}/child.log`,
  );
  t.true(shown.includes('child: before'), shown.join('\n'));
});
