import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { LISTEN_IN_NAMESPACE, receivePort } from '../../egress/namespacePort.ts';
import type { FilteringProxy, ProxyOptions } from '../../egress/proxy.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { type StubNetwork, soon, stubNetwork } from '../helpers/egress.ts';
import { until } from '../helpers/until.ts';

type StubOptions = Parameters<typeof stubNetwork>[0];

/** Limits that end nothing before the test itself times out. */
const endless = (): Partial<ProxyOptions> => ({ deadline: Date.now() + 3_600_000, idleMs: 3_600_000 });

async function proxied(
  t: ExecutionContext,
  options: Partial<ProxyOptions> = {},
  stub: StubOptions = {},
): Promise<{ proxy: FilteringProxy; network: StubNetwork }> {
  const network = await stubNetwork(stub);
  const limits = { tunnels: 10, bytes: 1_000_000, idleMs: 60_000 };
  const proxy = await network.guard.proxy({ ...soon(), ...limits, ...options });
  t.teardown(() => {
    proxy.close();
    network.close();
  });
  return { proxy, network };
}

/** Runs curl through the proxy. Returns the body and the status; for a refused CONNECT, the status of CONNECT. */
async function curl(proxy: string, ...args: string[]): Promise<{ body: string; status: number }> {
  const format = '\n%{http_code} %{http_connect}';
  const command = ['--silent', '--proxy', proxy, '--max-time', '60', '--write-out', format, ...args];
  const stdout = await promisify(execFile)('curl', command, { env: {} }).then(
    (result) => result.stdout,
    (error: { stdout: string }) => error.stdout,
  );
  const [, body = '', code, tunnel] = /^(.*)\n(\d+) (\d+)$/s.exec(stdout) ?? [];
  return { body, status: Number(code) || Number(tunnel) };
}

const at = ({ port }: FilteringProxy): string => `http://127.0.0.1:${port}`;

test('plain requests and CONNECT tunnels reach public hosts', async (t) => {
  const certificate = await makeCertificate(['DNS:a.example.com']);
  const { proxy, network } = await proxied(
    t,
    {},
    {
      certificate,
      handle: async (request, response) => {
        const body = Buffer.concat(await request.toArray()).toString();
        const seen = [
          request.method,
          request.url,
          request.headers.host,
          request.headers['proxy-connection'],
          body,
        ];
        response.end(JSON.stringify(seen));
      },
    },
  );
  const plain = await curl(at(proxy), '--data', 'payload', 'http://a.example.com:8080/x?y');
  t.deepEqual(plain, { body: '["POST","/x?y","a.example.com:8080",null,"payload"]', status: 200 });
  const secure = await curl(at(proxy), '--insecure', 'https://a.example.com/x');
  t.deepEqual(secure, { body: '["GET","/x","a.example.com",null,""]', status: 200 });
  t.deepEqual(network.dialled, ['93.184.215.14:8080', '93.184.215.14:443']);
  t.is(proxy.refused.size, 0);
});

test('refused targets are counted by host', async (t) => {
  const { proxy, network } = await proxied(
    t,
    {},
    {
      resolve: (name) => ({ addresses: [name === 'in.example.com' ? '10.0.0.1' : '8.8.8.8'], chain: [] }),
    },
  );
  const urls = [
    '127.0.0.1:1',
    '[::1]',
    '169.254.169.254',
    'db.internal',
    'in.example.com',
    'a.example.com:25',
  ];
  for (const host of urls)
    for (const scheme of ['http', 'https']) {
      const { status } = await curl(at(proxy), `${scheme}://${host}/`);
      t.is(status, 403, `${scheme}://${host}/`);
    }
  t.deepEqual(network.dialled, []);
  t.deepEqual(
    [...proxy.refused],
    ['127.0.0.1', '[::1]', '169.254.169.254', 'db.internal', 'in.example.com', 'a.example.com'].map(
      (host) => [host, 2],
    ),
  );
});

test('malformed proxy requests are refused', async (t) => {
  const { proxy, network } = await proxied(t);
  for (const line of [
    'GET / HTTP/1.1',
    'GET https://a.example.com/ HTTP/1.1',
    'CONNECT a@b.example.com:443 HTTP/1.1',
    'CONNECT a.example.com HTTP/1.1',
    'CONNECT a.example.com/x:80 HTTP/1.1',
  ]) {
    const socket = connect(proxy.port, '127.0.0.1');
    socket.end(`${line}\r\nHost: a.example.com\r\n\r\n`);
    t.regex(Buffer.concat(await socket.toArray()).toString(), /^HTTP\/1.1 40[03] /, line);
  }
  t.deepEqual(network.dialled, []);
});

test('the proxy takes the connections of a port that another process opened, until it is closed', async (t) => {
  const [program, ...args] = LISTEN_IN_NAMESPACE;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const printed = child.stdout === null ? '' : text(child.stdout);
  const entry = await receivePort(child, AbortSignal.timeout(60_000));
  t.teardown(() => entry[Symbol.dispose]());
  const request = async () => {
    const socket = connect(Number(await printed), '127.0.0.1');
    socket.write('GET http://a.example.com/ HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n');
    return Buffer.concat(await socket.toArray().catch(() => [])).toString();
  };
  t.is(await request(), '');
  for (const _ of ['first', 'second']) {
    const { proxy } = await proxied(t, { entry });
    t.regex(await request(), /^HTTP\/1.1 200 OK\r\n.*hello/s);
    proxy.close();
    t.is(await request(), '');
  }
});

test('no port is received from a process that ends', async (t) => {
  const child = spawn('sh', ['-c', 'exit 3'], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  await t.throwsAsync(receivePort(child, AbortSignal.timeout(60_000)), { message: /ended with 3/ });
});

/** Opens a CONNECT tunnel through the proxy. */
async function openTunnel({
  port,
}: FilteringProxy): Promise<{ socket: ReturnType<typeof connect>; status: string }> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => socket.destroy());
  socket.write('CONNECT a.example.com:80 HTTP/1.1\r\nHost: a.example.com:80\r\n\r\n');
  const [bytes] = await once(socket, 'data');
  return { socket, status: String(bytes).slice(9, 12) };
}

test('the number of tunnels is limited, and a closed tunnel frees its slot', async (t) => {
  const { proxy } = await proxied(t, { tunnels: 2 });
  const first = await openTunnel(proxy);
  await openTunnel(proxy);
  t.is((await openTunnel(proxy)).status, '502');
  first.socket.destroy();
  await until('a slot is free', async () => (await openTunnel(proxy)).status === '200');
});

test('the number of bytes is limited over all connections; exceeding it ends all of them', async (t) => {
  const { proxy } = await proxied(
    t,
    { bytes: 100_000 },
    {
      handle: (_, response) => response.end('x'.repeat(60_000)),
    },
  );
  t.is((await curl(at(proxy), 'http://a.example.com/')).body.length, 60_000);
  t.false(proxy.exhausted);
  t.true((await curl(at(proxy), 'http://a.example.com/')).body.length < 60_000);
  t.true(proxy.exhausted);
});

test('idle tunnels end, and all tunnels end at the deadline or on abort', async (t) => {
  const ended = async (options: Partial<ProxyOptions>, act = () => {}): Promise<void> => {
    const { proxy } = await proxied(t, options);
    const { socket, status } = await openTunnel(proxy);
    t.is(status, '200');
    act();
    if (!socket.closed) await once(socket.resume(), 'close');
  };
  await ended({ idleMs: 500 });
  await ended({ deadline: Date.now() + 5_000 });
  const controller = new AbortController();
  await ended({ signal: controller.signal }, () => controller.abort());
});

test('a plain request whose response is not HTTP is refused at once', async (t) => {
  const { proxy, network } = await proxied(t, endless(), {
    handle: (_, response) =>
      response.socket?.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n',
      ),
  });
  t.is((await curl(at(proxy), 'http://a.example.com/')).status, 502);
  t.is(network.dialled.length, 1);
});

test('closing the proxy ends connections that are still being opened', async (t) => {
  const opening = new Socket();
  const dialled = Promise.withResolvers<void>();
  const { proxy } = await proxied(t, endless(), {
    dial: () => {
      dialled.resolve();
      return opening;
    },
  });
  const asking = curl(at(proxy), 'http://a.example.com/');
  await dialled.promise;
  proxy.close();
  await once(opening, 'close');
  t.is((await asking).status, 0);
});
