import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { MongoClient } from 'mongodb';
import { freePort } from '../../dev/ports.ts';
import { OwnedProcess } from '../../dev/process.ts';
import { startServers } from '../../dev/stack.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { isAlive } from '../helpers/processes.ts';
import { startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { callOnce } from './calls.ts';

/**
 * Milliseconds within which a failed process must have been replaced. Supervision needs 15 s of failed probes, 2 s
 * apart, and 5 s from SIGTERM to SIGKILL; the rest is a margin for loaded machines.
 */
const RESTARTED_MS = 90_000;
/**
 * Milliseconds for which a process is suspended without being restarted: less than the 15 s after which supervision
 * replaces it.
 */
const BLIP_MS = 6_000;
const CREDITS = 100;

const folderFor = async (open: AsyncDisposableStack): Promise<string> =>
  open.adopt(await mkdtemp(join(tmpdir(), 'supervise-test-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );

/**
 * An HTTP server that responds with 200 until /bad is requested and with 500 from then on, and that ignores SIGTERM.
 */
const STUBBORN = `
let bad = false;
process.on('SIGTERM', () => undefined);
require('node:http').createServer((request, response) => {
  bad ||= request.url === '/bad';
  response.writeHead(bad ? 500 : 200).end();
}).listen(Number(process.argv[1]), '127.0.0.1');
`;

test('a process that responds with errors and ignores SIGTERM is killed and started again', async (t) => {
  t.timeout(RESTARTED_MS + 60_000);
  await using open = new AsyncDisposableStack();
  const port = await freePort();
  const lines: string[] = [];
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    if (!response.ok) throw new Error(`it answers ${response.status}`);
  };
  const answers = () =>
    ask('/').then(
      () => true,
      () => false,
    );
  const stubborn = new OwnedProcess<unknown>({
    name: 'stubborn',
    command: () => ({ file: process.execPath, args: ['-e', STUBBORN, `${port}`], env: {}, ipc: false }),
    ready: () => until('the server listens', answers),
    checkHealth: () => ask('/'),
    readyMs: 60_000,
    graceMs: 100,
    logDir: await folderFor(open),
    showOutput: false,
    thirdParty: true,
    log: (line) => lines.push(line),
    supervise: true,
  });
  open.defer(() => stubborn.stop());
  await stubborn.start();
  const first = stubborn.pid ?? 0;
  await t.throwsAsync(ask('/bad'));
  await until(
    'the process is started again',
    async () => stubborn.pid !== first && (await answers()),
    RESTARTED_MS,
  );
  t.false(isAlive(first));
  t.true(
    lines.some((line) => /^stubborn failed its health checks for 15 s \(it answers 500\)/.test(line)),
    lines.join('\n'),
  );
});

test('when mongod or temporal does not work, it is restarted, and a call that waits for it is refused', async (t) => {
  t.timeout(10 * 60_000);
  await using open = new AsyncDisposableStack();
  const dataDir = await folderFor(open);
  const log = (line: string) => t.log(line);
  const servers = open.adopt(await startServers({ dataDir, log, supervise: true }), (it) => it.stop());
  const stack = open.adopt(await startStack({ servers, pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);
  const pidOf = (name: 'mongod' | 'temporal') => servers[name]?.pid;

  const stop = (name: 'mongod' | 'temporal', signal: NodeJS.Signals) => servers[name]?.kill(signal);
  const alter = async (sql: string) => {
    using db = new DatabaseSync(join(dataDir, 'temporal.sqlite'), {
      timeout: 10_000,
      enableDoubleQuotedStringLiterals: true,
    });
    db.exec(sql);
  };
  const faults = [
    { name: 'temporal', what: 'says nothing', begin: () => stop('temporal', 'SIGSTOP'), end: null },
    {
      name: 'temporal',
      what: 'answers errors',
      begin: () => alter('ALTER TABLE namespaces RENAME TO gone'),
      end: () => alter('ALTER TABLE gone RENAME TO namespaces'),
    },
    { name: 'mongod', what: 'says nothing', begin: () => stop('mongod', 'SIGSTOP'), end: null },
    {
      name: 'mongod',
      what: 'answers errors',
      begin: async () => {
        const { host } = new URL(servers.mongodbUri);
        const client = new MongoClient(`mongodb://${host}/`, { directConnection: true });
        await client.db('admin').command({ replSetStepDown: 600, force: true });
        await client.close();
      },
      end: null,
    },
  ] as const;

  const before = [pidOf('mongod'), pidOf('temporal')];
  for (const name of ['mongod', 'temporal'] as const) {
    await stop(name, 'SIGSTOP');
    await sleep(BLIP_MS);
    await stop(name, 'SIGCONT');
  }
  t.is((await callOnce(account, 'after a blip', null))?.status, 200);
  t.deepEqual([pidOf('mongod'), pidOf('temporal')], before, 'a short pause restarts no process');

  let paid = 1;
  for (const { name, what, begin, end } of faults) {
    const pid = pidOf(name);
    await begin();
    const began = Date.now();
    // Without MongoDB a call cannot start; without Temporal it waits until the API detects the outage, which is before
    // the restart.
    const waiting = name === 'temporal' ? callOnce(account, `${name} ${what}`, null) : null;
    await until(`${name} ${what}: it is ended`, async () => pidOf(name) !== pid, RESTARTED_MS);
    t.log(`${name} ${what}: ended after ${Date.now() - began} ms`);
    await end?.();
    const works = async () => (await callOnce(account, `${name} ${what}: afterwards`, null))?.status === 200;
    await until(`${name} ${what}: calls run again`, works, RESTARTED_MS);
    t.log(`${name} ${what}: calls run again after ${Date.now() - began} ms`);
    paid += 1;
    if (waiting !== null) t.is((await waiting)?.status, 503, `${name} ${what}: the call that waited`);
  }
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - paid);
});
