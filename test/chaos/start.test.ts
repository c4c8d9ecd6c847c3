import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { makeAccount, withStore } from '../helpers/account.ts';
import { readLog } from '../helpers/processLog.ts';
import { type Stack, startOwnServers, startStack } from '../helpers/stack.ts';
import { startToxiproxy } from '../helpers/toxiproxy.ts';
import { until } from '../helpers/until.ts';

const WAITS = 'the server does not answer; the start waits for it';

const NAMES = ['api', 'orchestrator'];

/** Waits until the processes have logged that their starts wait for the server. @returns the lines */
const untilWaiting = (stack: Stack, server: string) =>
  Promise.all(
    NAMES.map((name) =>
      until(`${name} waits for ${server}`, async () => {
        const lines = await readLog(stack, name);
        return lines.find((line) => line.msg === WAITS && line.server === server) ?? null;
      }),
    ),
  );

test('a process waits at its start for an index that MongoDB cannot create yet', async (t) => {
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const account = await makeAccount(stack, 10);
  await withStore(stack, async (store) => {
    const names = async () => (await store.usedCodes.indexes()).map(({ name }) => name);
    const before = await names();
    t.true(before.length > 1);
    await store.usedCodes.dropIndexes();
    // MongoDB creates an index only when no transaction has written to the collection, and the driver gives up before.
    await store.client.withSession(async (session) => {
      session.startTransaction();
      await store.usedCodes.insertOne({ _id: 'open', at: new Date() }, { session });
      const started = Promise.all(NAMES.map((name) => stack.restart(name)));
      for (const line of await untilWaiting(stack, 'mongodb'))
        t.like(line, { err: { type: 'MongoNetworkTimeoutError' } });
      await session.abortTransaction();
      await started;
    });
    t.deepEqual(await names(), before);
  });
  t.is((await account.call('hash-text', { text: 'started' })).status, 200);
});

test('a process waits at its start for Temporal', async (t) => {
  await using open = new AsyncDisposableStack();
  const servers = open.adopt(await startOwnServers(), (it) => it.stop());
  const { links, stop } = await startToxiproxy({ temporal: servers.temporalAddress }, (line) => t.log(line));
  open.defer(stop);
  const { mongodbUri } = servers;
  const addresses = { mongodbUri, temporalAddress: links.temporal.address };
  const stack = open.adopt(await startStack({ servers: addresses, pools: ['orchestrator', 'cpu'] }), (it) =>
    it.stop(),
  );
  const account = await makeAccount(stack, 10);
  await links.temporal.cut();
  const started = Promise.all(NAMES.map((name) => stack.restart(name)));
  await untilWaiting(stack, 'temporal');
  await links.temporal.heal();
  await started;
  t.is((await account.call('hash-text', { text: 'started' })).status, 200);
});

test('a process that is told to stop while it waits for MongoDB stops', async (t) => {
  const env = {
    ...machineEnv(),
    NODE_ENV: 'test',
    PORT: '0',
    MASTER_KEYS: `test:${Buffer.alloc(32).toString('base64')}`,
    // No server listens at these addresses.
    MONGODB_URI: 'mongodb://127.0.0.1:9/none',
    TEMPORAL_ADDRESS: '127.0.0.1:9',
  };
  const stop = async (args: readonly string[]) => {
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
    const errors = child.stderr.toArray();
    let output = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      output += chunk;
      if (output.includes(WAITS)) child.kill('SIGTERM');
    }
    if (child.exitCode === null) await once(child, 'exit');
    t.deepEqual([child.exitCode, Buffer.concat(await errors).toString()], [0, ''], output);
  };
  await Promise.all([stop(['api/server.ts']), stop(['workers/main.ts', '--pool', 'orchestrator'])]);
});
