import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { makeAccount } from '../helpers/account.ts';
import { useStack } from '../helpers/profiles.ts';

const stack = await useStack('limited');
test.after.always(() => stack.stop());

/** Sends copies of a request in one packet from an address. Returns the statuses, and the milliseconds until the last response. */
async function send(
  address: string,
  path: string,
  copies: number,
  header = `Authorization: Bearer ut_${randomBytes(16).toString('hex')}`,
): Promise<{ statuses: string[]; ms: number }> {
  const { hostname: host, port } = new URL(stack.baseUrl);
  const socket = connect({ host, port: Number(port) });
  await once(socket, 'connect');
  const request = (more: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n${header}\r\n${more}\r\n`;
  const started = performance.now();
  socket.write(request('').repeat(copies - 1) + request('Connection: close\r\n'));
  const statuses = [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);
  return { statuses, ms: performance.now() - started };
}

for (const [path, most, header] of [
  ['/dashboard/confirm-email?token=none', 600],
  ['/dashboard/calls', 600, 'Cookie: better-auth.session_token=ended'],
  ['/docs/search?q=hash', 600],
  ['/api/v1/account', 60],
] as const)
  test(`${path}: an address above the limit waits for each refusal`, async (t) => {
    const address = `198.51.100.${path.length}`;
    for (let sent = 0; sent < most; sent += 30) {
      const { statuses } = await send(address, path, 30, header);
      t.false(statuses.includes('429'), statuses.join());
    }
    const { statuses, ms } = await send(address, path, 3, header);
    t.deepEqual(statuses, ['429', '429', '429']);
    t.true(ms >= 3000, `${ms} ms`);
  });

test('an account far above its rate limit waits for each refusal, and another one does not', async (t) => {
  const [account, other] = [await makeAccount(stack, 10), await makeAccount(stack, 10)];
  const ask = ({ toolsKey }: typeof account, copies: number) =>
    send('198.51.100.200', '/api/v1/jobs', copies, `Authorization: Bearer ${toolsKey}`);
  const refusedOf = ({ statuses }: Awaited<ReturnType<typeof ask>>) =>
    statuses.filter((status) => status === '429').length;
  for (let refused = 0; refused < 60; )
    for (const sent of await Promise.all(Array.from({ length: 5 }, () => ask(account, 30))))
      refused += refusedOf(sent);
  const packets = await Promise.all(Array.from({ length: 5 }, () => ask(account, 30)));
  t.true(packets.some((sent) => refusedOf(sent) > 0));
  for (const sent of packets) t.true(sent.ms >= refusedOf(sent) * 1000, `${sent.ms} ms`);
  t.is(refusedOf(await ask(other, 30)), 0);
});
