import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { killAll, processTree } from '../activities/browser/processes.ts';
import { ownerMark } from '../activities/runtime/orphanedProcesses.ts';
import { openSandbox } from '../activities/runtime/sandbox.ts';
import { isAlive, processesWith, remaining } from './helpers/processes.ts';
import { seededRandom } from './helpers/random.ts';
import { until } from './helpers/until.ts';

const GONE_MS = 30_000;
const ROUNDS = 3;
/** Start of the marker in the command line of sandbox processes, which ends with the pid of their owner. */
const MARK = ownerMark('sandbox').replace(/\d+$/, '');

const module = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, '..', path)).href);
const asModule = (script: string) => ['--input-type=module', '--eval', script];

const ended = async (child: ChildProcess) => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
};

/** Starts a shell that starts a process with the marker of this shell, and then runs `then`. */
async function startMarked(then: string) {
  const script = `(exec -a "$0$$" sleep 600) > /dev/null & echo $!; ${then}`;
  const shell = spawn('bash', ['-c', script, MARK], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [line] = await once(shell.stdout, 'data');
  const pid = Number(line);
  await until('the process has its marker', async () =>
    processesWith(`${MARK}${shell.pid}`).some((found) => found.startsWith(`${pid} `)) ? true : null,
  );
  return { shell, pid };
}

test.serial('the next start ends orphaned processes, and no others', async (t) => {
  const living = await startMarked('wait');
  const lost = await startMarked('exit');
  try {
    await ended(lost.shell);
    await openSandbox();
    t.false(isAlive(lost.pid));
    t.true(isAlive(living.pid));
  } finally {
    for (const pid of [lost.pid, living.pid]) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    await ended(living.shell);
  }
});

const START_SANDBOXES = `
  import { openSandbox } from ${module('activities/runtime/sandbox.ts')};
  const limits = { memoryBytes: 2 ** 30, cpuSeconds: 5, fileBytes: 2 ** 20, scratchBytes: 2 ** 20, openFiles: 64, processes: 64 };
  const sandbox = await openSandbox();
  process.stdin.once('data', () => {
    for (let i = 0; i < 3; i++) sandbox.start({ script: 'sleep 600', args: [], folders: [], limits });
  });
  console.log('open');`;

/** Starts a worker that starts three sandboxes when it reads a line. Resolves when it can. */
async function startWorker() {
  const worker = spawn(process.execPath, asModule(START_SANDBOXES), { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(worker.stdout, 'data');
  return worker;
}

test.serial(
  "a worker that is killed while it starts sandboxes leaves no process after the next worker's start",
  async (t) => {
    const random = seededRandom(t.log);
    for (let round = 0; round < ROUNDS; round++) {
      const worker = await startWorker();
      worker.stdin.write('\n');
      await sleep(random.integer(0, 60));
      worker.kill('SIGKILL');
      await ended(worker);
      await openSandbox();
      t.deepEqual(await remaining(`${MARK}${worker.pid}`, GONE_MS), [], `${round}`);
    }
  },
);

test.serial('a process that had not yet executed its program when its worker was killed ends', async (t) => {
  const worker = await startWorker();
  // Until it executes its program, the process has the command line of the worker, without the marker.
  const slow = ['-f', '-e', 'trace=execve', '-e', 'inject=execve:delay_enter=300000', '-o', '/dev/null'];
  const tracer = spawn('strace', [...slow, '-p', `${worker.pid}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    await once(tracer.stderr, 'data');
    worker.stdin.write('\n');
    await until('the first process exists', async () => processTree(worker.pid ?? 0).length > 1);
    worker.kill('SIGKILL');
    await ended(worker);
    await openSandbox();
    // The tracer ends with the last process that it traces.
    await until('the process has ended', async () => tracer.exitCode !== null, GONE_MS);
    t.is(tracer.exitCode, 0, 'strace could attach');
    t.deepEqual(processesWith(`${MARK}${worker.pid}`), []);
  } finally {
    for (const child of [worker, tracer]) child.kill('SIGKILL');
    await killAll(processesWith(`${MARK}${worker.pid}`).map((line) => Number.parseInt(line, 10)));
  }
});

test('without permission to create a sandbox, LibreOffice does not run', async (t) => {
  const script = `
    import { office } from ${module('activities/office/office.ts')};
    import { readEnv } from ${module('schemas/env.ts')};
    for (const NODE_ENV of ['development', 'production'])
      await office.open({ env: readEnv({ NODE_ENV }), log: console.error }).then(
        () => console.log('opened'),
        ({ code, detail, cause }) => console.log(JSON.stringify({ code, detail, cause: cause?.message })),
      );`;
  // The same restrictions as in a container without that permission: no capabilities and no user namespaces.
  const { stdout } = await promisify(execFile)('unshare', [
    '--user',
    '--map-root-user',
    ...['sh', '-c', 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', 'sh'],
    ...['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--'],
    ...[process.execPath, ...asModule(script)],
  ]);
  const answers = stdout.trim().split('\n');
  t.is(answers.length, 2);
  for (const answer of answers) {
    const { code, detail, cause } = JSON.parse(answer);
    t.is(code, 'tool_unavailable');
    t.is(detail, 'This installation cannot sandbox the program that the tool needs.');
    t.regex(cause, /bubblewrap is missing or may not create namespaces/);
  }
});
