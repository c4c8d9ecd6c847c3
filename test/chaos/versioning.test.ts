import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { openStore } from '../../store/mongo/mongo.ts';
import { WORKER_DEPLOYMENT, WORKFLOWS } from '../../workflows/contract.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle, untilHeld } from '../helpers/ledgerCheck.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/**
 * Number of concurrent callers. Each call waits seconds for one of the few slots, so that many calls are running while
 * the builds are exchanged.
 */
const CALLERS = 12;
const CREDITS = 1_000_000;
const PRICE = 2;
const READY_MS = 120_000;
const root = fileURLToPath(new URL('../..', import.meta.url));
/** The folders and files of the project that an orchestrator needs. */
const PARTS = [
  'schemas',
  'platform',
  'store',
  'egress',
  'activities',
  'workflows',
  'workers',
  'package.json',
];

/**
 * Copies the project and changes the workflow `callTool`: it starts a timer before the tool, a command that the
 * histories of running calls do not contain.
 */
async function copyWithChange(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-build-'));
  for (const part of [...PARTS, 'package-lock.json'])
    await cp(join(root, part), join(folder, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'workflows/callTool.ts');
  const code = await readFile(file, 'utf8');
  const changed = code
    .replace("} from '@temporalio/workflow';", "  sleep,\n} from '@temporalio/workflow';")
    .replace('answer = done.answer', 'await sleep(1);\n    answer = done.answer');
  if (changed.length - code.length < 20) throw new Error('callTool.ts has no place for the change');
  await writeFile(file, changed);
  return folder;
}

/** Starts an orchestrator from this folder, as another build. */
async function startBuild(folder: string, env: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, ['workers/main.ts', '--pool', 'orchestrator'], {
    cwd: folder,
    env: { ...machineEnv(), ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += String(chunk);
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the build is not ready: ${output}`)), READY_MS);
    child.once('message', () => resolve(clearTimeout(timer)));
    child.once('exit', () => reject(new Error(`the build ended: ${output}`)));
  });
  return {
    output: () => output,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function withClient<T>(stack: Stack, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: stack.temporalAddress });
  try {
    return await use(new Client({ connection, namespace: stack.namespace }));
  } finally {
    await connection.close();
  }
}

/** Returns the number of calls whose search attribute has this value. */
const countCalls = (stack: Stack, attribute: string, value: string): Promise<number> =>
  withClient(stack, async ({ workflow }) => {
    const query = `WorkflowType = '${WORKFLOWS.callTool}' AND ${attribute} = '${value}'`;
    return (await workflow.count(query)).count;
  });

const countOf = (stack: Stack, build: string): Promise<number> =>
  countCalls(stack, 'TemporalWorkerDeploymentVersion', `${WORKER_DEPLOYMENT}:${build}`);

const makeCurrent = (stack: Stack, buildId: string) =>
  withClient(stack, ({ workflowService }) =>
    workflowService.setWorkerDeploymentCurrentVersion({
      namespace: stack.namespace,
      deploymentName: WORKER_DEPLOYMENT,
      buildId,
    }),
  );

const ENV = { LOG_LEVEL: 'info', BUILD_ID: 'first' };

test.serial(
  'no call fails while a build with a changed callTool workflow replaces the running build under load',
  async (t) => {
    t.timeout(400_000);
    await using open = new AsyncDisposableStack();
    const stack = open.adopt(await startStack({ pools: ['orchestrator', 'cpu'], env: ENV }), (it) =>
      it.stop(),
    );
    const folder = open.adopt(await copyWithChange(), (it) => rm(it, { recursive: true, force: true }));
    const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
    const account = await makeAccount(stack, CREDITS);

    let isOver = false;
    let succeeded = 0;
    const failed: string[] = [];
    const caller = async (number: number) => {
      for (let turn = 0; !isOver; turn++) {
        const response = await account.call('bcrypt-hash', { password: `${number}-${turn}`, workFactor: 11 });
        if (response.status === 200) succeeded++;
        else failed.push(`${response.status} ${await response.text()}`);
      }
    };
    const callers = Array.from({ length: CALLERS }, (_, i) => caller(i));
    let second: Awaited<ReturnType<typeof startBuild>>;
    try {
      await until('calls succeed on the first build', async () => succeeded >= CALLERS);
      second = open.use(await startBuild(folder, { ...stack.env, BUILD_ID: 'second' }));
      const before = succeeded;
      await stack.kill('orchestrator', 'SIGTERM');
      await until('calls succeed on the second build', async () => succeeded >= before + 2 * CALLERS);
    } finally {
      isOver = true;
    }
    await Promise.all(callers);

    t.deepEqual(failed, []);
    const logs = (await readFile(join(stack.dataDir, 'logs/orchestrator.log'), 'utf8')) + second.output();
    t.notRegex(logs, /nondetermin|still run/i);
    t.is((await accountOf(store, account.accountId)).balance, CREDITS - succeeded * PRICE);
    t.deepEqual(await auditWhenIdle(store), []);
    const countAll = async () => (await countOf(stack, 'first')) + (await countOf(stack, 'second'));
    await until('Temporal lists all calls', async () => (await countAll()) === succeeded);
    const byFirst = await countOf(stack, 'first');
    t.log(`${byFirst} calls on the first build, ${succeeded - byFirst} on the second`);
    t.true(byFirst >= CALLERS && succeeded - byFirst >= CALLERS);
  },
);

test.serial('a stopped build waits until its calls have ended', async (t) => {
  t.timeout(400_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'cpu'], env: ENV }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, 10);
  open.use(await startBuild(root, { ...stack.env, BUILD_ID: 'second' }));
  await makeCurrent(stack, 'first');
  await stack.kill('cpu', 'SIGTERM');
  const answer = account.call('hash-text', { text: 'abc' });
  await untilHeld(store, account.accountId, 1);
  await makeCurrent(stack, 'second');
  let isStopped = false;
  const stopped = stack.kill('orchestrator', 'SIGTERM').then(() => {
    isStopped = true;
  });
  // Longer than an orchestrator without running calls takes to stop.
  await sleep(15_000);
  t.false(isStopped);
  await stack.restart('cpu');
  t.is((await answer).status, 200);
  await stopped;
  await until('the call is listed', async () => (await countOf(stack, 'first')) === 1);
});

test.serial('a call whose build was killed is refunded and its workflow ends', async (t) => {
  t.timeout(400_000);
  await using open = new AsyncDisposableStack();
  // Without a worker of the `cpu` pool, calls wait in the task queue.
  const stack = open.adopt(await startStack({ pools: ['orchestrator'], env: ENV }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, 10);
  const answer = account.call('hash-text', { text: 'abc' });
  await untilHeld(store, account.accountId, 1);
  open.use(await startBuild(root, { ...stack.env, BUILD_ID: 'second' }));
  await stack.kill('orchestrator', 'SIGKILL');
  t.true((await answer).status >= 500);
  await until('the workflow ends', async () => {
    return (await countCalls(stack, 'ExecutionStatus', 'Terminated')) === 1;
  });
  await until('the credits are free', async () => {
    const { balance, reserved } = await accountOf(store, account.accountId);
    return balance === 10 && reserved === 0;
  });
});
