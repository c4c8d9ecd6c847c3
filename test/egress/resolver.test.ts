import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Answer } from 'dns-packet';
import { parseResolvConf } from '../../egress/dns/servers.ts';
import { createResolver, type Resolver } from '../../egress/resolver.ts';
import { ServiceError } from '../../schemas/errors.ts';
import {
  type CODES,
  type Received,
  type Response,
  reply,
  type ScriptedDns,
  soa,
  startDns,
} from '../helpers/dns.ts';
import { seededRandom } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';

// Most tests run serially, because on a busy machine the DNS servers would respond too late. Tests that wait for a
// timeout run concurrently.

const NAME = 'www.example.test';

const a = (name: string, address: string, ttl = 60): Answer => ({ type: 'A', name, ttl, data: address });
const cname = (name: string, target: string, ttl = 60): Answer => ({
  type: 'CNAME',
  name,
  ttl,
  data: target,
});
const good = (query: Received): Buffer => reply(query, [a(query.question.name, '192.0.2.1')]);

async function dns(
  t: ExecutionContext,
  respond: (received: Received) => Response | Promise<Response>,
): Promise<ScriptedDns> {
  const server = await startDns(respond);
  t.teardown(() => server.close());
  return server;
}

const soon = (ms = 10_000): { signal: AbortSignal; deadline: number } => ({
  signal: new AbortController().signal,
  deadline: Date.now() + ms,
});

/** Resolves the name. Returns the addresses, or the error code. */
async function outcome(resolver: Resolver, ms?: number): Promise<string[] | string> {
  try {
    const { records } = await resolver.lookup(NAME, 'A', soon(ms));
    return records.map((record) => ('address' in record ? record.address : record.type));
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

/** Resolves the name with one DNS server that responds like this. Returns the addresses, or the error code. */
async function outcomeWith(
  t: ExecutionContext,
  respond: (received: Received) => Response | Promise<Response>,
  ms?: number,
): Promise<{ server: ScriptedDns; result: string[] | string }> {
  const server = await dns(t, respond);
  return { server, result: await outcome(createResolver({ servers: [server] }), ms) };
}

test.serial('queries ask for recursion, advertise 1232 bytes, and vary in id, port and case', async (t) => {
  const server = await dns(t, good);
  const resolver = createResolver({ servers: [server] });
  for (let index = 0; index < 20; index++) await resolver.lookup(`host${index}.example.test`, 'A', soon());
  for (const { packet } of server.received) {
    t.true(packet.flag_rd);
    const option = packet.additionals?.find((record) => record.type === 'OPT');
    t.is(option?.type === 'OPT' && option.udpPayloadSize, 1232);
  }
  t.true(new Set(server.received.map(({ packet }) => packet.id)).size > 15);
  t.true(new Set(server.received.map(({ fromPort }) => fromPort)).size > 15);
  t.true(new Set(server.received.map(({ question }) => question.name.slice(-12))).size > 15);
});

test.serial('after a truncated UDP response, the query is repeated over TCP', async (t) => {
  const { server, result } = await outcomeWith(t, (query) =>
    query.transport === 'udp' ? reply(query, [], { truncated: true }) : good(query),
  );
  t.deepEqual(result, ['192.0.2.1']);
  t.deepEqual(
    server.received.map(({ transport }) => transport),
    ['udp', 'tcp'],
  );
});

test.serial('a response over TCP may arrive byte by byte', async (t) => {
  const server = await dns(t, (query) => {
    if (query.transport === 'udp') return reply(query, [], { truncated: true });
    const message = good(query);
    return { raw: Array.from([0, message.length, ...message], (byte) => Buffer.from([byte])) };
  });
  t.deepEqual(await outcome(createResolver({ servers: [server] })), ['192.0.2.1']);
});

const OVER_TCP: [what: string, respond: (query: Received) => Response][] = [
  ['cut', (query) => ({ raw: [Buffer.from([0, 200]), good(query)] })],
  ['empty', () => ({ raw: [] })],
  ['to another question', (query) => reply(query, [], { questions: [{ name: 'other.test', type: 'A' }] })],
  ['truncated again', (query) => reply(query, [], { truncated: true })],
];
for (const [what, respond] of OVER_TCP)
  test.serial(`a response over TCP that is ${what} is target_failed`, async (t) => {
    const { result } = await outcomeWith(t, (query) =>
      query.transport === 'udp' ? reply(query, [], { truncated: true }) : respond(query),
    );
    t.is(result, 'target_failed');
  });

const forged = (query: Received): Answer[] => [a(query.question.name, '203.0.113.66')];
const FORGERIES: [what: string, message: (query: Received) => Buffer][] = [
  ['another id', (query) => reply(query, forged(query), { id: ((query.packet.id ?? 0) + 1) % 0x10000 })],
  ['another name', (query) => reply(query, forged(query), { questions: [{ name: 'a.test', type: 'A' }] })],
  ['another type', (query) => reply(query, forged(query), { questions: [{ name: NAME, type: 'MX' }] })],
  ['no question', (query) => reply(query, forged(query), { questions: [] })],
  ['two questions', (query) => reply(query, forged(query), { questions: [query.question, query.question] })],
  ['the query itself', (query) => query.bytes],
  ['less than a header', (query) => query.bytes.subarray(0, 7)],
  ['no bytes', () => Buffer.alloc(0)],
];
for (const [what, message] of FORGERIES)
  test.serial(`a datagram with ${what} is ignored, and the next response is accepted`, async (t) => {
    const { result } = await outcomeWith(t, (query) => [message(query), good(query)]);
    t.deepEqual(result, ['192.0.2.1']);
  });

test.serial('a datagram from another port is ignored', async (t) => {
  const { result } = await outcomeWith(t, async (query) => {
    await query.spoof(reply(query, forged(query)));
    await sleep(50);
    return good(query);
  });
  t.deepEqual(result, ['192.0.2.1']);
});

test.serial('a response that does not repeat the case of the question is confirmed over TCP', async (t) => {
  const { server, result } = await outcomeWith(t, (query) =>
    query.transport === 'udp'
      ? reply(query, forged(query), { questions: [{ name: 'WWW.example.TEST', type: 'A' }] })
      : good(query),
  );
  // The forged response has the same case as the query in one of 16384 runs.
  t.deepEqual(result, ['192.0.2.1']);
  t.is(server.received.length, 2);
});

test.serial('a DNS server that does not support EDNS is queried again without it', async (t) => {
  for (const code of ['FORMERR', 'NOTIMP'] as const) {
    const { server, result } = await outcomeWith(t, (query) =>
      query.packet.additionals?.length === 0 ? good(query) : reply(query, [], { code, questions: [] }),
    );
    t.deepEqual(result, ['192.0.2.1']);
    t.is(server.received.length, 2);
  }
});

test('a query whose datagram is lost is sent again after 2.5 s', async (t) => {
  const start = performance.now();
  const { server, result } = await outcomeWith(t, (query) => (query.number === 1 ? null : good(query)));
  t.deepEqual(result, ['192.0.2.1']);
  t.is(server.received.length, 2);
  t.true(performance.now() - start > 2_400);
});

test('a DNS server that does not respond is target_timeout after two attempts or at the deadline', async (t) => {
  const start = performance.now();
  const [two, one] = await Promise.all([outcomeWith(t, () => null), outcomeWith(t, () => null, 2_000)]);
  t.is(two.result, 'target_timeout');
  t.is(two.server.received.length, 2);
  const ms = performance.now() - start;
  t.true(ms > 4_900, `${ms}`);
  t.is(one.result, 'target_timeout');
  t.is(one.server.received.length, 1);
});

test('a DNS server that does not respond over TCP is target_timeout', async (t) => {
  const { result } = await outcomeWith(t, (query) =>
    query.transport === 'udp' ? reply(query, [], { truncated: true }) : null,
  );
  t.is(result, 'target_timeout');
});

for (const code of ['SERVFAIL', 'REFUSED', 'NOTIMP', 'FORMERR'] as const)
  test.serial(`the response code ${code} is target_failed and is not cached`, async (t) => {
    let broken = true;
    const server = await dns(t, (query) => (broken ? reply(query, [], { code }) : good(query)));
    const resolver = createResolver({ servers: [server] });
    t.is(await outcome(resolver), 'target_failed');
    broken = false;
    t.deepEqual(await outcome(resolver), ['192.0.2.1']);
  });

test('SERVFAIL and then no response is target_failed', async (t) => {
  const { result } = await outcomeWith(t, (query) =>
    query.number === 1 ? reply(query, [], { code: 'SERVFAIL' }) : null,
  );
  t.is(result, 'target_failed');
});

test.serial('a closed port is target_failed at once', async (t) => {
  const server = await startDns(() => null);
  await server.close();
  t.is(await outcome(createResolver({ servers: [server] }), 2_000), 'target_failed');
});

test('after a failure the next DNS server is queried; the one that responded is queried first from then on', async (t) => {
  const silent = await dns(t, () => null);
  const failing = await dns(t, (query) => reply(query, [], { code: 'SERVFAIL' }));
  const working = await dns(t, good);
  const resolver = createResolver({ servers: [failing, silent, working] });
  // The first server does not respond for 2.5 s and the second fails at once, so the third is queried.
  t.deepEqual(await outcome(resolver), ['192.0.2.1']);
  await resolver.lookup('other.example.test', 'A', soon());
  t.deepEqual([failing.received.length, silent.received.length, working.received.length], [1, 1, 2]);
});

test.serial('a DNS server that only returns referrals is target_failed', async (t) => {
  const { result } = await outcomeWith(t, (query) => {
    const message = reply(query, [], { authorities: [{ type: 'NS', name: 'test', data: 'ns.test' }] });
    message.writeUInt16BE(0x8100, 2);
    return message;
  });
  t.is(result, 'target_failed');
});

/** Returns a response with these bytes as its resource records. */
function withRecords(query: Received, count: number, records: Buffer): Buffer {
  const message = reply(query, []);
  message.writeUInt16BE(count, 6);
  return Buffer.concat([message, records]);
}
const record = (type: number, data: number[], dataLength = data.length): Buffer =>
  Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, dataLength >> 8, dataLength & 0xff, ...data]);
/**
 * Offset of the first record's data: after the header, the question, and the fixed part of a record whose name is a
 * compression pointer.
 */
const DATA = 12 + NAME.length + 2 + 4 + 12;
const pointer = (offset: number): number[] => [0xc0 | (offset >> 8), offset & 0xff];

const MALFORMED: [what: string, count: number, records: Buffer][] = [
  ['fewer records than counted', 2, record(1, [1, 2, 3, 4])],
  ['65535 records counted', 65_535, record(1, [1, 2, 3, 4])],
  ['an address of 3 bytes', 1, record(1, [1, 2, 3])],
  ['an address of 5 bytes', 1, record(1, [1, 2, 3, 4, 5])],
  ['an IPv6 address of 4 bytes', 1, record(28, [1, 2, 3, 4])],
  ['data that runs past the message', 1, record(1, [1, 2, 3, 4], 400)],
  ['data of an unknown type that runs past the message', 1, record(99, [1, 2, 3, 4], 400)],
  ['a pointer to itself', 1, record(5, pointer(DATA))],
  // The pointer leads to the owner name of the following record, which is a valid name.
  ['a forward pointer', 2, Buffer.concat([record(5, pointer(DATA + 2)), record(1, [1, 2, 3, 4])])],
  ['circular pointers', 1, record(5, [1, 97, ...pointer(DATA)])],
  ['a label of 64 bytes', 1, record(5, [64, ...Array<number>(64).fill(97), 0])],
  ['a label of the extended kind', 1, record(5, [0x80, 1, 0])],
  ['a name of 256 bytes', 1, record(5, [...Array<number[]>(127).fill([1, 97]).flat(), 1, 97, 0])],
  ['a name that ends early', 1, record(5, [1, 97, 0, 0])],
  ['a name that never ends', 1, record(5, [1, 97])],
  ['a text string longer than its record', 1, record(16, [5, 97])],
  ['a text without a string', 1, record(16, [])],
  ['an MX without a name', 1, record(15, [0, 5])],
  ['a truncated SOA', 1, record(6, [0, 0, 0, 0, 0, 1])],
  ['an SOA too long', 1, record(6, Array<number>(23).fill(0))],
];
for (const [what, count, records] of MALFORMED)
  test.serial(`a response with ${what} is target_failed`, async (t) => {
    const { result } = await outcomeWith(t, (query) => withRecords(query, count, records));
    t.is(result, 'target_failed');
  });

test.serial('a name with more compression pointers than labels are allowed is target_failed', async (t) => {
  // The data of each record is one pointer to the data of the previous record: each pointer is valid, but a reader of
  // the last name must follow all of them.
  const records: Buffer[] = [record(16, [2, ...pointer(12)])];
  let offset = DATA + 1;
  for (let index = 0; index < 1_000; index++) {
    records.push(record(2, pointer(offset)));
    offset = DATA + 3 + index * 14 + 12;
  }
  const { result } = await outcomeWith(t, (query) =>
    query.transport === 'udp'
      ? reply(query, [], { truncated: true })
      : withRecords(query, records.length, Buffer.concat(records)),
  );
  t.is(result, 'target_failed');
});

test.serial('mutated responses lead to addresses or target_failed and nothing else', async (t) => {
  const random = seededRandom(t.log);
  const below = (end: number): number => random.integer(0, end - 1);
  const server = await dns(t, (query) => {
    const message = reply(
      query,
      [
        cname(query.question.name, 'b.test'),
        a('b.test', '192.0.2.1'),
        { type: 'TXT', name: 'c.test', data: 'x' },
      ],
      { authorities: [soa('test', 60, 60)] },
    );
    // Only bytes after the question are mutated, so that the response still matches the query.
    const from = 12 + query.question.name.length + 6;
    for (let flips = 1 + below(4); flips > 0; flips--)
      message[from + below(message.length - from)] = below(256);
    return below(4) === 0 ? message.subarray(0, from + below(message.length - from)) : message;
  });
  const seen = new Set<string>();
  for (let index = 0; index < 400; index++) {
    const result = await outcome(createResolver({ servers: [server] }));
    seen.add(typeof result === 'string' ? result : 'answer');
  }
  t.deepEqual([...seen].sort(), ['answer', 'target_failed']);
});

const lookupWith = async (
  t: ExecutionContext,
  records: (name: string) => Answer[],
  code: keyof typeof CODES,
) => {
  const server = await dns(t, (query) =>
    reply(query, records(query.question.name), { code, authorities: [soa('example.test', 40, 20)] }),
  );
  return createResolver({ servers: [server] }).lookup(NAME, 'A', soon());
};

test.serial(
  'aliases are followed by name in any order of the records, and records of other names are ignored',
  async (t) => {
    const found = await lookupWith(
      t,
      (name) => [
        a('C.test', '192.0.2.3'),
        a('unrelated.test', '192.0.2.66'),
        cname('b.test', 'c.TEST'),
        a('c.test', '192.0.2.4'),
        cname(name, 'B.test'),
      ],
      'NOERROR',
    );
    t.deepEqual(
      found.records.map((found) => found.type === 'A' && found.address),
      ['192.0.2.3', '192.0.2.4'],
    );
    t.deepEqual(found.chain, ['b.test', 'c.test']);
  },
);

test.serial('records of other types that contain hosts and addresses are ignored', async (t) => {
  const name = [2, ...Buffer.from('db'), 8, ...Buffer.from('internal'), 0];
  // An SVCB or HTTPS record (RFC 9460): priority 1, the target name, and ipv4hint=127.0.0.1.
  const service = [0, 1, ...name, 0, 4, 0, 4, 127, 0, 0, 1];
  const others = [record(33, [0, 0, 0, 0, 0, 80, ...name]), record(39, name)]; // types SRV and DNAME
  const hints = [record(64, service), record(65, service)]; // types SVCB and HTTPS
  const server = await dns(t, (query) =>
    query.question.type === 'A'
      ? withRecords(query, 5, Buffer.concat([...others, ...hints, record(1, [192, 0, 2, 1])]))
      : withRecords(query, 4, Buffer.concat([...others, ...hints])),
  );
  const found = await createResolver({ servers: [server] }).addresses(NAME, soon());
  t.deepEqual(found, { addresses: ['192.0.2.1'], chain: [] });
});

test.serial('labels that contain a dot do not match the names they resemble', async (t) => {
  const server = await dns(t, (query) => {
    const dotted = Buffer.from([3, ...Buffer.from('a.b'), 0]);
    const records = [
      record(5, [1, 97, 1, 98, 0]),
      Buffer.concat([dotted, record(1, [192, 0, 2, 66]).subarray(2)]),
    ];
    return withRecords(query, 2, Buffer.concat(records));
  });
  const found = await createResolver({ servers: [server] }).lookup(NAME, 'A', soon());
  t.deepEqual([found.status, found.chain], ['no_data', ['a.b']]);
});

test.serial(
  'an alias without records of the type is no_data; an alias to a name that does not exist is nxdomain',
  async (t) => {
    const empty = await lookupWith(t, (name) => [cname(name, 'b.test')], 'NOERROR');
    t.deepEqual([empty.status, empty.records, empty.chain], ['no_data', [], ['b.test']]);
    const nowhere = await lookupWith(t, (name) => [cname(name, 'b.test')], 'NXDOMAIN');
    t.deepEqual([nowhere.status, nowhere.records, nowhere.chain], ['nxdomain', [], ['b.test']]);
  },
);

test.serial('circular and endless aliases are target_failed', async (t) => {
  const circle = (name: string): Answer[] => [cname(name, 'b.test'), cname('b.test', name)];
  const long = (name: string): Answer[] => [
    cname(name, 'a0.test'),
    ...Array.from({ length: 40 }, (_, index) => cname(`a${index}.test`, `a${index + 1}.test`)),
    a('a40.test', '192.0.2.1'),
  ];
  for (const records of [circle, long, (name: string) => [cname(name, name)]])
    await t.throwsAsync(lookupWith(t, records, 'NOERROR'), {
      instanceOf: ServiceError,
      code: 'target_failed',
    });
  const sixteen = (name: string): Answer[] => [
    cname(name, 'a0.test'),
    ...Array.from({ length: 15 }, (_, index) => cname(`a${index}.test`, `a${index + 1}.test`)),
    a('a15.test', '192.0.2.1'),
  ];
  t.is((await lookupWith(t, sixteen, 'NOERROR')).chain.length, 16);
});

/**
 * Resolves the name now and after each of these numbers of seconds. The DNS server answers each query with an address
 * that contains the number of the query.
 */
async function overTime(
  t: ExecutionContext,
  answer: (query: Received) => Buffer,
  seconds: readonly number[],
): Promise<[queries: number, ttl: number | undefined][]> {
  let clock = 1_000_000;
  const server = await dns(t, answer);
  const resolver = createResolver({ servers: [server], now: () => clock });
  const seen: [number, number | undefined][] = [];
  for (const second of seconds) {
    clock = 1_000_000 + second * 1_000;
    const { records } = await resolver.lookup(NAME, 'A', soon());
    seen.push([server.received.length, records[0]?.ttl]);
  }
  return seen;
}

test.serial('an answer is cached for its TTL, which decreases over time', async (t) => {
  const answer = (query: Received): Buffer => reply(query, [a(query.question.name, '192.0.2.1', 30)]);
  t.deepEqual(await overTime(t, answer, [0, 10.5, 29.9, 30]), [
    [1, 30],
    [1, 20],
    [1, 1],
    [2, 30],
  ]);
});

test.serial('an answer is cached for at most 300 s, and for the lowest TTL among its aliases', async (t) => {
  const long = (query: Received): Buffer => reply(query, [a(query.question.name, '192.0.2.1', 86_400)]);
  t.deepEqual(await overTime(t, long, [0, 299, 300]), [
    [1, 86_400],
    [1, 86_101],
    [2, 86_400],
  ]);
  const aliased = (query: Received): Buffer =>
    reply(query, [cname(query.question.name, 'b.test', 5), a('b.test', '192.0.2.1', 60)]);
  t.deepEqual(await overTime(t, aliased, [0, 4, 5]), [
    [1, 60],
    [1, 56],
    [2, 60],
  ]);
});

test.serial('an answer with a TTL of 0, or with the top bit set, is not cached', async (t) => {
  for (const ttl of [0, 0x8000_0001]) {
    const answer = (query: Received): Buffer => reply(query, [a(query.question.name, '192.0.2.1', ttl)]);
    t.deepEqual(await overTime(t, answer, [0, 0]), [
      [1, 0],
      [2, 0],
    ]);
  }
});

test.serial(
  'a negative answer is cached as long as its SOA record states, and is not cached without an SOA record',
  async (t) => {
    for (const code of ['NOERROR', 'NXDOMAIN'] as const) {
      const queries = async (authorities: Answer[], seconds: number[]): Promise<number[]> =>
        (await overTime(t, (query) => reply(query, [], { code, authorities }), seconds)).map(
          ([count]) => count,
        );
      t.deepEqual(await queries([soa('test', 40, 20)], [0, 19, 20]), [1, 1, 2]);
      t.deepEqual(await queries([soa('test', 10, 20)], [0, 9, 10]), [1, 1, 2]);
      t.deepEqual(await queries([soa('test', 9_999, 9_999)], [0, 299, 300]), [1, 1, 2]);
      t.deepEqual(await queries([], [0, 0]), [1, 2]);
    }
  },
);

test.serial('the cache is bounded and evicts the least recently used entry', async (t) => {
  const server = await dns(t, good);
  const resolver = createResolver({ servers: [server], cacheSize: 2_000 });
  const ask = (index: number) => resolver.lookup(`host${index}.example.test`, 'A', soon());
  await ask(0);
  for (let index = 1; index <= 40; index++) {
    await ask(index);
    await ask(0);
  }
  t.is(server.received.length, 41);
  await ask(1);
  t.is(server.received.length, 42);
});

test.serial('record types have separate cache entries', async (t) => {
  const server = await dns(t, (query) => (query.question.type === 'A' ? good(query) : reply(query, [])));
  const resolver = createResolver({ servers: [server] });
  t.is((await resolver.lookup(NAME, 'A', soon())).status, 'answer');
  t.is((await resolver.lookup(NAME, 'AAAA', soon())).status, 'no_data');
});

test.serial('concurrent callers share one query, which continues when one of them aborts', async (t) => {
  const released = Promise.withResolvers<void>();
  const server = await dns(t, async (query) => {
    await released.promise;
    return good(query);
  });
  const resolver = createResolver({ servers: [server] });
  const leaver = new AbortController();
  const left = resolver.lookup(NAME, 'A', { ...soon(), signal: leaver.signal });
  const late = resolver.lookup(NAME, 'A', soon(500));
  const others = Array.from({ length: 10 }, () => resolver.lookup(NAME, 'A', soon()));
  await until('the query has arrived', async () => server.received.length === 1);
  leaver.abort(new Error('gone'));
  await t.throwsAsync(left, { message: 'gone' });
  await t.throwsAsync(late, { instanceOf: ServiceError, code: 'target_timeout' });
  released.resolve();
  for (const { status } of await Promise.all(others)) t.is(status, 'answer');
  t.is(server.received.length, 1);
});

test.serial(
  'a lookup that all its callers have aborted is cancelled, and the next caller starts a new one',
  async (t) => {
    const server = await dns(t, (query) => (query.number === 1 ? null : good(query)));
    const resolver = createResolver({ servers: [server] });
    const leaver = new AbortController();
    const left = resolver.lookup(NAME, 'A', { ...soon(), signal: leaver.signal });
    await until('the query has arrived', async () => server.received.length === 1);
    leaver.abort(new Error('gone'));
    await t.throwsAsync(left, { message: 'gone' });
    // Less than the 2.5 s after which a query is repeated.
    t.deepEqual(await outcome(resolver, 2_000), ['192.0.2.1']);
  },
);

test.serial('a caller that is already aborted causes no query', async (t) => {
  const server = await dns(t, good);
  const signal = AbortSignal.abort(new Error('gone'));
  const lookup = createResolver({ servers: [server] }).lookup(NAME, 'A', { ...soon(), signal });
  await t.throwsAsync(lookup, { message: 'gone' });
  t.is(server.received.length, 0);
});

const aaaa = (query: Received): Answer => ({ type: 'AAAA', name: query.question.name, data: '2001:db8::1' });
const EMPTY = (query: Received): Buffer => reply(query, []);
const FAILED = (query: Received): Buffer => reply(query, [], { code: 'SERVFAIL' });
const NONE = (query: Received): Buffer => reply(query, [], { code: 'NXDOMAIN' });
const ADDRESSES: [
  what: string,
  v4: (q: Received) => Buffer,
  v6: (q: Received) => Buffer,
  string | string[],
][] = [
  ['both families', good, (query) => reply(query, [aaaa(query)]), ['192.0.2.1', '2001:db8::1']],
  ['IPv4 only', good, EMPTY, ['192.0.2.1']],
  ['IPv6 only', EMPTY, (query) => reply(query, [aaaa(query)]), ['2001:db8::1']],
  ['IPv4, while IPv6 fails', good, FAILED, ['192.0.2.1']],
  ['none, while IPv6 fails', EMPTY, FAILED, 'target_failed'],
  ['none', EMPTY, EMPTY, 'host_not_found'],
  ['none, as the name does not exist', NONE, NONE, 'host_not_found'],
];
for (const [what, v4, v6, expected] of ADDRESSES)
  test.serial(`the resolver returns the addresses of a name that has ${what}`, async (t) => {
    const server = await dns(t, (query) => (query.question.type === 'A' ? v4(query) : v6(query)));
    const found = createResolver({ servers: [server] }).addresses(NAME, soon());
    if (typeof expected === 'string')
      await t.throwsAsync(found, { instanceOf: ServiceError, code: expected });
    else t.deepEqual(await found, { addresses: expected, chain: [] });
  });

test.serial('the aliases between the name and its addresses are returned', async (t) => {
  const server = await dns(t, (query) => {
    const end = 'db.internal';
    return reply(query, [cname(query.question.name, 'b.test'), cname('b.test', end), a(end, '10.0.0.9')]);
  });
  const { chain } = await createResolver({ servers: [server] }).addresses(NAME, soon());
  t.deepEqual(chain, ['b.test', 'db.internal']);
});

test.serial(
  'resolv.conf: only name servers are read, at most three; without any, the loopback address is used',
  (t) => {
    const text = `# nameserver 192.0.2.9\nsearch example.test\nnameserver 192.0.2.1\nnameserver\t2001:db8::1 # x
nameserver nonsense\noptions ndots:5\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n`;
    const addresses = ['192.0.2.1', '2001:db8::1', '192.0.2.3'];
    t.deepEqual(
      parseResolvConf(text),
      addresses.map((address) => ({ address, port: 53 })),
    );
    t.deepEqual(parseResolvConf('search example.test\n'), [{ address: '127.0.0.1', port: 53 }]);
  },
);

test.serial('every outcome of a lookup releases its sockets and timers', async (t) => {
  const busy = ['UDPWRAP', 'TCPSocketWrap', 'TCPWRAP', 'Timeout'];
  const held = (): string[] => process.getActiveResourcesInfo().filter((kind) => busy.includes(kind));
  const server = await startDns((query) => {
    if (query.question.name.toLowerCase().startsWith('slow')) return null;
    return query.transport === 'udp' ? reply(query, [], { truncated: true }) : good(query);
  });
  const before = held();
  const resolver = createResolver({ servers: [server] });
  const leaver = new AbortController();
  const left = resolver.lookup('slow.example.test', 'A', { ...soon(), signal: leaver.signal });
  await resolver.lookup(NAME, 'A', soon());
  await t.throwsAsync(resolver.lookup('slow2.example.test', 'A', soon(50)));
  leaver.abort();
  await t.throwsAsync(left);
  const wanted = before.sort().join();
  const isReleased = async () => held().sort().join() === wanted;
  await until('all are released', isReleased, 10_000).catch((error) => t.log(String(error)));
  t.deepEqual(held().sort(), before);
  await server.close();
});
