import { createServer, type ServerResponse } from 'node:http';
import test from 'ava';
import sharp from 'sharp';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { listenAsTarget, type Stack, startStack, TARGET_HOST } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Slots of a worker with `WORKER_SLOTS=1`: two for accounts that run no other call, and one for those that do. */
const WORKER_SLOTS = '1';

let stack: Stack;
let origin: string;
let picture: Buffer;
/** Requests that the target has not answered, by path. */
const held = new Map<string, ServerResponse[]>();
const heldAt = (path: string): ServerResponse[] => held.get(path) ?? [];

const target = createServer((request, response) => {
  const { url = '' } = request;
  if (url === '/now') response.end(picture);
  else held.set(url, [...heldAt(url), response]);
});

/** Answers all requests for a path, also those that arrive until all calls have ended. */
async function release(path: string, calls: readonly Promise<Response>[]): Promise<number[]> {
  let ended = false;
  const all = Promise.all(calls).finally(() => {
    ended = true;
  });
  await until(
    'all calls have ended',
    async () => {
      for (const response of heldAt(path).splice(0)) response.end(picture);
      return ended;
    },
    120_000,
  );
  return (await all).map(({ status }) => status);
}

test.before(async () => {
  picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#c43' } })
    .png()
    .toBuffer();
  const host = await listenAsTarget(target);
  origin = `http://${host}`;
  const env = { WORKER_SLOTS, RATE_LIMIT: '1000:1000', EGRESS_ALLOW: `${TARGET_HOST}/32` };
  stack = await startStack({ pools: ['orchestrator', 'cpu', 'network'], env });
});
test.after.always(async () => {
  await stack?.stop();
  target.close();
  target.closeAllConnections();
});

const request = (account: TestAccount, path: string) => account.call('http-request', { url: origin + path });
const mark = (account: TestAccount, path: string) =>
  account.call('watermark-image', { fileUrl: origin + path, text: 'slots' });

test.serial('an account never holds the last slot of a pool', async (t) => {
  const [flooding, other] = [await makeAccount(stack, 1000), await makeAccount(stack, 10)];
  const calls = Array.from({ length: 6 }, () => request(flooding, '/held'));
  await until('the account holds two slots', async () => heldAt('/held').length === 2, 60_000);
  // Several calls in turn, so that a free slot is not a matter of chance.
  for (const _ of [1, 2, 3]) {
    t.is((await request(other, '/now')).status, 200);
    t.is(heldAt('/held').length, 2);
  }
  t.deepEqual(new Set(await release('/held', calls)), new Set([200]));
});

test.serial('tools of milliseconds do not wait for slower tools of their pool', async (t) => {
  const [first, second, third] = [
    await makeAccount(stack, 1000),
    await makeAccount(stack, 1000),
    await makeAccount(stack, 10),
  ];
  const calls = [first, first, second, second].map((account) => mark(account, '/slow'));
  await until('all slots for slower tools are held', async () => heldAt('/slow').length === 3, 60_000);
  for (const account of [first, third])
    t.is((await account.call('hash-text', { text: 'short' })).status, 200);
  t.is(heldAt('/slow').length, 3);
  t.deepEqual(new Set(await release('/slow', calls)), new Set([200]));
});
