import test from 'ava';
import { createResolver } from '../../egress/resolver.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { reply, startDns } from '../helpers/dns.ts';
import { codeOf } from '../helpers/egress.ts';
import { type Json, recordsAt } from '../helpers/json.ts';
import { dig, type Named, startNamed } from '../helpers/named.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('dns-lookup');

/** The key of the root zone of 2017 (IANA), whose tag is 20326. */
const ROOT_KEY =
  '257 3 8 AwEAAaz/tAm8yTn4Mfeh5eyI96WSVexTBAvkMgJzkKTOiW1vkIbzxeF3+/4RgWOq7HrxRixHlFlExOLAJr5emLvN7SWXgnLh4+B5xQlNVz8Og8kvArMtNROxVQuCaSnIDdD5LKyWbRd2n9WGe2R8PzgCmr3EgVLrjyBxWezF0jLHwVN8efS3rCj/EWgvIWgb9tarpVUDK/b58Da+sqqls3eNbuv7pr+eoZG+SrDK6nWeL3c6H5Apxz7LjVc1uTIdsIXxuOLYA4/ilBmSVIzuDWfdRUfhHdY6+cn8HFRm+2hM8AnXGXws9555KrUB5qihylGa8subX2Nn6UwNR1AkUTV74bU=';
const DIGEST = 'E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D';

const ZONE = `
$TTL 3600
@ SOA ns1 root 1 7200 900 1209600 60
@ NS ns1
@ A 192.0.2.1
@ HTTPS 1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1
@ HTTPS 2 svc alpn=h3 no-default-alpn ech=AEX+DQBBpQ==
@ CAA 0 issue "ca.example.net; policy=ev"
@ CAA 128 iodef "mailto:caa@example.test"
@ CAA 0 issuewild ";"
@ DNSKEY ${ROOT_KEY}
ns1 A 192.0.2.53
svc A 192.0.2.2
alias HTTPS 0 svc.example.test.
plain SVCB 1 svc mandatory=alpn,port alpn=dot port=853
_dns SVCB 1 svc alpn=h2 dohpath="/dns-query{?dns}" key65400="hi"
www CNAME @
_sip._tcp SRV 10 60 5060 sip1
_sip._tcp SRV 20 0 5061 SIP2.Other.Test.
_ldap._tcp SRV 0 0 0 .
_25._tcp.mail TLSA 3 1 1 ${DIGEST}
_443._tcp TLSA 0 0 2 ${DIGEST}${DIGEST}
_443._tcp TLSA 2 1 0 30820122
child NS ns1
child DS 20326 8 2 ${DIGEST}
child DS 1 13 4 ${DIGEST}0123456789ABCDEF0123456789ABCDEF
empty TXT "no other type"
`;
const REVERSE = `
$TTL 300
@ SOA ns root 1 2 3 4 5
@ NS ns.example.test.
1 CNAME 1.0/25
1.0/25 PTR Host-1.Example.Test.
200 PTR host-200.example.test.
0/25 TXT "a range"
128/26 TXT "another range"
`;

let named: Named;
test.before(async () => {
  named = await startNamed(
    {
      'example.test': ZONE,
      '2.0.192.in-addr.arpa': REVERSE,
      '8.b.d.0.1.0.0.2.ip6.arpa': `$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns.example.test.\n1${'.0'.repeat(23)} PTR six.example.test.\n`,
    },
    [],
  );
});
test.after.always(() => named?.close());

const call = (hostname: string, recordType: string, resolver = createResolver({ servers: [named] })) =>
  tool.call({ hostname, recordType }, { resolver });

const dotted = (name: unknown): string => (name === '.' ? '.' : `${name}.`);
const spaceless = (text: string): string => text.replaceAll(/\s/g, '');

/** A parameter of a service record as dig prints it. */
function parameter(name: string, values: string[]): string {
  if (values.length === 0) return name;
  // BIND 9.18 has no name for this parameter.
  if (name === 'dohpath') return `key7="${values.join()}"`;
  if (name.startsWith('key')) return `${name}="${Buffer.from(values[0] ?? '', 'base64')}"`;
  return name === 'alpn' ? `alpn="${values.join()}"` : `${name}=${values.join()}`;
}

/** A record of the output as dig prints it. */
function masterForm(type: string, { ttl: _, ...data }: Json): string {
  switch (type) {
    case 'HTTPS':
    case 'SVCB': {
      const params = Object.entries(data.params ?? {}).map(([name, values]) => parameter(name, values));
      return [data.priority, dotted(data.target), ...params].join(' ');
    }
    case 'CAA':
      return `${data.flags} ${data.tag} "${data.value}"`;
    case 'SRV':
      return `${data.priority} ${data.weight} ${data.port} ${dotted(data.target)}`;
    case 'PTR':
      return dotted(data.value);
    case 'TLSA':
      return `${data.usage} ${data.selector} ${data.matchingType} ${data.data}`;
    case 'DS':
      return `${data.keyTag} ${data.algorithm} ${data.digestType} ${data.digest}`;
    default:
      return `${data.flags} ${data.protocol} ${data.algorithm} ${data.publicKey}`;
  }
}

const QUERIES: [type: string, names: string[]][] = [
  ['HTTPS', ['example.test', 'alias.example.test', 'www.example.test', 'empty.example.test']],
  ['SVCB', ['plain.example.test', '_dns.example.test', 'empty.example.test']],
  ['CAA', ['example.test', 'www.example.test', 'svc.example.test']],
  ['TLSA', ['_25._tcp.mail.example.test', '_443._tcp.example.test', 'empty.example.test']],
  ['SRV', ['_sip._tcp.example.test', '_ldap._tcp.example.test', 'empty.example.test']],
  [
    'PTR',
    [
      '1.2.0.192.in-addr.arpa',
      '1.0/25.2.0.192.in-addr.arpa',
      '200.2.0.192.in-addr.arpa',
      `1${'.0'.repeat(23)}.8.b.d.0.1.0.0.2.ip6.arpa`,
    ],
  ],
  ['DS', ['child.example.test', 'svc.example.test', 'empty.example.test']],
  ['DNSKEY', ['example.test', 'svc.example.test', 'empty.example.test']],
  ['TXT', ['0/25.2.0.192.in-addr.arpa', '128/26.2.0.192.IN-ADDR.ARPA.']],
];
for (const [type, names] of QUERIES)
  test.serial(`${type} records are those of dig`, async (t) => {
    for (const name of names) {
      const [theirs] = await dig(named, name, [type]);
      const expected = (theirs?.records ?? []).filter((record) => record.type === type);
      const output = await call(name, type);
      t.is(output.found, expected.length > 0, name);
      const ours = recordsAt(output.records).map((record) =>
        type === 'TXT' ? `"${record.text}"` : masterForm(type, record),
      );
      const lower =
        type === 'CAA' || type === 'TXT' || type === 'DNSKEY'
          ? spaceless
          : (text: string) => spaceless(text).toLowerCase();
      t.deepEqual(ours.map(lower).sort(), expected.map(({ data }) => lower(data)).sort(), name);
    }
  });

test.serial('records have the documented fields', async (t) => {
  const first = async (name: string, type: string) => recordsAt((await call(name, type)).records)[0];
  t.like(await first('example.test', 'DNSKEY'), { flags: 257, protocol: 3, algorithm: 8, keyTag: 20_326 });
  t.deepEqual(await first('alias.example.test', 'HTTPS'), {
    priority: 0,
    target: 'svc.example.test',
    params: {},
    ttl: 3600,
  });
  const caa = recordsAt((await call('example.test', 'CAA')).records);
  t.deepEqual(
    caa.find(({ tag }) => tag === 'iodef'),
    {
      critical: true,
      flags: 128,
      tag: 'iodef',
      value: 'mailto:caa@example.test',
      ttl: 3600,
    },
  );
  t.deepEqual(await first('_25._tcp.mail.example.test', 'TLSA'), {
    usage: 3,
    selector: 1,
    matchingType: 1,
    data: DIGEST.toLowerCase(),
    ttl: 3600,
  });
});

test.serial('PTR takes an IP address; other types do not', async (t) => {
  t.like(await call('192.0.2.200', 'PTR'), { hostname: '200.2.0.192.in-addr.arpa', found: true });
  t.like(await call('192.0.2.1', 'PTR'), { records: [{ value: 'host-1.example.test', ttl: 300 }] });
  const six = await call('2001:db8::1', 'PTR');
  t.is(six.hostname, `1${'.0'.repeat(23)}.8.b.d.0.1.0.0.2.ip6.arpa`);
  t.deepEqual(six.records, [{ value: 'six.example.test', ttl: 300 }]);
  t.is(await codeOf(() => call('192.0.2.1', 'A')), 'invalid_input');
});

test('names of private addresses, and slashes elsewhere, are refused without a query', async (t) => {
  const server = await startDns((query) => reply(query, []));
  t.teardown(() => server.close());
  const resolver = createResolver({ servers: [server] });
  for (const name of [
    '10.1.2.3',
    '192.168.0.1',
    '172.31.0.1',
    '127.0.0.1',
    '100.64.0.1',
    '::1',
    'fd00::1',
    'fe80::1',
  ])
    t.is(await codeOf(() => call(name, 'PTR', resolver)), 'target_refused', name);
  t.is(await codeOf(() => call('1.0/25.2.0.10.in-addr.arpa', 'PTR', resolver)), 'target_refused');
  for (const name of [
    'example.com/',
    'example.com/24',
    'a/b.example.com',
    '192.0.2.0/24',
    '/25.example.com',
    '1/2/3.a.com',
  ])
    t.is(await codeOf(() => call(name, 'NS', resolver)), 'invalid_input', name);
  t.is(server.received.length, 0);
});

/** Adds an OPT record with an extended error (RFC 8914) to a response. */
function withExtended(response: Buffer, code: number, text: string): Buffer {
  const option = Buffer.concat([
    Buffer.from([0, 15, 0, text.length + 2, code >> 8, code & 0xff]),
    Buffer.from(text),
  ]);
  const record = Buffer.concat([Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, option.length]), option]);
  response.writeUInt16BE(response.readUInt16BE(10) + 1, 10);
  return Buffer.concat([response, record]);
}

const FAILURES: [
  code: 'SERVFAIL' | 'REFUSED',
  extended: [code: number, text: string] | null,
  detail: string,
][] = [
  ['SERVFAIL', null, 'SERVFAIL'],
  ['REFUSED', null, 'REFUSED'],
  [
    'SERVFAIL',
    [7, 'expired on Monday'],
    'SERVFAIL, extended DNS error 7 (Signature Expired): expired on Monday',
  ],
  ['REFUSED', [18, ''], 'REFUSED, extended DNS error 18 (Prohibited)'],
  ['SERVFAIL', [4242, 'private\r\nuse\0'], 'SERVFAIL, extended DNS error 4242: private use'],
];
for (const [code, extended, detail] of FAILURES)
  test(`the failure of a name server is in the detail: ${detail}`, async (t) => {
    const server = await startDns((query) => {
      const response = reply(query, [], { code });
      return extended === null ? response : withExtended(response, ...extended);
    });
    t.teardown(() => server.close());
    const error = await t.throwsAsync(call('example.test', 'A', createResolver({ servers: [server] })), {
      instanceOf: ServiceError,
    });
    t.is(error?.code, 'target_failed');
    t.is(error?.detail, `The DNS servers gave no usable answer for this name: ${detail}.`);
  });

test('the error of a blocked name says that the name server blocks it; that of a missing name does not', async (t) => {
  const server = await startDns((query) => {
    const response = reply(query, [], { code: 'NXDOMAIN' });
    return query.question.name.toLowerCase() === 'absent.test'
      ? response
      : withExtended(response, 15, 'malware list');
  });
  t.teardown(() => server.close());
  const detailOf = async (name: string) =>
    (
      await t.throwsAsync(call(name, 'A', createResolver({ servers: [server] })), {
        instanceOf: ServiceError,
        code: 'host_not_found',
      })
    )?.detail;
  t.is(await detailOf('absent.test'), 'The host name does not resolve.');
  t.is(
    await detailOf('blocked.test'),
    'The host name does not resolve: NXDOMAIN, extended DNS error 15 (Blocked): malware list.',
  );
});

const MALFORMED: [what: string, type: string, data: string][] = [
  ['keys in the wrong order', 'HTTPS', '0001 00 0003 0002 01bb 0001 0003 026832'],
  ['a parameter that runs past the record', 'HTTPS', '0001 00 0003 0004 01bb'],
  ['an empty list of protocols', 'SVCB', '0001 00 0001 0000'],
  ['a tag that runs past the record', 'CAA', '00 09 6973'],
  ['a digest that is missing', 'DS', '4f66 08 02'],
  ['bytes after the target', 'SRV', '0001 0001 01bb 00 00'],
];
for (const [what, type, hex] of MALFORMED)
  test(`a malformed record is a failure of the name server: ${type} with ${what}`, async (t) => {
    const data = Buffer.from(spaceless(hex), 'hex');
    const server = await startDns(({ bytes }) => {
      // The header with one answer, the question as it was sent, and a record that points to its name.
      const end = bytes.indexOf(0, 12) + 5;
      const answer = Buffer.alloc(12);
      answer.writeUInt16BE(0xc00c);
      answer.writeUInt16BE(bytes.readUInt16BE(end - 4), 2);
      answer.writeUInt16BE(1, 4);
      answer.writeUInt16BE(data.length, 10);
      const message = Buffer.concat([bytes.subarray(0, end), answer, data]);
      message.writeUInt16BE(0x8180, 2);
      message.writeUInt16BE(1, 6);
      message.writeUInt16BE(0, 10);
      return message;
    });
    t.teardown(() => server.close());
    t.is(
      await codeOf(() => call('example.test', type, createResolver({ servers: [server] }))),
      'target_failed',
    );
  });
