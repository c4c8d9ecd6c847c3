/**
 * Domains under `test.` with records about mail, and whether these are valid by their RFC. Another program is asked about the
 * same domains; where it deliberately differs, `peer` has its verdict.
 */
export interface MailCase {
  name: string;
  /** Lines of the zone file; `@` is the domain itself. */
  zone: string[];
  valid: boolean;
  peer?: boolean;
}

const txt = (owner: string, text: string): string =>
  `${owner} TXT ${(text.match(/.{1,255}/gs) ?? []).map((part) => `"${part.replace(/["\\]/g, '\\$&')}"`).join(' ')}`;

const listOf = (kind: string, owner: string, rows: readonly Row[]): MailCase[] =>
  rows.map(([records, valid, { peer, zone = [] } = {}], at) => ({
    name: `${kind}${at}.test`,
    zone: [...[records].flat().map((text) => txt(owner, text)), ...zone],
    valid,
    ...(peer === undefined ? {} : { peer }),
  }));
type Row = [records: string | string[], valid: boolean, more?: { peer?: boolean; zone?: string[] }];

const counted = (prefix: string, count: number): string =>
  Array.from({ length: count }, (_, at) => `a:${prefix}${at}.a.test`).join(' ');

const HOST = ['@ A 192.0.2.1', '@ MX 10 a.test.'];

/** Names to which the records of the cases refer. */
const SHARED_ZONE = [
  '@ SOA ns root 1 7200 900 86400 60',
  '@ NS ns',
  'ns A 192.0.2.53',
  'a A 192.0.2.2',
  '*.a A 192.0.2.3',
  'mx MX 10 a',
  txt('inc', 'v=spf1 ip4:192.0.2.0/24 -all'),
  txt('broken', 'v=spf1 ip4:192.0.2 -all'),
  txt('two', 'v=spf1 -all'),
  txt('two', 'v=spf1 ~all'),
  txt('loop', 'v=spf1 include:back.test -all'),
  txt('back', 'v=spf1 include:loop.test -all'),
  txt('five', `v=spf1 ${counted('f', 5)} -all`),
  txt('four', `v=spf1 ${counted('g', 4)} -all`),
  txt('three', `v=spf1 ${counted('h', 3)} -all`),
  txt('exp', 'See http://www.example.com/why'),
  ...Array.from({ length: 11 }, (_, at) => `many MX ${at} h${at}.a`),
];

const spf: Row[] = [
  ['v=spf1 -all', true],
  ['v=spf1 a mx -all', true],
  ['v=spf1  a   -all', true],
  ['v=spf1', true],
  ['v=spf1 +all', true],
  ['v=spf1 ?all', true],
  ['v=spf1 include:inc.test ~all', true],
  ['v=spf1 include:inc.test include:inc.test -all', true],
  ['v=spf1 include:absent.test -all', false],
  ['v=spf1 include:a.test -all', false],
  ['v=spf1 include:two.test -all', false],
  ['v=spf1 include:broken.test -all', false],
  ['v=spf1 include:loop.test -all', false],
  ['v=spf1 include:five.test include:three.test -all', true],
  ['v=spf1 include:five.test include:four.test -all', false],
  ['v=spf1 redirect=inc.test', true],
  ['v=spf1 redirect=absent.test', false],
  ['v=spf1 redirect=inc.test redirect=inc.test', false],
  ['v=spf1 redirect=absent.test -all', true],
  ['v=spf1 +redirect=inc.test', false],
  [`v=spf1 ${counted('i', 10)} -all`, true],
  [`v=spf1 ${counted('i', 11)} -all`, false],
  ['v=spf1 a:n1.test a:n2.test -all', true],
  ['v=spf1 a:n1.test a:n2.test mx:n3.test -all', false],
  ['v=spf1 mx:many.test -all', false],
  ['v=spf1 mx:mx.test/24 -all', true],
  ['v=spf1 ip4:192.0.2.1 ip4:192.0.2.0/24 -all', true],
  ['v=spf1 ip4:192.0.2.0/33 -all', false],
  ['v=spf1 ip4:192.0.2.0/08 -all', false],
  ['v=spf1 ip4:192.0.2 -all', false],
  ['v=spf1 ip4:2001:db8::1 -all', false],
  ['v=spf1 ip4 -all', false],
  ['v=spf1 ip4:192.0.2.1~all', false],
  ['v=spf1 ip6:2001:db8::/32 ip6:::1 -all', true],
  ['v=spf1 ip6:2001:db8::/129 -all', false],
  ['v=spf1 ip6:192.0.2.1 -all', false],
  ['v=spf1 a/24 a//64 a/24//64 a:a.test/32 -all', true],
  ['v=spf1 a/33 -all', false],
  ['v=spf1 a//129 -all', false],
  ['v=spf1 a/024 -all', false],
  ['v=spf1 a: -all', false],
  ['v=spf1 a:a.test. -all', true],
  ['v=spf1 exists:a.test -all', true],
  ['v=spf1 exists:%{i}._spf.%{d2}.test -all', true],
  ['v=spf1 exists:%{ir}.%{v}._spf.%{lr+-}.a.test -all', true],
  ['v=spf1 exists:%%.%_.%-.a.test -all', true],
  // The macro is the domain itself, to which the record leads back. checkdmarc does not expand macros.
  ['v=spf1 include:%{d} -all', false, { peer: true }],
  ['v=spf1 exists:%{x}.a.test -all', false],
  ['v=spf1 exists:%{i0}.a.test -all', false],
  ['v=spf1 exists:%{c}.a.test -all', false],
  ['v=spf1 exists:%{i.a.test -all', false],
  ['v=spf1 exists:%i.a.test -all', false],
  ['v=spf1 exists -all', false],
  ['v=spf1 ptr -all', true],
  ['v=spf1 ptr:a.test -all', true],
  ['v=spf1 ptr/24 -all', false],
  ['v=spf1 all:a.test', false],
  ['v=spf1 exp=exp.test -all', true],
  ['v=spf1 exp=exp.test exp=exp.test -all', false],
  ['v=spf1 foo=bar -all', true],
  ['v=spf1 foo -all', false],
  ['v=spf1 -all ip4:192.0.2.1', true],
  ['v=spf10 -all', false],
  [['v=spf1 -all', 'v=spf1 ~all'], false],
  [['v=spf1 -all', 'other=record'], true],
  [[], false],
  // Literals of the grammar are case-insensitive (RFC 5234 section 2.3). checkdmarc requires a lower-case version.
  ['V=SPF1 A MX -ALL', true, { peer: false }],
  // RFC 7208 section 4.6: a syntax error anywhere in the record counts. checkdmarc ignores those after `all`.
  ['v=spf1 -all foo', false, { peer: true }],
  // RFC 7208 section 12: a name needs two labels and a top-level one with a letter. checkdmarc warns of it.
  ['v=spf1 a:foo -all', false, { peer: true }],
  ['v=spf1 include:a.123 -all', false],
  // RFC 7208 section 12: the value of an unknown modifier is a macro-string. checkdmarc ignores such values.
  ['v=spf1 foo=%{x -all', false, { peer: true }],
];

const RUA = 'rua=mailto:d@a.test';
const dmarc: Row[] = [
  ['v=DMARC1; p=none', true],
  [`v=DMARC1; p=reject; ${RUA}`, true],
  [
    `v=DMARC1;p=reject;sp=none;np=quarantine;adkim=s;aspf=r;fo=1:d:s;t=y;psd=n;${RUA};ruf=mailto:f@a.test`,
    true,
  ],
  [`v=DMARC1; ${RUA}; p=quarantine;`, true],
  [`v=DMARC1; P=REJECT; ${RUA}`, true],
  [`v = DMARC1 ; p = none ; ${RUA}`, true],
  // Receivers ignore a record without policy and without address for reports (RFC 9989 section 4.10.1).
  ['v=DMARC1', false, { peer: true }],
  ['v=DMARC1; p=bogus', false],
  ['v=DMARC1; p=none; sp=bogus', false],
  ['v=DMARC1; p=none; p=reject', false],
  [['v=DMARC1; p=none', 'v=DMARC1; p=reject'], false],
  [[], false],
  ['v=dmarc1; p=none', false],
  ['v=dmarc1; p=none; rua=mailto:DMARC1@a.test', false],
  [' v=DMARC1; p=none', false],
  ['v=DMARC1 p=none', false],
  ['p=none; v=DMARC1', false],
  ['v=DMARC1; none', false],
  ['v=DMARC1; p=none; pct=50; rf=afrf; ri=3600', true],
  ['v=DMARC1; p=none; unknown=1', true],
  ['v=DMARC1; p=none; rua=d@a.test', false],
  ['v=DMARC1; p=none; rua=mailto:d@', false],
  ['v=DMARC1; p=none; rua=https://a.test/reports', true],
  ['v=DMARC1; p=none; rua=mailto:d@a.test!10m,mailto:e@a.test', true],
  ['v=DMARC1; p=none; fo=x', false],
  ['v=DMARC1; p=none; t=x', false],
  ['v=DMARC1; p=none; psd=x', false],
  // Values that receivers replace by the default (RFC 9989 section 4.8) violate the syntax. checkdmarc warns of these two.
  ['v=DMARC1; p=none; adkim=x', false, { peer: true }],
  ['v=DMARC1; p=none; fo=0:1', false, { peer: true }],
  // RFC 9989 section 4.10 discards other records. checkdmarc rejects them.
  [['v=DMARC1; p=none', 'other=record'], true, { peer: false }],
];

const tlsRpt: Row[] = [
  ['v=TLSRPTv1; rua=mailto:t@a.test', true],
  ['v=TLSRPTv1;rua=mailto:t@a.test,https://a.test/reports;', true],
  ['v=TLSRPTv1; rua=mailto:t@a.test; more=1', true],
  ['v=TLSRPTv1; rua=ftp://a.test', false],
  ['v=TLSRPTv1; rua=mailto:t', false],
  ['v=TLSRPTv1;', false],
  ['v=TLSRPTv2; rua=mailto:t@a.test', false],
  [['v=TLSRPTv1; rua=mailto:t@a.test', 'v=TLSRPTv1; rua=mailto:u@a.test'], false],
  [[], false],
];

const mtaSts: Row[] = [
  ['v=STSv1; id=20240101000000Z;', true],
  ['v=STSv1;id=1', true],
  ['v=STSv1; id=1; more=2', true],
  ['v=STSv1; id=1; id=2', true],
  ['v=STSv1;', false],
  ['v=STSv1; id=1-2', false],
  ['v=STSv1; id=123456789012345678901234567890123', false],
  ['v=STSv2; id=1', false],
  [['v=STSv1; id=1', 'v=STSv1; id=2'], false],
  [[], false],
];

export const SPF_CASES = listOf('spf', '@', spf).map((it) => ({ ...it, zone: [...HOST, ...it.zone] }));
export const DMARC_CASES = listOf('dmarc', '_dmarc', dmarc).map((it) => ({
  ...it,
  zone: [...HOST, ...it.zone],
}));
export const TLS_RPT_CASES = listOf('tlsrpt', '_smtp._tls', tlsRpt).map((it) => ({
  ...it,
  zone: [...HOST, ...it.zone],
}));
export const MTA_STS_CASES = listOf('sts', '_mta-sts', mtaSts).map((it) => ({
  ...it,
  zone: [...HOST, ...it.zone],
}));

/** Policies of MTA-STS, and whether they are valid for the mail server a.test. */
export const POLICIES: readonly [text: string, valid: boolean][] = [
  ['version: STSv1\nmode: enforce\nmx: a.test\nmax_age: 604800\n', true],
  ['version: STSv1\r\nmode: testing\r\nmx: *.test\r\nmx: a.test\r\nmax_age: 604800\r\n', true],
  ['version: STSv1\nmode: none\nmax_age: 0', true],
  ['version: STSv1\nmode: enforce\nmx: a.test\nmax_age: 60\n', true],
  ['version: STSv1\nmode: enforce\nmx: a.test\nmax_age: 604800\nmore: x\n', true],
  ['mode: enforce\nmx: a.test\nmax_age: 604800\n', false],
  ['version: STSv2\nmode: enforce\nmx: a.test\nmax_age: 604800\n', false],
  ['version: STSv1\nmode: strict\nmx: a.test\nmax_age: 604800\n', false],
  ['version: STSv1\nmode: enforce\nmx: a.test\n', false],
  ['version: STSv1\nmode: enforce\nmx: a.test\nmax_age: 31557601\n', false],
  ['version: STSv1\nmode: enforce\nmx: a.test\nmax_age: week\n', false],
  ['version: STSv1\nmode: enforce\nmax_age: 604800\n', false],
  ['version: STSv1\nmode: enforce\nmx: a..test\nmax_age: 604800\n', false],
  ['version: STSv1\nmode enforce\nmx: a.test\nmax_age: 604800\n', false],
];

/** The zone `test.` with all cases. @param more cases of other files */
export const mailZone = (more: readonly MailCase[] = []): string =>
  [
    '$TTL 300',
    '$ORIGIN test.',
    ...SHARED_ZONE,
    ...[...SPF_CASES, ...DMARC_CASES, ...TLS_RPT_CASES, ...MTA_STS_CASES, ...more].flatMap(
      ({ name, zone }) => [`$ORIGIN ${name}.`, ...zone],
    ),
  ].join('\n');
