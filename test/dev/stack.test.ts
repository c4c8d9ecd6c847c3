import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import type { DemoFile } from '../../dev/demo-file.ts';
import { readEnv } from '../../schemas/env.ts';
import { loadKeyring } from '../../store/keyring.ts';
import { createWebhookEndpoints } from '../../store/webhookEndpoints.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { isRecord } from '../helpers/json.ts';
import { npmStart } from '../helpers/npm-start.ts';
import { pidOf, portsOf, processesWith, remaining } from '../helpers/processes.ts';
import { startDatabase, startNamespace, startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const exec = promisify(execFile);
/** Long enough for every graceful shutdown, far below the lifetime of a leaked process. */
const END_MS = 30_000;

async function folder(t: { teardown(fn: () => Promise<void>): void }): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'stack-test-'));
  t.teardown(async () => {
    for (const line of processesWith(path)) process.kill(Number.parseInt(line, 10), 'SIGKILL');
    await remaining(path, END_MS);
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
  });
  return path;
}

const isUp = async (url: string): Promise<boolean> => (await fetch(`${url}/livez`)).ok;

/** Calls a tool that costs 1 credit and returns the remaining credits. */
async function creditsAfterCall({ baseUrl, apiKey }: DemoFile): Promise<number> {
  const response = await fetch(`${baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: '{"text":"abc"}',
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return Number(response.headers.get('x-credits-remaining'));
}

test.serial(
  'two copies run side by side; kill -9 leaves no process; the second start keeps the data',
  async (t) => {
    const [dataDir, otherDir] = [await folder(t), await folder(t)];
    const [first, other] = [
      npmStart({ DATA_DIR: dataDir, PORT: '0' }),
      npmStart({ DATA_DIR: otherDir, PORT: '0' }),
    ];
    const [demo, otherDemo] = await Promise.all([first.ready(), other.ready()]);
    t.true((await isUp(demo.baseUrl)) && (await isUp(otherDemo.baseUrl)));
    t.is(new Set([demo.baseUrl, otherDemo.baseUrl, demo.mongodbUri, otherDemo.mongodbUri]).size, 4);
    t.not(demo.temporalAddress, otherDemo.temporalAddress);

    t.is((await stat(join(dataDir, 'demo.json'))).mode & 0o777, 0o600);
    const lines = first.output().trimEnd().split('\n');
    t.is(lines.at(-1), `ready: ${demo.baseUrl}`);
    const curl = lines.find((line) => line.startsWith('curl ')) ?? '';
    const { stdout } = await exec('sh', ['-c', `${curl} --silent --show-error --fail`]);
    t.is(typeof JSON.parse(stdout), 'object');
    t.regex(await (await fetch(`${demo.temporalUiUrl}/`)).text(), /<html/i);

    const credits = await creditsAfterCall(demo);

    const again = await npmStart({ DATA_DIR: dataDir, PORT: '0' }).exited;
    t.is(again.code, 1);
    t.regex(again.stderr, /^DATA_DIR: a stack already runs in .*\n$/);
    const thirdDir = await folder(t);
    const taken = await npmStart({ DATA_DIR: thirdDir, PORT: new URL(demo.baseUrl).port }).exited;
    t.is(taken.code, 1);
    t.regex(taken.stderr, /^PORT: cannot listen on .*EADDRINUSE.*\n$/);
    t.true(await isUp(demo.baseUrl), 'the running stack is not disturbed');

    other.kill('SIGTERM');
    t.is((await other.exited).code, 0);
    t.deepEqual(await remaining(otherDir, 0), [], 'SIGTERM to npm alone stops everything before npm exits');

    process.kill(pidOf(dataDir, /dev\/main\.ts/), 'SIGKILL');
    t.deepEqual(await remaining(dataDir, END_MS), [], 'kill -9 of main.ts');

    const second = npmStart({ DATA_DIR: dataDir, PORT: '0' });
    const secondDemo = await second.ready();
    t.like(secondDemo, { apiKey: demo.apiKey, accountKey: demo.accountKey, accountId: demo.accountId });
    t.is(secondDemo.mongodbUri, demo.mongodbUri, 'the same port as before');
    t.is(await creditsAfterCall(secondDemo), credits - 1, 'the key is valid and the balance is unchanged');

    second.kill('SIGKILL');
    t.deepEqual(await remaining(dataDir, END_MS), [], 'kill -9 of npm');
  },
);

test.serial(
  'configured addresses replace the local servers; kill -9 of the launcher leaves no process',
  async (t) => {
    const dataDir = await folder(t);
    const { mongodbUri, stop } = await startDatabase();
    const { temporalAddress, namespace, stop: leave } = await startNamespace();
    t.teardown(async () => {
      await stop();
      await leave();
    });
    const started = npmStart({
      DATA_DIR: dataDir,
      PORT: '0',
      MONGODB_URI: mongodbUri,
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: namespace,
    });
    const demo = await started.ready();
    t.like(demo, { mongodbUri, temporalAddress, temporalNamespace: namespace, temporalUiUrl: null });
    t.true(await isUp(demo.baseUrl));
    t.deepEqual(
      processesWith(dataDir).filter((line) => /mongod |temporal server/.test(line)),
      [],
    );
    process.kill(pidOf(dataDir, /dev\/start\.mjs/), 'SIGKILL');
    t.deepEqual(await remaining(dataDir, END_MS), []);
  },
);

test.serial('a failed start reports one line and leaves no process', async (t) => {
  const closed = await closedPort();
  const cases: [Record<string, string>, RegExp][] = [
    [{ PORT: 'abc' }, /^PORT: must be an integer.*\n$/],
    [{ PORT: `${closed}`, INTERNAL_PORT: `${closed}` }, /^INTERNAL_PORT: must differ from PORT.*\n$/],
    [{ INTERNAL_ADVERTISE: 'tools' }, /^INTERNAL_ADVERTISE: must be host:port.*\n$/],
    [{ HOST: '203.0.113.1', PORT: `${closed}` }, /^HOST: cannot listen on 203\.0\.113\.1:.*\n$/],
    [{ DATA_DIR: '/dev/null' }, /^DATA_DIR: cannot use \/dev\/null \(.*\)\. .*\n$/],
    [{ DATA_DIR: '/proc/none' }, /^DATA_DIR: cannot use \/proc\/none \(.*\)\. .*\n$/],
    [{ MONGODB_URI: `mongodb://127.0.0.1:${closed}/x` }, /^MONGODB_URI: .*ECONNREFUSED.*\n$/],
    [{ TEMPORAL_ADDRESS: `127.0.0.1:${closed}` }, /^TEMPORAL_ADDRESS: no Temporal server answers.*\n$/],
  ];
  for (const [env, message] of cases) {
    const dataDir = await folder(t);
    const { code, stderr } = await npmStart({ DATA_DIR: dataDir, PORT: '0', ...env }).exited;
    t.is(code, 1);
    t.regex(stderr, message);
    t.deepEqual(await remaining(dataDir, 0), []);
  }
});

test.serial('the processes of a test stack can be killed and restart on the same ports', async (t) => {
  const stack = await startStack({ apis: 2, pools: ['orchestrator'] });
  t.teardown(stack.stop);
  t.deepEqual(stack.names, ['api', 'api-2', 'orchestrator']);
  t.is(new Set(stack.baseUrls).size, 2);
  for (const name of stack.names)
    t.regex(await readFile(`/proc/${stack.pid(name)}/limits`, 'utf8'), /^Max core file size +0 +0 /m, name);
  await stack.kill('api');
  await t.throwsAsync(isUp(stack.baseUrl));
  t.true(await isUp(stack.baseUrls[1] ?? ''));
  await stack.restart('api');
  t.true(await isUp(stack.baseUrl));
  await stack.stop();
  t.deepEqual(await remaining(stack.dataDir, 0), []);
});

test.serial('all ports of a stack are refused to callers and owners, whatever is allowed', async (t) => {
  const servers = await startOwnServers();
  t.teardown(servers.stop);
  const pools = ['orchestrator', 'delivery', 'network'];
  const stack = await startStack({ servers, pools, apis: 2, env: { EGRESS_ALLOW: '127.0.0.0/8' } });
  t.teardown(stack.stop);
  const ports = portsOf(process.pid);
  // mongod, the six ports and the proxy of Temporal and its UI, two per API, two per worker.
  t.true(ports.length >= 1 + 7 + 2 * 2 + 2 * pools.length, `${ports}`);

  const control = createHttpServer((_request, response) => response.end('reached'));
  const open = await listen(control);
  t.teardown(() => control.close());
  const account = await makeAccount(stack, 1000);
  const webhooks = '/api/v1/account/webhooks';
  const field = async (response: Response, name: string) => {
    const body: unknown = await response.json();
    const value = isRecord(body) ? body[name] : null;
    return typeof value === 'string' ? value : null;
  };
  /** Returns the refusals of a port for a caller, and for an owner at the other API. */
  const refusals = async (port: number) => {
    const called = await account.call('http-request', { url: `http://127.0.0.1:${port}/` });
    const url = `http://localhost:${port}/`;
    const registered = await account.at(stack.baseUrls[1] ?? '').manage(webhooks, { url });
    return [await field(called, 'code'), await field(registered, 'code')];
  };
  t.deepEqual(
    await Promise.all(ports.map(refusals)),
    ports.map(() => ['target_refused', 'target_refused']),
    `${ports}`,
  );
  t.deepEqual(await refusals(open), [null, null], 'other ports are allowed');

  await withStore(stack, async (store) => {
    // An endpoint that was registered before the port belonged to the stack.
    const endpoints = createWebhookEndpoints(store, loadKeyring(readEnv(stack.env)));
    const { accountId } = account;
    const { row } = await endpoints.create({ accountId, url: `http://localhost:${open}/`, events: null });
    const posted = async (port: number) => {
      await endpoints.change(accountId, row._id, { url: `http://localhost:${port}/` });
      return field(await account.manage(`${webhooks}/${row._id}/test`, {}), 'error');
    };
    for (const port of ports) t.regex((await posted(port)) ?? '', /^target_refused: /, `${port}`);
    t.is(await posted(open), null);

    await servers.temporal.kill();
    await servers.temporal.start();
    const others = portsOf(servers.temporal.pid ?? 0).filter((port) => !ports.includes(port));
    t.true(others.length > 0, 'Temporal restarts on other ports');
    const url = `http://127.0.0.1:${open}/`;
    await until('calls succeed', async () => (await account.call('http-request', { url })).ok);
    for (const port of others) {
      t.deepEqual(await refusals(port), ['target_refused', 'target_refused'], `${port}`);
      t.regex((await posted(port)) ?? '', /^target_refused: /, `${port}`);
    }
  });
});

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
