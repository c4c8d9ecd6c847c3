import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { EVENTS } from '../../schemas/events.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { newEvent } from '../../store/webhooks/events.ts';
import { makeAccount } from '../helpers/account.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const LISTEN = fileURLToPath(new URL('../../api/cli/listen.ts', import.meta.url));

interface Listener {
  child: ChildProcess;
  output(): string;
}

function startListener(t: { teardown(end: () => void): void }, args: string[]): Listener {
  const child = spawn(process.execPath, [LISTEN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, DATA_DIR: '/nonexistent' },
  });
  t.teardown(() => child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  return { child, output: () => text };
}

test('in production an endpoint on localhost gets no requests, but the listen command forwards its events', async (t) => {
  t.timeout(120_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(
    await startStack({
      pools: ['orchestrator', 'delivery'],
      env: { NODE_ENV: 'production', RATE_LIMIT: '1000' },
    }),
    (it) => it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const [registered, program] = [await startReceiver(), await startReceiver()];
  open.defer(() => {
    registered.close();
    program.close();
  });
  const account = await makeAccount(stack, 0);
  const made = await account.manage('/api/v1/account/webhooks', { url: registered.url });
  t.is(made.status, 201);
  const { id, secret }: { id: string; secret: string } = await made.json();
  /** Inserts events that occurred this many milliseconds ago. */
  const happen = async (agesMs: readonly number[]) => {
    const now = Date.now();
    const events = agesMs.map((age) =>
      newEvent(account.accountId, 'credits.granted', EVENTS['credits.granted'].example, {
        createdAt: new Date(now - age),
      }),
    );
    await store.events.insertMany(events);
    return events.map(({ _id }) => _id);
  };
  // More events than one page of the event list contains.
  await happen(Array.from({ length: 150 }, (_, i) => 1000 + i * 100));

  const { child, output } = startListener(t, [
    ...['--forward', program.url, '--url', stack.baseUrl],
    ...['--key', account.accountKey, '--secret', secret],
  ]);
  await until('the command listens', async () => output().includes(`Forwarding events to ${program.url}`));
  const key = await account.manage('/api/v1/account/keys', { name: 'x', scopes: ['tools'] });
  t.is(key.status, 201);
  const [delivery] = await program.until(1);
  if (delivery === undefined) return t.fail();
  t.is(delivery.event, 'api_key.created');
  new Webhook(secret).verify(delivery.body, {
    'webhook-id': String(delivery.headers['webhook-id']),
    'webhook-timestamp': String(delivery.headers['webhook-timestamp']),
    'webhook-signature': String(delivery.headers['webhook-signature']),
  });
  await until('the delivery is printed', async () =>
    output().includes(`api_key.created  ${delivery.id}  200`),
  );
  t.is(program.received.length, 1, 'earlier events are not forwarded');

  const held = () => store.deliveries.findOne({ endpointId: id, state: 'held' });
  await until('the delivery is held', async () => (await held()) !== null);
  const attempt = await (await account.manage(`/api/v1/account/webhooks/${id}/test`, {})).json();
  t.like(attempt, { statusCode: null });
  t.regex(attempt.error, /^target_refused/);
  t.is(registered.received.length, 0);

  const burst = Array.from({ length: 20 }, (_, i) => happen(Array(10).fill(i % 5 === 0 ? 5000 : 0)));
  const ids = [...(await Promise.all(burst)).flat(), ...(await happen([120_000]))];
  await until('the burst arrived', async () => ids.every((it) => output().includes(`${it}  200`)));
  const printed = program.received.map((it) => it.id).filter((it) => ids.includes(it));
  t.deepEqual(printed.toSorted(), ids.toSorted(), 'each event is printed once');
  t.deepEqual(
    program.received.map((it) => it.id).filter((it) => !ids.includes(it)),
    [delivery.id, attempt.eventId],
  );

  child.kill('SIGTERM');
  const [status] = await once(child, 'close');
  t.is(status, 0);
});

test('the listen command reports an error in one line', async (t) => {
  for (const [args, line] of [
    [[], /^--forward URL is missing\n$/],
    [['--forward', 'here'], /^--forward must be an http or https URL, not "here"\n$/],
    [['--forward', 'http://localhost:1/'], /^no stack runs in DATA_DIR/],
  ] as const) {
    const { child, output } = startListener(t, [...args]);
    const [status] = await once(child, 'close');
    t.is(status, 2);
    t.regex(output(), line);
  }
});
