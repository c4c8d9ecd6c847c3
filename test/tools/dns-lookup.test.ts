import { readFileSync } from 'node:fs';
import test from 'ava';
import { createResolver } from '../../egress/resolver.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { reply, startDns } from '../helpers/dns.ts';
import { recordsAt } from '../helpers/json.ts';
import { type DigAnswer, dig, type Named, startNamed } from '../helpers/named.ts';
import { loadTool } from '../helpers/tool.ts';

const TYPES = ['A', 'AAAA', 'MX', 'TXT', 'NS', 'CNAME', 'SOA'];

const ZONE = String.raw`
$TTL 3600
@ SOA ns1 first\.last.example.test. 2024010101 7200 900 4294967295 60
@ NS ns1
@ NS ns2.Other.Test.
@ A 192.0.2.1
@ A 192.0.2.2
@ AAAA 2001:db8:0:0:1:0:0:1
@ AAAA ::ffff:192.0.2.9
@ AAAA ::192.0.2.9
@ AAAA 2001:db8:0:1:1:1:1:1
@ MX 10 Mail
@ MX 20 mail2.other.test.
@ TXT "v=spf1 -all"
@ TXT "in two " "chunks"
ns1 A 192.0.2.53
mail 600 A 192.0.2.25
private A 10.0.0.1
_dmarc TXT "v=DMARC1; p=none"
xn--bcher-kva A 192.0.2.77
*.wild A 192.0.2.88
under.empty A 192.0.2.99
-dash A 192.0.2.31
-dash.-two A 192.0.2.32
a+b,c=d A 192.0.2.33
star.*.middle A 192.0.2.34
www CNAME web
web 30 CNAME mail
dangling CNAME nowhere
abroad CNAME host.elsewhere.test.
renamed DNAME @
nomail MX 0 .
latin1 TXT "caf\233"
utf8 TXT "caf\195\169 \240\159\146\169"
split TXT "caf\195" "\169!"
splinters TXT "\240" "\159" "" "\146" "\169\240\159" "\146\169"
control TXT "nul \000 tab \009 \"quoted\" back\\slash" ""
odd MX 5 od\.d\032na\255me
odd2 CNAME sem\;i\(x\)\@\"y\".example.test.
inside CNAME db.internal.
single CNAME intranet.
max TXT ${Array.from({ length: 250 }, (_, index) => `"${String(index % 10).repeat(255)}"`).join(' ')}
${Array.from({ length: 90 }, (_, index) => `many A 198.51.100.${index}`).join('\n')}
`;

const origin = (zone: string, records: string): string =>
  `$TTL 300\n@ SOA ns.${zone}. root.${zone}. 1 2 3 4 5\n@ NS ns.${zone}.\nns A 127.0.0.1\n${records}\n`;

const NAMES = [
  ...['', 'ns1.', 'mail.', 'private.', '_dmarc.', 'a.b.wild.', 'empty.', 'under.empty.', 'www.', 'web.'],
  ...['dangling.', 'abroad.', 'mail.renamed.', 'nomail.', 'latin1.', 'utf8.', 'split.', 'control.', 'odd.'],
  ...['-dash.', '-DASH.-two.', '-none.', '*.wild.', '*.', 'b.*.wild.', 'a*.', 'star.*.middle.', 'a+b,c=d.'],
  ...['odd2.', 'max.', 'many.', 'bücher.', 'BÜCHER.', 'no.such.name.', 'WWW.', 'xn--bcher-kva.'],
].map((label) => `${label}example.test`);

const tool = await loadTool('dns-lookup');
let named: Named;
test.before(async () => {
  named = await startNamed(
    {
      'example.test': ZONE,
      'elsewhere.test': origin('elsewhere.test', 'host AAAA 2001:db8::5'),
      internal: origin('internal', 'db A 10.9.8.7'),
      intranet: origin('intranet', '@ A 10.9.8.6'),
      com: origin('com', ''),
    },
    ['failing.test'],
  );
});
test.after.always(() => named?.close());

/** Calls the tool with a new DNS resolver, whose cache is empty. */
async function call(body: Record<string, unknown>, resolver = createResolver({ servers: [named] })) {
  const { hostname, recordType, records, found } = await tool.call(body, { resolver });
  return { hostname, recordType, records: recordsAt(records), found };
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'answered',
    (error: unknown) => {
      if (error instanceof ServiceError) return error.code;
      throw error;
    },
  );

/** Decodes TXT data in master-file format, `"a\"b" "\255"`, to one buffer per string. */
const chunksOf = (data: string): Buffer[] =>
  Array.from(data.matchAll(/"((?:\\.|[^"\\])*)"/g), ([, text = '']) =>
    Buffer.from(
      text.replace(/\\(\d{3}|.)/g, (_, code: string) =>
        code.length === 3 ? String.fromCharCode(Number(code)) : code,
      ),
      'latin1',
    ),
  );

/** Formats a record of the tool's output as dig prints it. TXT records are compared separately. */
function masterForm(record: Record<string, unknown>): string {
  const { ttl: _, ...data } = record;
  const dotted = (name: unknown): string => (name === '.' ? '.' : `${name}.`);
  if ('exchange' in data) return `${data.priority} ${dotted(data.exchange)}`;
  if ('mname' in data) {
    const { mname, rname, ...numbers } = data;
    return [dotted(mname), dotted(rname), ...Object.values(numbers)].join(' ');
  }
  if ('value' in data) return dotted(data.value);
  return String(data.address);
}

const expectedCode = ({ status }: DigAnswer): string =>
  status === 'NOERROR' ? 'answered' : status === 'NXDOMAIN' ? 'host_not_found' : 'target_failed';

// The tests run serially, because on a busy machine the DNS server would respond too late.
for (const hostname of NAMES)
  test.serial(`${hostname} resolves as with dig`, async (t) => {
    const answers = await dig(named, hostname, TYPES);
    for (const [index, recordType] of TYPES.entries()) {
      const theirs = answers[index] ?? t.fail();
      const answer = call({ hostname, recordType });
      t.is(await codeOf(answer), expectedCode(theirs), recordType);
      if (theirs.status !== 'NOERROR') continue;

      const expected = theirs.records.filter(({ type }) => type === recordType);
      const ours = await answer;
      t.is(ours.found, expected.length > 0);
      t.is(ours.recordType, recordType);
      t.deepEqual(
        [...new Set(ours.records.map(({ ttl }) => ttl))],
        [...new Set(expected.map(({ ttl }) => ttl))],
      );
      if (recordType === 'TXT') {
        const bytes = ours.records.map((record) =>
          Array.isArray(record.chunks) ? [record.chunks.join(''), record.text] : t.fail(),
        );
        const decoded = expected.map(({ data }) => {
          const all = Buffer.concat(chunksOf(data));
          const text = all.toString(all.toString('utf8').includes('\ufffd') ? 'latin1' : 'utf8');
          return [text, text];
        });
        t.deepEqual(bytes.sort(), decoded.sort());
      } else {
        t.deepEqual(
          ours.records.map(masterForm).sort(),
          expected.map(({ data }) => data.toLowerCase()).sort(),
        );
      }
    }
  });

test.serial('hostname is returned as queried: A-labels, lower case, no trailing dot', async (t) => {
  t.is((await call({ hostname: 'BÜCHER.Example.Test.' })).hostname, 'xn--bcher-kva.example.test');
});

test.serial('the default type is A, and private addresses are returned', async (t) => {
  t.deepEqual(await call({ hostname: 'private.example.test' }), {
    hostname: 'private.example.test',
    recordType: 'A',
    records: [{ address: '10.0.0.1', ttl: 3600 }],
    found: true,
  });
});

test.serial('an alias whose target has no record of the type returns found: false', async (t) => {
  const { records, found } = await call({ hostname: 'www.example.test', recordType: 'MX' });
  t.deepEqual({ records, found }, { records: [], found: false });
});

test.serial('a domain that accepts no mail has the exchange "."', async (t) => {
  const { records } = await call({ hostname: 'nomail.example.test', recordType: 'MX' });
  t.deepEqual(records, [{ exchange: '.', priority: 0, ttl: 3600 }]);
});

const TXT: [name: string, text: string, chunks: string[]][] = [
  ['latin1', 'café', ['café']],
  ['utf8', 'café 💩', ['café 💩']],
  ['split', 'café!', ['caf', 'é!']],
  ['splinters', '💩💩', ['', '', '', '', '💩', '💩']],
  ['control', 'nul \0 tab \t "quoted" back\\slash', ['nul \0 tab \t "quoted" back\\slash', '']],
];
for (const [name, text, chunks] of TXT)
  test.serial(`TXT bytes are decoded as UTF-8 where valid, else as Latin-1: ${name}`, async (t) => {
    const { records } = await call({ hostname: `${name}.example.test`, recordType: 'TXT' });
    t.deepEqual(records, [{ text, chunks, ttl: 3600 }]);
  });

test.serial('an answer that is too long for a datagram is returned in full', async (t) => {
  const { records } = await call({ hostname: 'max.example.test', recordType: 'TXT' });
  t.deepEqual(
    records.map(({ text }) => typeof text === 'string' && text.length),
    [250 * 255],
  );
});

test.serial('special bytes in names are escaped as in master files', async (t) => {
  const { records } = await call({ hostname: 'odd.example.test', recordType: 'MX' });
  t.deepEqual(records, [{ exchange: String.raw`od\.d\032na\255me.example.test`, priority: 5, ttl: 3600 }]);
});

test.serial('a failing name server is distinguished from a name that does not exist', async (t) => {
  t.is(await codeOf(call({ hostname: 'www.failing.test' })), 'target_failed');
  t.is(await codeOf(call({ hostname: 'nowhere.example.test' })), 'host_not_found');
});

test('a DNS server that does not respond is reported as target_timeout', async (t) => {
  const silent = await startDns(() => null);
  t.teardown(() => silent.close());
  t.is(
    await codeOf(call({ hostname: 'example.test' }, createResolver({ servers: [silent] }))),
    'target_timeout',
  );
});

test.serial('internal names are refused without a query, also as the target of an alias', async (t) => {
  const server = await startDns((query) =>
    reply(query, [{ type: 'A', name: query.question.name, data: '10.0.0.1' }]),
  );
  t.teardown(() => server.close());
  const watched = createResolver({ servers: [server] });
  for (const hostname of [
    'localhost',
    'com',
    'intranet',
    'db.internal',
    'DB.Internal.',
    'a.local',
    'home.arpa',
    '*.internal',
    '-a.local',
    '-c1',
    '*',
  ])
    t.is(await codeOf(call({ hostname }, watched)), 'target_refused', hostname);
  t.is(server.received.length, 0);

  // Shows that the DNS server itself would answer both queries with addresses of its private zones.
  t.is((await dig(named, 'inside.example.test', ['A']))[0]?.records.at(-1)?.data, '10.9.8.7');
  t.is(await codeOf(call({ hostname: 'inside.example.test' })), 'target_refused');
  t.is(await codeOf(call({ hostname: 'single.example.test' })), 'target_refused');
  // Asking for the alias itself is allowed, because its name is public.
  const { records } = await call({ hostname: 'inside.example.test', recordType: 'CNAME' });
  t.deepEqual(records, [{ value: 'db.internal', ttl: 3600 }]);
});

test.serial('input other than a bare domain name is invalid_input and names the field', async (t) => {
  const long = `${'a.'.repeat(126)}aa`;
  t.is(long.length, 254);
  const bad = [
    'http://example.com',
    'example.com/',
    'example.com:53',
    'me@example.com',
    'exa mple.com',
    '$(id).a.com',
    long,
  ];
  for (const hostname of [
    ...bad,
    '1.2.3.4',
    '0x7f.1',
    '①②⑦.0.0.1',
    '::1',
    '[::1]',
    '1.2.3.4.5',
    '*.1.2.3.4',
  ]) {
    const error = await t.throwsAsync(call({ hostname }), { instanceOf: ServiceError });
    t.is(error?.code, 'invalid_input', hostname);
    t.is(error?.members.errors?.[0]?.pointer, '/hostname', hostname);
  }
  t.is(await codeOf(call({ hostname: 'example.test', recordType: 'ANY' })), 'invalid_input');
  t.is(await codeOf(call({ hostname: '' })), 'invalid_input');
  t.is(await codeOf(call({ hostname: 'example.test', type: 'A' })), 'invalid_input');
});

const rows = readFileSync(new URL('../cases/ssrf.tsv', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => line.split('\t'))
  .filter(([, kind]) => kind === 'host');

test.serial('the hosts of the SSRF case file get the listed verdict, except literals', async (t) => {
  const public_ = await startDns((query) =>
    reply(query, [{ type: 'A', name: query.question.name, data: '93.184.215.14' }]),
  );
  t.teardown(() => public_.close());
  const fixed = createResolver({ servers: [public_] });
  t.true(rows.length > 30);
  for (const [input = '', , verdict, why] of rows) {
    const hostname: unknown = JSON.parse(`"${input}"`);
    const code = await codeOf(call({ hostname }, fixed));
    // The SSRF cases also contain address literals, but this tool accepts only names.
    if (verdict === 'allow' && why === 'public literals') t.is(code, 'invalid_input', input);
    else if (verdict === 'allow') t.is(code, 'answered', input);
    else t.true(['invalid_input', 'target_refused'].includes(code), `${input}: ${code}`);
  }
});
