import test from 'ava';
import { createOwnAddresses, ownPorts } from '../../egress/own.ts';
import { BAD_PORTS } from '../../egress/ports.ts';
import { EnvError, readEnv } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAddress } from '../../schemas/formats/address.ts';
import { allowHost, parseAllow } from '../../schemas/formats/allow.ts';
import { codeOf, soon, stubNetwork } from '../helpers/egress.ts';

interface Attempt {
  url?: string;
  host?: string;
  port?: number;
  allow?: string;
  ownPorts?: number[];
  addresses?: string[];
  own?: string;
}

/** Returns the guard's verdict on a target with exceptions in the format of EGRESS_ALLOW. Opens no connection. */
async function outcome({
  url,
  host,
  port = 80,
  allow,
  addresses,
  own,
  ...options
}: Attempt): Promise<string> {
  const { EGRESS_ALLOW } = readEnv(allow === undefined ? {} : { EGRESS_ALLOW: allow });
  const network = await stubNetwork({
    allow: EGRESS_ALLOW,
    resolve: () => ({ addresses: addresses ?? [], chain: [] }),
    ...(own === undefined ? {} : { isOwn: createOwnAddresses(() => [own]) }),
    ...options,
  });
  network.close();
  const { guard } = network;
  return codeOf(async () => {
    const target =
      url === undefined
        ? guard.parseTarget(host ?? '', { kind: 'host', port, pointer: '/host' })
        : guard.parseTarget(url, { kind: 'url', pointer: '/url' });
    await guard.vet(target, soon());
  });
}

const ok = async (t: { is(a: string, b: string, message?: string): void }, attempt: Attempt): Promise<void> =>
  t.is(await outcome(attempt), 'ok', JSON.stringify(attempt));
const refused = async (
  t: { is(a: string, b: string, message?: string): void },
  attempt: Attempt,
): Promise<void> => t.is(await outcome(attempt), 'target_refused', JSON.stringify(attempt));

test('an exception for an address and port allows that port for any spelling of the address and any name that resolves to it', async (t) => {
  const allow = '127.0.0.1:8081,[::1]:8082';
  await ok(t, { allow, url: 'http://127.0.0.1:8081/' });
  await ok(t, { allow, url: 'http://0x7f.1:8081/' });
  await ok(t, { allow, url: 'http://[::1]:8082/' });
  await ok(t, { allow, url: 'http://www.example.com:8081/', addresses: ['127.0.0.1'] });
  await ok(t, { allow, host: '127.0.0.1', port: 8081 });
  await refused(t, { allow, url: 'http://127.0.0.1:8082/' });
  await refused(t, { allow, url: 'http://127.0.0.2:8081/' });
  await refused(t, { allow, url: 'http://[::ffff:127.0.0.1]:8081/' });
  await refused(t, { allow, url: 'http://www.example.com:8081/', addresses: ['127.0.0.1', '127.0.0.2'] });
  await refused(t, { allow, host: '127.0.0.1', port: 8082 });
});

test('an exception for a block allows the ports that browsers allow, and all ports for the other tools', async (t) => {
  const allow = '10.1.0.0/16,fd12::/16';
  await ok(t, { allow, url: 'http://10.1.255.255:1234/' });
  await ok(t, { allow, url: 'http://[fd12::1]/' });
  await ok(t, { allow, host: '10.1.0.0', port: 25 });
  await refused(t, { allow, url: 'http://10.2.0.0/' });
  await refused(t, { allow, url: 'http://10.1.0.1:25/' });
  await refused(t, { allow, url: 'http://[fd13::1]/' });
});

test('an exception for a name and port allows the addresses that the name resolves to, including internal ones', async (t) => {
  const allow = 'wiki.internal:8081,mail.example.com:25';
  await ok(t, { allow, url: 'http://wiki.internal:8081/', addresses: ['10.0.0.1'] });
  await ok(t, { allow, url: 'http://WIKI.internal.:8081/', addresses: ['10.0.0.1'] });
  await ok(t, { allow, url: 'http://mail.example.com:25/', addresses: ['10.0.0.1'] });
  await refused(t, { allow, url: 'http://wiki.internal/', addresses: ['10.0.0.1'] });
  await refused(t, { allow, url: 'http://other.internal:8081/', addresses: ['10.0.0.1'] });
  await refused(t, { allow, url: 'http://10.0.0.1:8081/' });
});

test('if an exception names localhost, it means loopback and is not resolved by DNS', async (t) => {
  const network = await stubNetwork({ allow: [allowHost('localhost', null)], ownPorts: [9000] });
  t.teardown(network.close);
  const { guard, lookups } = network;
  const parse = (url: string) => guard.parseTarget(url, { kind: 'url', pointer: '/url' });
  const { addresses } = await guard.vet(parse('http://localhost:1234/'), soon());
  t.deepEqual([...addresses], ['127.0.0.1', '::1']);
  t.deepEqual(lookups, []);
  t.is(await codeOf(() => guard.vet(parse('http://localhost:9000/'), soon())), 'target_refused');
  t.is(await codeOf(() => parse('http://a.localhost:1234/')), 'target_refused');
});

test('no exception allows cloud metadata, this host, or addresses that embed another address', async (t) => {
  const allow = '0.0.0.0/0,::/0,169.254.169.254:80,100.100.100.200:80,metadata.google.internal:80';
  await ok(t, { allow, url: 'http://169.254.1.1/' });
  await ok(t, { allow, url: 'http://127.0.0.1/' });
  await ok(t, { allow, url: 'http://[::1]/' });
  const addresses = [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.42.42',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '0.0.0.0',
    '0.1.2.3',
  ];
  const six = [
    'fd00:ec2::254',
    'fd20:ce::254',
    'fd00:42::42',
    'fd00:a9fe:a9fe::1',
    'fe80::a9fe:a9fe',
    '::',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
  ];
  for (const host of [...addresses, ...six.map((address) => `[${address}]`)])
    await refused(t, { allow, url: `http://${host}/` });
  await refused(t, { allow, url: 'http://metadata.google.internal/', addresses: ['169.254.169.254'] });
});

test("no exception allows the service's own ports on this machine, and no block allows them elsewhere", async (t) => {
  const own = '192.168.7.7';
  const allow = '127.0.0.0/8,192.168.0.0/16,127.0.0.1:8080,192.168.7.7:8080,192.168.9.9:8080';
  const ports = { allow, own, ownPorts: [8080, 27_017] };
  for (const address of ['127.0.0.1', '127.1.2.3', own, '192.168.8.8']) {
    await ok(t, { ...ports, url: `http://${address}:8081/` });
    await refused(t, { ...ports, url: `http://${address}:8080/` });
    await refused(t, { ...ports, url: `http://${address}:27017/` });
  }
  await ok(t, { ...ports, url: 'http://192.168.9.9:8080/' });
  await ok(t, { ...ports, url: 'http://8.8.8.8:8080/' });
});

test("the host's own public address is refused unless an exception allows it", async (t) => {
  await ok(t, { url: 'http://8.8.8.8/' });
  await refused(t, { own: '8.8.8.8', url: 'http://8.8.8.8/' });
  await ok(t, { own: '8.8.8.8', allow: '8.8.8.8:80', url: 'http://8.8.8.8/' });
});

test("the host's own addresses are read again after a while", (t) => {
  let now = 0;
  let address = '8.8.8.8';
  const isOwn = createOwnAddresses(
    () => [address, 'fe80::1%eth0'],
    () => now,
  );
  const own = (text: string): boolean => {
    const parsed = parseAddress(text);
    return parsed !== null && isOwn(parsed);
  };
  t.true(own('8.8.8.8'));
  t.true(own('fe80::1'));
  address = '9.9.9.9';
  t.false(own('9.9.9.9'));
  now = 10_000;
  t.true(own('9.9.9.9'));
  t.false(own('8.8.8.8'));
});

test("the service's own ports include those of every variable that names a port", (t) => {
  const env = readEnv({
    PORT: '8080',
    INTERNAL_PORT: '8090',
    INTERNAL_ADVERTISE: 'api.example:8091',
    OWN_PORTS: '7000,7001',
    FAST_LANE_URLS: 'cpu=http://cpu.example:9091,audio=http://audio.example',
    MONGODB_URI: 'mongodb://user:p%40ss@one.example:27018,two.example/tools?replicaSet=rs0',
    TEMPORAL_ADDRESS: '[::1]:7234',
    TEMPORAL_UI_URL: 'http://127.0.0.1:8233',
  });
  const ascending = (a: number, b: number): number => a - b;
  t.deepEqual(
    ownPorts(env).toSorted(ascending),
    [8080, 8090, 8091, 7000, 7001, 9091, 80, 27_018, 27_017, 7234, 8233].toSorted(ascending),
  );
});

for (const value of [
  'nonsense',
  '127.0.0.1',
  '10.0.0.0/33',
  '::/129',
  'a.example:0',
  'a.example:65536',
  'http://a.example:80',
  '10.0.0.0/8:80',
  '*:80',
  '::1:80',
  'a.example:80x',
])
  test(`EGRESS_ALLOW=${value} is rejected with a one-line message`, (t) => {
    const error = t.throws(() => readEnv({ EGRESS_ALLOW: `10.0.0.0/8,${value}` }), { instanceOf: EnvError });
    t.regex(error.message, /^EGRESS_ALLOW: [^\n]+$/);
  });

test('exceptions keep the text from which they were parsed', (t) => {
  const texts = ['10.0.0.1/8', '[::1]:80', 'a.example:443', '127.0.0.1:1'];
  t.deepEqual(
    texts.map((text) => parseAllow(text).text),
    texts,
  );
});

test('all refusals have the same text, which reveals nothing about the network; faults name the field', async (t) => {
  const network = await stubNetwork({ resolve: () => ({ addresses: ['10.9.8.7'], chain: [] }) });
  t.teardown(network.close);
  const { guard } = network;
  const error = async (input: string): Promise<ServiceError> => {
    try {
      await guard.vet(guard.parseTarget(input, { kind: 'url', pointer: '/url' }), soon());
    } catch (caught) {
      if (caught instanceof ServiceError) return caught;
    }
    throw new Error(input);
  };
  const urls = [
    'http://a.example.com/',
    'http://127.0.0.1/',
    'http://db.internal/',
    'http://example.com:22/',
  ];
  const refusals = await Promise.all(urls.map(error));
  t.deepEqual([...new Set(refusals.map(({ code }) => code))], ['target_refused']);
  t.is(new Set(refusals.map(({ message }) => message)).size, 1);
  for (const input of [
    '',
    'example.com',
    'ftp://example.com/',
    'http://u:p@example.com/',
    'http://-a.example.com/',
  ]) {
    const { code, members } = await error(input);
    t.is(code, 'invalid_input');
    t.is(members.errors?.[0]?.pointer, '/url', input);
  }
});

test('ping accepts a URL in place of a host and ignores its port', async (t) => {
  const network = await stubNetwork({});
  t.teardown(network.close);
  const parse = (input: string) =>
    network.guard.parseTarget(input, { kind: 'hostOrUrl', port: 7, pointer: '/host' });
  for (const input of ['https://example.com:8443/x?y', 'example.com', 'HTTP://EXAMPLE.com:22'])
    t.like(parse(input), { host: { kind: 'name', name: 'example.com' }, port: 7, url: null }, input);
  t.like(parse('[2a00::1]'), { host: { kind: 'address', address: '2a00::1', family: 6 } });
  for (const input of [
    'ftp://example.com/',
    'http://',
    'http://u@example.com/',
    'example.com/x',
    'example.com:80',
    '-c1',
  ])
    t.is(await codeOf(() => parse(input)), 'invalid_input', input);
  t.is(await codeOf(() => parse('http://localhost/')), 'target_refused');
});

test("the blocked ports are those of Node's fetch and port 0", async (t) => {
  const dispatcher = {
    dispatch() {
      throw new Error('dispatched');
    },
  };
  const why = async (port: number): Promise<string> => {
    try {
      await Reflect.apply(fetch, undefined, [`http://127.0.0.1:${port}/`, { dispatcher }]);
    } catch (error) {
      if (error instanceof TypeError && error.cause instanceof Error) return error.cause.message;
    }
    return '';
  };
  const bad: number[] = [0];
  for (let port = 1; port < 12_000; port++) {
    const reason = await why(port);
    if (reason === 'bad port') bad.push(port);
    else t.is(reason, 'dispatched', `${port}`);
  }
  t.deepEqual([...BAD_PORTS], bad);
});
