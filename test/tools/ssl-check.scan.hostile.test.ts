import { once } from 'node:events';
import { createServer, connect as dialServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { freePort } from '../../dev/ports.ts';
import { dialTcp } from '../../egress/connect.ts';
import { createGuard, type Guard } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { issueCertificate } from '../helpers/certificates.ts';
import { codeOf, listen } from '../helpers/egress.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const tool = await loadTool('ssl-check');
const certificate = await issueCertificate({ subject: '/CN=example.com', issuer: null, bits: 2048 });
const allow = [parseAllow('127.0.0.0/8')];
const resolver = { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) };
const egress = createGuard({ resolver, allow, ownPorts: [] });

/** Starts a TLS server that answers every connection. @returns its port */
async function serveTls(t: ExecutionContext, options: TlsOptions = {}): Promise<number> {
  const server = createTlsServer({ ...certificate, ...options });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => socket.on('error', () => undefined));
  t.teardown(() => server.close());
  return listen(server);
}

interface Front {
  port: number;
  server: Server;
  /** Connections of clients that are open. */
  open: Set<Socket>;
  /** Number of connections that clients have opened so far. */
  count: number;
}

/** Starts a server that hands each connection, with its number counted from 1, to `handle`. */
async function startFront(
  t: ExecutionContext,
  handle: (client: Socket, number: number, front: Front) => void,
): Promise<Front> {
  const server = createServer((client) => {
    client.on('error', () => undefined);
    client.on('close', () => front.open.delete(client));
    front.open.add(client);
    front.count++;
    handle(client, front.count, front);
  });
  // No outgoing connection can take this port while the server does not listen.
  const front: Front = { port: await freePort(), server, open: new Set(), count: 0 };
  await once(server.listen(front.port, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    for (const client of front.open) client.destroy();
  });
  return front;
}

function forward(client: Socket, port: number): void {
  const target = dialServer(port, '127.0.0.1');
  target.on('error', () => client.destroy());
  client.on('close', () => target.destroy());
  client.pipe(target).pipe(client);
}

interface Limits {
  deadline?: number;
  scanMs?: number;
}
const check = (port: number, guard = egress, limits: Limits = {}): Promise<Json> => {
  const context: Limits & { egress: Guard } = { egress: guard, ...limits };
  return tool.call({ host: `example.com:${port}`, survey: true }, context);
};
/** Scans a server with a time limit that a loaded machine does not reach. */
const checkPatiently = (port: number) =>
  check(port, egress, { deadline: Date.now() + 170_000, scanMs: 150_000 });
const versionsOf = (output: Json): unknown[] =>
  recordsAt(recordAt(output, 'survey').protocols).map(({ version }) => version);

/** Record and handshake header of a ServerHello of 64 KB, of which nothing follows. */
const CUT_OFF = Buffer.from('1603034000020000ffff', 'hex');
const WARNING = Buffer.from('15030300020170', 'hex');

function repeat(client: Socket, bytes: Buffer, everyMs: number): void {
  const timer = setInterval(() => client.write(bytes), everyMs);
  client.on('close', () => clearInterval(timer));
}

/** Behaviour of servers after the first connection, which reads the certificate. */
const HOSTILE: Readonly<Record<string, (client: Socket, front: Front) => void>> = {
  'sends nothing': (client) => client.resume(),
  'closes each connection': (client) => client.destroy(),
  'stops listening': (client, { server }) => {
    client.destroy();
    server.close();
  },
  'sends a long answer one byte at a time': (client) => {
    client.resume().write(CUT_OFF);
    repeat(client, Buffer.alloc(1), 50);
  },
  'sends warnings without end': (client) => {
    client.resume();
    repeat(client, Buffer.concat(Array.from({ length: 1_000 }, () => WARNING)), 1);
  },
  'sends empty records without end': (client) => {
    client.resume();
    repeat(client, Buffer.from('1603030000'.repeat(1_000), 'hex'), 1);
  },
  'sends something else than TLS': (client) => client.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'),
};

for (const [what, act] of Object.entries(HOSTILE))
  test(`a cipher scan ends and leaves no connection open when the server ${what}`, async (t) => {
    const port = await serveTls(t);
    const front = await startFront(t, (client, number, it) =>
      number === 1 ? forward(client, port) : act(client, it),
    );
    const code = await codeOf(() => check(front.port));
    t.true(code === 'target_failed' || code === 'target_timeout', code);
    await until('closed connections', async () => front.open.size === 0);
  });

test('a server that answers each offer slowly is `target_timeout` at the deadline', async (t) => {
  const port = await serveTls(t);
  const front = await startFront(t, (client, number) => {
    if (number === 1) forward(client, port);
    else setTimeout(() => forward(client, port), 1_000);
  });
  t.is(await codeOf(() => check(front.port, egress, { deadline: Date.now() + 6_000 })), 'target_timeout');
  await until('closed connections', async () => front.open.size === 0);
});

test('a server that stops answering during the scan makes the call fail', async (t) => {
  const port = await serveTls(t);
  const front = await startFront(t, (client, number) =>
    number <= 30 ? forward(client, port) : client.destroy(),
  );
  t.is(await codeOf(() => check(front.port)), 'target_failed');
});

test('versions that a server drops without an answer are not accepted; others are', async (t) => {
  const port = await serveTls(t, { maxVersion: 'TLSv1.2' });
  const front = await startFront(t, (client, number) => {
    client.once('data', (bytes: Buffer) => {
      // SSL 3.0 has its version in the record, TLS 1.3 is named by the extension supported_versions.
      const isDropped = bytes[2] === 0 || bytes.includes(Buffer.from('002b0003020304', 'hex'));
      if (number > 1 && isDropped) return;
      const target = dialServer(port, '127.0.0.1');
      target.on('error', () => client.destroy());
      client.on('close', () => target.destroy());
      target.write(bytes);
      client.pipe(target).pipe(client);
    });
  });
  t.deepEqual(versionsOf(await checkPatiently(front.port)), ['TLSv1.2']);
});

test('a server that closes all connections but one is scanned with one connection at a time', async (t) => {
  const port = await serveTls(t, { ALPNProtocols: ['h2'] });
  const front = await startFront(t, (client, _number, { open }) =>
    open.size > 1 ? client.destroy() : forward(client, port),
  );
  const [limited, unlimited] = [await checkPatiently(front.port), await checkPatiently(port)];
  t.deepEqual(limited.survey, unlimited.survey);
});

test('a server that refuses connections for a second is scanned after it', async (t) => {
  const port = await serveTls(t);
  const front = await startFront(t, (client, number, { server, port: own }) => {
    forward(client, port);
    if (number !== 20) return;
    server.close();
    setTimeout(() => server.listen(own, '127.0.0.1'), 1_000);
  });
  const [limited, unlimited] = [await checkPatiently(front.port), await checkPatiently(port)];
  t.deepEqual(limited.survey, unlimited.survey);
});

test('all connections of a cipher scan go to the address that the guard has vetted', async (t) => {
  const front = await startFront(t, (client) => forward(client, port));
  const port = await serveTls(t, { maxVersion: 'TLSv1.3' });
  const lookups: string[] = [];
  const dialled: string[] = [];
  const guard = createGuard({
    resolver: {
      addresses: async (name) => {
        lookups.push(name);
        // A second lookup would lead to another address.
        return { addresses: [lookups.length === 1 ? '127.0.0.1' : '127.0.0.2'], chain: [] };
      },
    },
    allow,
    ownPorts: [],
    dial: (address, to) => {
      dialled.push(`${address}:${to}`);
      return dialTcp(address, to);
    },
  });
  await check(front.port, guard);
  t.deepEqual(lookups, ['example.com']);
  t.deepEqual(new Set(dialled), new Set([`127.0.0.1:${front.port}`]));
  t.is(dialled.length, front.count);
  await until('closed connections', async () => front.open.size === 0);
});

test('a host whose address is not allowed is refused without a connection', async (t) => {
  const dialled: string[] = [];
  const guard = createGuard({
    resolver,
    ownPorts: [],
    dial: (address, port) => {
      dialled.push(address);
      return dialTcp(address, port);
    },
  });
  t.is(await codeOf(() => check(443, guard)), 'target_refused');
  t.deepEqual(dialled, []);
});
