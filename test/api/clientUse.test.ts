import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { readAddresses, readShares } from '../../store/accounts/shares.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** An address that no other test connects from. */
const ADDRESS = '127.0.4.1';
const CONNECTIONS = 12;
const UPLOADS = 2;
/** Bytes of each upload that are sent, out of a megabyte. */
const SENT = 400_000;
/** A response body in which JSON takes six bytes per character, more than the socket buffers hold. */
const LARGE = '\u0001'.repeat(3_000_000);

const target = createServer((_request, response) =>
  response.setHeader('Content-Type', 'text/plain').end(LARGE),
);
const sockets: Socket[] = [];

const stack = await useStack();
test.after.always(async () => {
  for (const socket of sockets) socket.destroy();
  target.close();
  await stack.stop();
});

/** Sends bytes to an API process from `ADDRESS`. Resolves when its kernel has taken them. */
async function send(baseUrl: string, bytes: string): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ port: Number(port), host: hostname, localAddress: ADDRESS });
  sockets.push(socket.on('error', () => undefined));
  await once(socket, 'connect');
  await new Promise((resolve) => socket.write(bytes, resolve));
  return socket;
}

/** The head of a request. */
const head = (method: string, path: string, key: string, fields: string[] = []): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, ...fields, '', ''].join('\r\n');

test('operators see who holds connections, uploads and unread responses of all API processes', async (t) => {
  const account = await makeAccount(stack, 1000);
  const { accountId, accountKey, toolsKey } = account;
  const [first = '', second = ''] = stack.baseUrls;
  for (let index = 0; index < CONNECTIONS; index++) {
    const socket = await send(index % 2 ? first : second, head('GET', '/api/v1/account', accountKey));
    t.regex(String(await once(socket, 'data')), /200 OK/);
  }
  const json = 'Content-Type: application/json';
  for (let index = 0; index < UPLOADS; index++) {
    const upload = head('POST', '/api/v1/tools/html-to-image', toolsKey, [json, 'Content-Length: 1000000']);
    await send(first, `${upload}{"html":"${'x'.repeat(SENT - 9)}`);
  }
  const body = JSON.stringify({ url: `http://${await listenAsTarget(target)}/` });
  const call = head('POST', '/api/v1/tools/http-request', toolsKey, [json, `Content-Length: ${body.length}`]);
  const unread = await send(second, call + body);
  await once(unread, 'readable');

  const all = {
    connections: CONNECTIONS + UPLOADS + 1,
    receivedBytes: UPLOADS * SENT,
  };
  const isShown = (use: { connections: number; receivedBytes: number; unreadBytes: number } | undefined) =>
    use?.connections === all.connections &&
    use.receivedBytes === all.receivedBytes &&
    use.unreadBytes > 6 * LARGE.length;
  await withStore(stack, async (store) => {
    await until('the account is shown', async () =>
      isShown((await readShares(store)).find((share) => share.accountId === accountId)),
    );
    await until('the address is shown', async () =>
      isShown((await readAddresses(store)).find(({ client }) => client === ADDRESS)),
    );
    for (const socket of sockets) socket.destroy();
    const gone = until('nothing is shown any more', async () => {
      const shares = (await readShares(store)).filter((share) => share.accountId === accountId);
      const addresses = (await readAddresses(store)).filter(({ client }) => client === ADDRESS);
      return [...shares, ...addresses].every(({ connections }) => connections === 0);
    });
    await t.notThrowsAsync(gone);
  });
});
