import test from 'ava';
import { readMtaStsPolicy } from '../../activities/mailDomain/mtaStsPolicy.ts';
import { reportDomain } from '../../activities/mailDomain/report.ts';
import { newFindings } from '../../activities/mailDomain/verdict.ts';
import { createResolver, type Resolver } from '../../egress/resolver.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { reply, soa, startDns, startValidating } from '../helpers/dns.ts';
import { soon, stubNetwork } from '../helpers/egress.ts';
import { type Named, startNamed } from '../helpers/named.ts';

const EVERY = 'The record lets every server send mail for the domain.';
const EVERY_V6 = 'The record lets every server with an IPv6 address send mail for the domain.';
/** SPF records by name, and what the warning about openness says; null if there is none. */
const SPF: Record<string, [record: string, warning: string | null]> = {
  'inc-all': ['v=spf1 include:plus.open.test -all', EVERY],
  plus: ['v=spf1 +all', EVERY],
  deep: ['v=spf1 include:inc-all.open.test ~all', EVERY],
  blocks: ['v=spf1 ip4:0.0.0.0/0 ip6:::/0 -all', EVERY],
  halves: ['v=spf1 ip4:0.0.0.0/1 ip4:128.0.0.0/1 -all', EVERY],
  quarters: ['v=spf1 ip4:0.0.0.0/2 ip4:64.0.0.0/2 ip4:128.0.0.0/2 ip4:192.0.0.0/3 -all', EVERY],
  parts: ['v=spf1 include:low.open.test include:high.open.test -all', EVERY],
  low: [
    'v=spf1 ip4:0.0.0.0/1 -all',
    'The record lets servers send mail for the domain at 56 % of all IPv4 addresses.',
  ],
  high: [
    'v=spf1 ip4:128.0.0.0/1 -all',
    'The record lets servers send mail for the domain at 43 % of all IPv4 addresses.',
  ],
  six: ['v=spf1 ip6:::/0 -all', EVERY_V6],
  unicast6: ['v=spf1 ip6:2000::/3 -all', EVERY_V6],
  'a-zero': ['v=spf1 a:host.open.test/0 -all', EVERY],
  'mx-zero': ['v=spf1 mx/0 -all', EVERY],
  exists: ['v=spf1 exists:host.open.test -all', EVERY],
  redirect: ['v=spf1 redirect=plus.open.test', EVERY],
  'not-first': ['v=spf1 -ip4:192.0.2.0/24 include:plus.open.test -all', EVERY],
  // Nothing is left for the mechanisms that pass.
  refused: ['v=spf1 -ip4:0.0.0.0/0 -ip6:::/0 include:plus.open.test -all', null],
  // What every sender matches ends the evaluation.
  'exists-first': ['v=spf1 exists:host.open.test include:absent.open.test -all', EVERY],
  'refused-first': ['v=spf1 -ip4:0.0.0.0/0 -ip6:::/0 redirect=absent.open.test', null],
  neutral: ['v=spf1 ?include:plus.open.test -all', null],
  'inc-fail': ['v=spf1 include:closed.open.test -all', null],
  closed: ['v=spf1 ip4:192.0.2.0/24 a mx -all', null],
  macro: ['v=spf1 exists:%{i}.host.open.test -all', null],
  // Macros of the domain are the same for every mail.
  known: ['v=spf1 include:plus.%{d2} -all', EVERY],
  'known-redirect': ['v=spf1 redirect=plus.%{o2}', EVERY],
  'x-plus': ['v=spf1 include:%{D1-} -all', EVERY],
  'known-exists': ['v=spf1 exists:%{d3r.}.mirror.open.test -all', EVERY],
  'known-inside': ['v=spf1 include:inside.open.test -all', EVERY],
  inside: ['v=spf1 a:%{o1r}.%{d2}/0 ?all', null],
  unknown: ['v=spf1 redirect=%{l}.%{d2}', null],
  networks: ['v=spf1 ip4:10.0.0.0/8 ip4:198.0.0.0/8 ip6:2001:db8::/32 -all', null],
};

/** DMARC records by name: the policies for the domain, its subdomains and names that do not exist, and the validity. */
type Policies = [record: string, policies: (string | null)[], valid: boolean];
const RUA = 'rua=mailto:a@dm.test';
const DMARC: Record<string, Policies> = {
  d6: ['v=DMARC1;', [null, null, null], false],
  d30: ['v=DMARC1; adkim=s', [null, null, null], false],
  d35: ['v=DMARC1; p=reject; sp=bogus', [null, null, null], false],
  d36: ['v=DMARC1; p=bogus', [null, null, null], false],
  d37: ['v=DMARC1; p=reject; np=bogus; rua=nowhere', [null, null, null], false],
  d10: [`v=DMARC1; p=reject; ${RUA}; sp=bogus`, ['none', 'none', 'none'], false],
  d11: [`v=DMARC1; p=bogus; sp=reject; ${RUA}`, ['none', 'none', 'none'], false],
  d12: [`v=DMARC1; ${RUA}`, ['none', 'none', 'none'], true],
  d21: [`v=DMARC1; p=reject; ${RUA}?subject=x`, ['reject', 'reject', 'reject'], true],
  d22: [`v=DMARC1; p=reject; ${RUA}?subject=x&body=y!10m`, ['reject', 'reject', 'reject'], true],
  d23: ['v=DMARC1; p=reject; rua=mailto:?to=a@dm.test', ['reject', 'reject', 'reject'], false],
  d50: [`v=DMARC1; p=reject; t=y; ${RUA}`, ['reject', 'reject', 'reject'], true],
  d51: [`v=DMARC1; p=quarantine; sp=none; t=Y; ${RUA}`, ['quarantine', 'none', 'none'], true],
  d52: [`v=DMARC1; p=reject; t=n; ${RUA}`, ['reject', 'reject', 'reject'], true],
  d40: [`v=DMARC1; p=reject; sp=quarantine; np=none; ${RUA}`, ['reject', 'quarantine', 'none'], true],
};

const OWNERS = { spf: '', dmarc: '_dmarc.', tlsRpt: '_smtp._tls.', mtaSts: '_mta-sts.' } as const;
const MOSTLY = 'Most receivers send reports only to mailto addresses, not to `https://dm.test/`.';
const WITHOUT_RUF = 'The tag fo is ignored without an address for failure reports (`ruf`).';
const TLS = 'rua=mailto:t@a.test';
/** Records with rare syntax: which part they belong to, whether they are valid, and what the report says. */
const SYNTAX: [part: keyof typeof OWNERS, record: string, valid: boolean, says?: Record<string, unknown>][] =
  [
    // White space is spaces and tabs (RFC 5234 appendix B.1), not no-break spaces, line ends and the like.
    ['dmarc', `v=DMARC1; p=reject\u00a0; ${RUA}`, false, { policy: 'none' }],
    ['dmarc', `v=DMARC1;\u00a0p=reject; ${RUA}`, false, { policy: 'none' }],
    ['dmarc', `v=DMARC1; p=reject; sp=none\u3000; ${RUA}`, false, { policy: 'none' }],
    ['dmarc', `v=DMARC1; p=reject; ${RUA}\r\n`, false, { policy: 'reject' }],
    ['dmarc', `v=DMARC1;\tp\t=\treject\t;\t${RUA}\t;`, true, { policy: 'reject' }],
    ['tlsRpt', `v=TLSRPTv1;\u00a0${TLS}`, false],
    ['tlsRpt', `v=TLSRPTv1; ${TLS}\n`, false],
    ['mtaSts', 'v=STSv1; id=1\u00a0', false],
    [
      'dmarc',
      'v=DMARC1; p=reject; ruf=mailto:a@dm.test; fo=1; rua=https://dm.test/',
      true,
      { failureOptions: ['1'] },
    ],
    ['dmarc', 'v=DMARC1; p=reject; fo=1; rua=https://dm.test/', true, { warnings: [MOSTLY, WITHOUT_RUF] }],
    // Names of tags are letters, and values printable ASCII (RFC 9989 section 4.8).
    ['dmarc', `v=DMARC1; p=reject; note2=x; ${RUA}`, false, { policy: 'reject' }],
    ['dmarc', `v=DMARC1; p=reject; note=naïve; ${RUA}`, false, { policy: 'reject' }],
    // Addresses (RFC 6068 section 2)
    ...[
      'mailto://a@dm.test',
      'mailto:ä@dm.test',
      'mailto:a@dm..test',
      'mailto:a%zz@dm.test',
      'mailto:a|b@dm.test',
    ].map((uri): (typeof SYNTAX)[number] => [
      'dmarc',
      `v=DMARC1; p=reject; rua=${uri}`,
      false,
      { policy: 'reject' },
    ]),
    ['dmarc', 'v=DMARC1; rua=mailto://a@dm.test', false, { policy: null }],
    ['dmarc', 'v=DMARC1; p=reject; rua=https://dm.test/a b', false],
    ['dmarc', "v=DMARC1; p=reject; rua=mailto:o'neil+dmarc%2Ca@dm.test?cc=b@dm.test!10m", true],
    ['tlsRpt', 'v=TLSRPTv1; rua=mailto:t@a.test?cc=u@a.test', true],
    ['tlsRpt', 'v=TLSRPTv1; rua=mailto:<t@a.test>', false],
    ['tlsRpt', 'v=TLSRPTv1; rua=https:a.test/reports', false],
    // Fields of RFC 8460 and RFC 8461: no white space around `=`, and no `=` in values of extensions.
    [
      'tlsRpt',
      `v=TLSRPTv1; ${TLS}; rua=https://a.test/r?a=b`,
      true,
      { reports: ['mailto:t@a.test', 'https://a.test/r?a=b'], warnings: [] },
    ],
    ['tlsRpt', 'v=TLSRPTv1; rua = mailto:t@a.test', false],
    ['tlsRpt', `v=TLSRPTv1; ${TLS}; more=a=b`, false],
    ['tlsRpt', `v=TLSRPTv1; ${TLS}; ${'x'.repeat(33)}=1`, false],
    ['mtaSts', 'v=STSv1; id = 1', false],
    ['mtaSts', 'v=STSv1; id=1; more=a b', false],
    // The letters c, r and t are for the text of the explanation (RFC 7208 section 7.2), not for where it is.
    ['spf', 'v=spf1 exp=%{r}.a.test -all', false],
    ['spf', 'v=spf1 exp=%{i}.a.test -all', true],
  ];
/** Text as a string of a zone file. */
const quoted = (text: string): string =>
  `"${[...Buffer.from(text)].map((byte) => (byte < 0x20 || byte > 0x7e ? `\\${`${byte}`.padStart(3, '0')}` : String.fromCharCode(byte))).join('')}"`;

const DIGEST = '0123456789abcdef'.repeat(4);
const zoneOf = (): string =>
  [
    '$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 127.0.0.1\n$ORIGIN open.test.\nhost A 192.0.2.1\ntest.open.known-exists.mirror A 192.0.2.1\nknown-inside A 192.0.2.1',
    ...Object.entries(SPF).map(([name, [record]]) => `${name} TXT "${record}"\n${name} MX 10 host`),
    '$ORIGIN dm.test.\n@ MX 10 host.open.test.',
    ...Object.entries(DMARC).map(([name, [record]]) => `_dmarc.${name} TXT "${record}"\n${name} A 192.0.2.1`),
    'exists.d51 A 192.0.2.1\nexists.d40 A 192.0.2.1\na.below.d40 A 192.0.2.1',
    '_dmarc.team.d40 TXT "v=DMARC1; p=none; sp=none; np=none"\nteam.d40 A 192.0.2.1',
    '$ORIGIN syntax.test.\nhost A 192.0.2.1',
    ...SYNTAX.map(([part, record], at) => `${OWNERS[part]}s${at} TXT ${quoted(record)}\ns${at} MX 10 host`),
    '$ORIGIN alias.test.\n@ MX 10 mail\nmail CNAME end\nend A 192.0.2.1',
    `_25._tcp.end TLSA 3 1 1 ${DIGEST}\n_25._tcp.mail TLSA 1 1 1 ${DIGEST}`,
    '$ORIGIN testing.test.\n@ MX 10 host.open.test.\n_mta-sts TXT "v=STSv1; id=1"',
  ].join('\n');

const certificate = await makeCertificate(['DNS:mta-sts.testing.test']);
let named: Named;
let resolver: Resolver;
test.before(async () => {
  named = await startNamed({ test: zoneOf() }, []);
  resolver = createResolver({ servers: [named] });
});
test.after.always(() => named?.close());

async function reportOn(name: string, policy = '', its = resolver) {
  using network = await stubNetwork({
    certificate,
    handle: (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(policy),
  });
  return await reportDomain(name, its, network.guard, soon());
}

for (const [name, [record, warning]] of Object.entries(SPF))
  test.serial(`SPF that lets everyone send has a warning: ${record}`, async (t) => {
    const { spf } = await reportOn(`${name}.open.test`);
    t.deepEqual(spf.errors, []);
    t.deepEqual(
      spf.warnings.filter((it) => it.startsWith('The record lets')),
      warning === null ? [] : [warning],
    );
  });

for (const [name, [record, policies, valid]] of Object.entries(DMARC))
  test.serial(`DMARC without usable policies follows RFC 9989 section 4.10.1: ${record}`, async (t) => {
    const { dmarc } = await reportOn(`${name}.dm.test`);
    const { policy, subdomainPolicy, nonexistentSubdomainPolicy } = dmarc;
    t.deepEqual([policy, subdomainPolicy, nonexistentSubdomainPolicy], policies);
    t.is(dmarc.valid, valid, dmarc.errors.join(' '));
  });

test.serial('DMARC: the policy of a name that does not exist is that of `np`', async (t) => {
  const policyOf = async (name: string) => (await reportOn(`${name}d40.dm.test`)).dmarc.policy;
  t.is(await policyOf(''), 'reject');
  t.is(await policyOf('exists.'), 'quarantine');
  t.is(await policyOf('below.'), 'quarantine', 'an empty non-terminal exists (RFC 8020)');
  t.is(await policyOf('absent.'), 'none');
  t.is(await policyOf('a.absent.'), 'none');
});

test.serial('DMARC: `sp` and `np` of a record below the organizational domain are ignored', async (t) => {
  const { dmarc } = await reportOn('team.d40.dm.test');
  t.like(dmarc, { policy: 'none', subdomainPolicy: 'quarantine', nonexistentSubdomainPolicy: 'none' });
  t.deepEqual(
    dmarc.warnings.filter((it) => it.includes('ignored')),
    ['sp', 'np'].map(
      (tag) => `The tag ${tag} is ignored, because subdomains have the record of d40.dm.test.`,
    ),
  );
});

for (const [at, [part, record, valid, says = {}]] of SYNTAX.entries())
  test.serial(`a record is ${valid ? 'valid' : 'invalid'}: ${JSON.stringify(record)}`, async (t) => {
    const { [part]: report } = await reportOn(`s${at}.syntax.test`);
    t.like(report, { valid, ...says }, report.errors.join(' '));
  });

test.serial('DMARC: a policy that is only tested has a warning with the one that applies', async (t) => {
  const testedOf = async (name: string) => {
    const { dmarc } = await reportOn(`${name}.dm.test`);
    return dmarc.warnings.filter((it) => it.includes('t=y'));
  };
  const tested = (weaker: string, policy: string) => [
    `The policy is only tested (\`t=y\`): receivers act as for ${weaker} instead of ${policy}.`,
  ];
  t.deepEqual(await testedOf('d50'), tested('quarantine', 'reject'));
  t.deepEqual(await testedOf('d51'), tested('none', 'quarantine'));
  t.deepEqual(await testedOf('exists.d51'), [], 'subdomains have the policy none');
  t.deepEqual(await testedOf('d52'), []);
});

const policyFor = (mode: string, mx: string): string =>
  `version: STSv1\nmode: ${mode}\nmx: ${mx}\nmax_age: 604800\n`;
test.serial(
  'MTA-STS: a server that the policy does not name is refused only in the mode enforce',
  async (t) => {
    const enforced = await reportOn('testing.test', policyFor('enforce', 'other.test'));
    t.regex(enforced.mtaSts.errors.join(), /does not name host\.open\.test, so that senders do not deliver/);
    const testing = await reportOn('testing.test', policyFor('testing', 'other.test'));
    t.true(testing.mtaSts.valid);
    t.regex(testing.mtaSts.warnings.join(), /does not name host\.open\.test: senders deliver to it/);
    const matching = await reportOn('testing.test', policyFor('testing', 'host.open.test'));
    t.deepEqual(matching.mtaSts.warnings, [
      'The mode is testing: senders report failures of TLS and deliver nevertheless.',
    ]);
  },
);

test('MTA-STS: white space of a policy is spaces and tabs', (t) => {
  const faultsOf = (text: string) => {
    const findings = newFindings();
    readMtaStsPolicy(text, findings);
    return findings;
  };
  t.deepEqual(faultsOf(policyFor('enforce', '\t host.open.test \t')), newFindings());
  t.is(faultsOf(policyFor('enforce', 'host.open.test\u00a0')).errors.length, 1);
  t.is(faultsOf(policyFor('enforce\u00a0', 'host.open.test')).errors.length, 1);
  t.is(faultsOf(`${policyFor('enforce', 'host.open.test')}more:\n`).errors.length, 1);
  t.deepEqual(faultsOf(`\n${policyFor('enforce', 'host.open.test')}`), {
    errors: [],
    warnings: ['Line 1 of the policy is empty, which some senders may not accept.'],
  });
});

test.serial(
  'DANE: a mail server that is an alias has the records of the name with its addresses',
  async (t) => {
    const server = await startValidating(named);
    t.teardown(() => server.close());
    const { dane } = await reportOn('alias.test', '', createResolver({ servers: [server] }));
    t.deepEqual(dane.errors, []);
    t.like(dane.hosts[0], { host: 'mail.alias.test', authenticated: true });
    t.deepEqual(
      dane.hosts[0]?.records.map(({ usage }) => usage),
      [3],
    );
    // Without authentication, the alias counts as it is.
    const { dane: plain } = await reportOn('alias.test');
    t.deepEqual(
      plain.hosts[0]?.records.map(({ usage }) => usage),
      [1],
    );
  },
);

test('DANE is not checked when the MX records could not be read', async (t) => {
  const failing = await startDns((query) => reply(query, [], { code: 'SERVFAIL' }));
  const refusing = await startDns((query) => reply(query, [], { code: 'REFUSED' }));
  // The records are absent, but the addresses of the domain itself cannot be read.
  const addressless = await startDns((query) =>
    query.question.type === 'A'
      ? reply(query, [], { code: 'SERVFAIL' })
      : reply(query, [], { authorities: [soa('test', 60, 60)] }),
  );
  for (const server of [failing, refusing, addressless]) {
    t.teardown(() => server.close());
    const { dane, mx } = await reportOn('a.test', '', createResolver({ servers: [server] }));
    t.deepEqual(dane, {
      hosts: [],
      valid: false,
      errors: ['DANE was not checked, because the MX records could not be read.'],
      warnings: [],
    });
    t.regex(mx.errors.join(), /could not be read/);
  }
});
