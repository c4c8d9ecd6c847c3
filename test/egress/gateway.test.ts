import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createGateway } from '../../egress/gateway.ts';
import { createGatewayServer } from '../../egress/gatewayServer.ts';
import { createGuard, type Guard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { codeOf, listen, soon, stubNetwork } from '../helpers/egress.ts';

/** A worker's guard must not resolve or connect itself when it has a gateway. */
const ALONE = {
  resolver: { addresses: () => Promise.reject(new Error('the worker resolved a name')) },
  dial: () => {
    throw new Error('the worker opened a connection');
  },
};
/** Everything that a worker's own policy could refuse; the gateway must refuse it all the same. */
const ALLOW_ALL = ['0.0.0.0/0', '::/0'].map(parseAllow);

/** Starts a gateway with this guard. @returns its URL */
async function startGateway(t: Pick<ExecutionContext, 'teardown'>, guard: Guard): Promise<string> {
  const { server, close } = createGatewayServer(guard, () => false);
  t.teardown(close);
  const port = await listen(server);
  return `http://127.0.0.1:${port}`;
}

const workerGuard = (url: string, ca?: readonly string[]): Guard =>
  createGuard({
    ...ALONE,
    gateway: createGateway(url),
    allow: ALLOW_ALL,
    ownPorts: [],
    ...(ca === undefined ? {} : { ca }),
  });

const fetchText = async (guard: Guard, url: string): Promise<string> => {
  const target = guard.parseTarget(url, { kind: 'url', pointer: '' });
  const options = { method: 'GET', ...soon(), maxBytes: 1000 } as const;
  using response = await guard.fetch(target, options);
  return (await response.bytes()).toString();
};

test('a worker without a network of its own reaches public targets through the gateway, also with TLS', async (t) => {
  const certificate = await makeCertificate(['DNS:a.example.com']);
  using network = await stubNetwork({
    certificate,
    handle: (request, response) => response.end(`${request.headers.host}${request.url}`),
  });
  const guard = workerGuard(await startGateway(t, network.guard), [certificate.cert]);
  t.is(await fetchText(guard, 'http://a.example.com:8081/x?y'), 'a.example.com:8081/x?y');
  t.is(await fetchText(guard, 'https://a.example.com/'), 'a.example.com/');
  t.is(await fetchText(guard, 'http://93.184.215.15/'), '93.184.215.15/');
  t.deepEqual(network.dialled, ['93.184.215.14:8081', '93.184.215.14:443', '93.184.215.15:80']);
});

test('the gateway refuses what its guard refuses, whatever the worker permits', async (t) => {
  using network = await stubNetwork({
    resolve: (name) =>
      name.startsWith('inside')
        ? { addresses: ['10.0.0.5'], chain: [] }
        : { addresses: ['93.184.215.14'], chain: [] },
  });
  const url = await startGateway(t, network.guard);
  const guard = workerGuard(url);
  for (const target of [
    'http://inside.example.com/',
    'http://10.0.0.5:27017/',
    'http://127.0.0.1:9090/',
    'http://169.254.169.254/',
    'http://[::1]:7233/',
  ])
    t.is(await codeOf(() => fetchText(guard, target)), 'target_refused', target);
  t.deepEqual(network.dialled, []);

  // A worker that is taken over sends what it wants.
  const { port } = new URL(url);
  const status = async (line: string): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.end(`${line} HTTP/1.1\r\nHost: a.example.com\r\n\r\n`);
    const bytes: Buffer[] = await socket.toArray();
    return Buffer.concat(bytes).toString().split('\r\n', 1).join();
  };
  for (const target of [
    '10.0.0.5:80',
    'mongodb:27017',
    'inside.example.com:80',
    'a.example.com:25',
    'a.example.com:99999',
    'a@b:80',
    '[::ffff:10.0.0.5]:80',
  ])
    t.is(await status(`CONNECT ${target}`), 'HTTP/1.1 502 Not Connected', target);
  t.is(await status('GET /addresses/inside.example.com:80'), 'HTTP/1.1 502 Bad Gateway');
  t.is(await status('GET http://a.example.com/'), 'HTTP/1.1 404 Not Found');
  t.deepEqual(network.dialled, []);
  // Control: the same request for a public target is served.
  t.is(await status('GET /addresses/a.example.com:80'), 'HTTP/1.1 200 OK');
});

test('errors of targets are the same through the gateway as without it', async (t) => {
  const closed = createServer();
  const port = await listen(closed);
  closed.close();
  await once(closed, 'close');
  const direct = createGuard({
    resolver: {
      addresses: (name) =>
        name === 'a.example.com'
          ? Promise.resolve({ addresses: ['127.0.0.1'], chain: [] })
          : Promise.reject(new ServiceError('host_not_found')),
    },
    allow: [parseAllow(`127.0.0.1:${port}`)],
    ownPorts: [],
  });
  const guard = workerGuard(await startGateway(t, direct));
  const failure = async (via: Guard, url: string) => {
    const error = await t.throwsAsync(fetchText(via, url), { instanceOf: ServiceError });
    return [error.code, error.detail];
  };
  for (const url of [`http://a.example.com:${port}/`, 'http://b.example.com/', 'http://127.0.0.1:81/'])
    t.deepEqual(await failure(guard, url), await failure(direct, url), url);
});

test('a call that ends closes its connections in the gateway', async (t) => {
  const ended = Promise.withResolvers<boolean>();
  const target = createServer(({ socket }) => socket.once('close', () => ended.resolve(socket.destroyed)));
  const port = await listen(target);
  t.teardown(() => {
    target.close();
    target.closeAllConnections();
  });
  const direct = createGuard({
    ...ALONE,
    dial: (address, to) => connect(to, address),
    allow: [parseAllow(`127.0.0.1:${port}`)],
    ownPorts: [],
  });
  const guard = workerGuard(await startGateway(t, direct));
  const call = new AbortController();
  const requested = once(target, 'request');
  const options = { ...soon(), signal: call.signal };
  const parsed = guard.parseTarget(`http://127.0.0.1:${port}/`, { kind: 'url', pointer: '' });
  const socket = await guard.connect(await guard.vet(parsed, options), options);
  socket.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  await requested;
  socket.destroy();
  t.true(await ended.promise);
});
