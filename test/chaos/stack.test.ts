import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import test from 'ava';
import { freePort } from '../../dev/ports.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { readEnv } from '../../schemas/env.ts';
import { createWebhookEndpoints } from '../../store/webhooks/webhookEndpoints.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { isRecord } from '../helpers/json.ts';
import { npmStart, stackFolder } from '../helpers/npm-start.ts';
import { portsOf, remaining } from '../helpers/processes.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const isUp = async (url: string): Promise<boolean> => (await fetch(`${url}/livez`)).ok;

test.serial('a failed start reports one line and leaves no process', async (t) => {
  const closed = await freePort();
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
    const dataDir = await stackFolder(t);
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
  // The minimum number of ports: mongod, six of Temporal and its UI, one of the proxy before the UI, two per API, two
  // per worker.
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
  /** Returns the errors when a caller, and an owner through the other API, name a port of the stack. */
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
    // Simulates an endpoint that was registered before the port belonged to the stack.
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
