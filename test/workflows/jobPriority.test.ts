import { createServer, type ServerResponse } from 'node:http';
import test from 'ava';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { accountOf, untilHeld } from '../helpers/ledgerCheck.ts';
import { listenAsTarget, startStack, TARGET_HOST } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

test('a job waits without a hold, and passes no synchronous call, not even one of its own account', async (t) => {
  await using owned = new AsyncDisposableStack();
  const open = new Map<string, ServerResponse>();
  const arrived: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    arrived.push(url);
    open.set(url, response);
  });
  owned.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const target = await listenAsTarget(server);
  const hasArrived = (url: string) => until(`${url} has arrived`, async () => open.has(url));
  const options = {
    pools: ['orchestrator', 'network'],
    // One slot for jobs and for further calls of an account.
    env: { WORKER_SLOTS: '1', POOL_WAIT: '80s', EGRESS_ALLOW: `${TARGET_HOST}/32` },
  };
  const stack = owned.adopt(await startStack(options), (it) => it.stop());
  const store = owned.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const env = readEnv(stack.env);
  const client = owned.adopt(await connectClient(env, loadKeyring(env)), (it) => it.connection.close());
  const account = await makeAccount(stack, 100);
  const jobs = jobsOf(account, stack.baseUrl);
  const input = (path: string) => ({ url: `http://${target}${path}` });

  const first = await jobs.create({ tool: 'http-request', input: input('/job-1') });
  await hasArrived('/job-1');
  const second = await jobs.create({ tool: 'http-request', input: input('/job-2') });
  await until('the second job waits for a worker', async () => {
    const { raw } = await client.workflow
      .getHandle(second.id)
      .describe()
      .catch(() => ({ raw: null }));
    return raw?.pendingActivities?.length === 1;
  });
  await untilHeld(store, account.accountId, 1);
  t.is((await jobs.get(second.id)).state, 'queued');

  // Jobs do not count as running calls, so that this call has the slots of an account's first call.
  const calls = [account.call('http-request', input('/call-1'))];
  await hasArrived('/call-1');
  calls.push(account.call('http-request', input('/call-2')));
  await untilHeld(store, account.accountId, 3);
  open.get('/job-1')?.end('ok');
  await hasArrived('/call-2');
  open.get('/call-2')?.end('ok');
  await hasArrived('/job-2');
  for (const response of open.values()) response.end('ok');

  t.deepEqual(arrived, ['/job-1', '/call-1', '/call-2', '/job-2']);
  for (const { id } of [first, second]) t.is((await jobs.ended(id)).state, 'succeeded');
  t.deepEqual(
    (await Promise.all(calls)).map(({ status }) => status),
    [200, 200],
  );
  await untilHeld(store, account.accountId, 0);
  t.is((await accountOf(store, account.accountId)).running.jobs, 0);
});
