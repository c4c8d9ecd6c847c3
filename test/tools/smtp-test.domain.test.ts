import { once } from 'node:events';
import test from 'ava';
import { SMTPServer } from 'smtp-server';
import { readMtaStsPolicy } from '../../activities/mailDomain/mtaStsPolicy.ts';
import { reportDomain } from '../../activities/mailDomain/report.ts';
import { newFindings } from '../../activities/mailDomain/verdict.ts';
import { createResolver, type Resolver } from '../../egress/resolver.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { startValidating } from '../helpers/dns.ts';
import { codeOf, soon, stubNetwork } from '../helpers/egress.ts';
import { isRecord } from '../helpers/json.ts';
import { MAIL_HOST, networkOf } from '../helpers/mail.ts';
import {
  DMARC_CASES,
  MTA_STS_CASES,
  mailZone,
  POLICIES,
  SPF_CASES,
  TLS_RPT_CASES,
} from '../helpers/mailZones.ts';
import { type Named, startNamed } from '../helpers/named.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('smtp-test');

const MORE = String.raw`
$ORIGIN test.
_dmarc.org TXT "v=DMARC1; p=reject; sp=quarantine; rua=mailto:d@org.test"
mail.org A 192.0.2.9
_dmarc.b.org TXT "v=DMARC1; p=none"
a.b.org A 192.0.2.9
_dmarc.suffix TXT "v=DMARC1; p=reject; psd=y"
x.shop.suffix A 192.0.2.9
_dmarc.shop.suffix TXT "v=DMARC1; p=quarantine"
y.none.suffix A 192.0.2.9
_dmarc.own TXT "v=DMARC1; p=none; psd=n"
z.own A 192.0.2.9
_dmarc.deep TXT "v=DMARC1; p=reject"
1.2.3.4.5.6.7.8.9.deep A 192.0.2.9
_dmarc.asks TXT "v=DMARC1; p=reject; rua=mailto:r@willing.test,mailto:r@silent.test"
asks.test._report._dmarc.willing TXT "v=DMARC1"
bare A 192.0.2.9
nomail MX 0 .
both MX 0 .
both MX 10 a
alias MX 10 www
www CNAME a
homeless MX 10 absent
inside MX 10 mail.corp.
inside TXT "v=spf1 include:db.internal a:alias-inside.test -all"
alias-inside CNAME db.internal.
literal MX 10 192\.0\.2\.1.
order MX 20 b.a
order MX 10 c.a
order MX 20 a
size TXT "v=spf1 ${'ip4:192.0.2.111 '.repeat(15)}" "${'ip4:192.0.2.222 '.repeat(15)} ?all"
both-ways A 192.0.2.9
both-ways MX 10 a
both-ways TXT "v=spf1 ~all"
_dmarc.both-ways TXT "v=DMARC1; p=reject; rua=mailto:d@both-ways.test"
_mta-sts.both-ways TXT "v=STSv1; id=7"
_smtp._tls.both-ways TXT "v=TLSRPTv1; rua=mailto:t@both-ways.test"
_25._tcp.a TLSA 3 1 1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
_25._tcp.a TLSA 1 1 1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
_25._tcp.a TLSA 2 0 2 0123
`;

const CERTIFIED = MTA_STS_CASES.map(({ name }) => `DNS:mta-sts.${name}`);
const certificate = await makeCertificate([...CERTIFIED, 'DNS:mta-sts.both-ways.test']);
const POLICY = 'version: STSv1\nmode: enforce\nmx: a.test\nmax_age: 604800\n';

let named: Named;
let resolver: Resolver;
test.before(async () => {
  const internal =
    '$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 127.0.0.1\ndb A 192.0.2.9\ndb TXT "v=spf1 -all"\n';
  named = await startNamed({ test: `${mailZone()}\n${MORE}`, internal }, ['failing.example']);
  resolver = createResolver({ servers: [named] });
});
test.after.always(() => named?.close());

/** A network whose web server has the policy, with that status. */
const networkWith = (policy: string, status = 200, headers = {}) =>
  stubNetwork({
    certificate,
    handle: (_, response) =>
      response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(policy),
  });

async function reportOn(name: string, policy = POLICY, status = 200, headers = {}) {
  using network = await networkWith(policy, status, headers);
  const report = await reportDomain(name, resolver, network.guard, soon());
  return { ...report, dialled: network.dialled };
}

const PARTS = { spf: SPF_CASES, dmarc: DMARC_CASES, tlsRpt: TLS_RPT_CASES, mtaSts: MTA_STS_CASES } as const;
for (const [part, cases] of Object.entries(PARTS))
  test.serial(`${part}: the validity of records follows the RFC`, async (t) => {
    for (const { name, zone, valid } of cases) {
      const report: Record<string, unknown> = await reportOn(name);
      const found = report[part];
      if (!isRecord(found)) return t.fail();
      t.is(found.valid, valid, `${zone.at(-1)}: ${JSON.stringify(found)}`);
    }
  });

for (const [at, [policy, valid]] of POLICIES.entries())
  test(`MTA-STS: policy ${at} is ${valid ? 'valid' : 'invalid'}`, (t) => {
    const findings = newFindings();
    readMtaStsPolicy(policy, findings);
    t.is(findings.errors.length === 0, valid, findings.errors.join(' '));
  });

/** domain, and the record's domain, organizational domain and policy that apply. */
const WALKS: [name: string, domain: string | null, organization: string, policy: string | null][] = [
  ['org.test', 'org.test', 'org.test', 'reject'],
  ['mail.org.test', 'org.test', 'org.test', 'quarantine'],
  // RFC 9989 section 4.10.1: the record of the organizational domain, not that of the nearest parent.
  ['a.b.org.test', 'org.test', 'org.test', 'quarantine'],
  ['b.org.test', 'b.org.test', 'org.test', 'none'],
  ['x.shop.suffix.test', 'shop.suffix.test', 'shop.suffix.test', 'quarantine'],
  ['y.none.suffix.test', 'suffix.test', 'none.suffix.test', 'reject'],
  ['z.own.test', 'own.test', 'own.test', 'none'],
  ['1.2.3.4.5.6.7.8.9.deep.test', 'deep.test', 'deep.test', 'reject'],
  ['bare.test', null, 'bare.test', null],
];
test.serial('DMARC: the record of the organizational domain applies', async (t) => {
  for (const [name, domain, organizationalDomain, policy] of WALKS) {
    const { dmarc } = await reportOn(name);
    t.like(dmarc, { domain, organizationalDomain, policy, valid: domain !== null }, name);
  }
});

test.serial('DMARC: other organizations must agree to receive reports', async (t) => {
  const { dmarc } = await reportOn('asks.test');
  t.true(dmarc.valid);
  t.deepEqual(dmarc.warnings, [
    'silent.test has not agreed to receive reports for asks.test: asks.test._report._dmarc.silent.test has no record.',
  ]);
});

test.serial('SPF: terms, look-ups and included records are reported', async (t) => {
  const { spf } = await reportOn('spf13.test');
  t.like(spf, { all: 'fail', lookups: 10, voidLookups: 0 });
  t.deepEqual(
    spf.included.map(({ domain }) => domain),
    ['five.test', 'three.test'],
  );
  t.deepEqual(spf.terms[0], { kind: 'mechanism', name: 'include', value: 'five.test', result: 'pass' });
  const { spf: size } = await reportOn('size.test');
  t.true(size.valid);
  t.is(size.all, 'neutral');
  t.regex(size.warnings.join(), /^The record has 492 bytes/);
  const { spf: open } = await reportOn('spf4.test');
  t.deepEqual(open.warnings, ['The record lets every server send mail for the domain.']);
});

const MX: Record<string, RegExp | null> = {
  'order.test': null,
  'nomail.test': null,
  'bare.test': null,
  'both.test': /must be the only MX record/,
  'alias.test': /www\.test is an alias/,
  'homeless.test': /absent\.test has no address/,
  'literal.test': /192\\\.0\\\.2\\\.1 is not a valid host name/,
  'absent.test': /no MX records/,
};
test.serial('MX: mail servers must be names with an address', async (t) => {
  for (const [name, error] of Object.entries(MX)) {
    const { mx } = await reportOn(name);
    t.is(mx.valid, error === null, name);
    if (error !== null) t.regex(mx.errors.join(), error);
  }
  const { mx } = await reportOn('order.test');
  t.deepEqual(mx.records, [
    { exchange: 'c.a.test', priority: 10 },
    { exchange: 'a.test', priority: 20 },
    { exchange: 'b.a.test', priority: 20 },
  ]);
});

test.serial('names of internal networks are not looked up', async (t) => {
  const asked: string[] = [];
  const watching: Resolver = {
    ...resolver,
    lookup: (name, type, options) => {
      asked.push(name);
      return resolver.lookup(name, type, options);
    },
  };
  using network = await networkWith(POLICY);
  const { mx, spf, dane } = await reportDomain('inside.test', watching, network.guard, soon());
  t.regex(mx.errors.join(), /mail\.corp has a name of an internal network/);
  t.false(spf.valid);
  t.deepEqual(spf.included, []);
  t.deepEqual(dane.hosts, [{ host: 'mail.corp', authenticated: false, records: [] }]);
  t.deepEqual(
    asked.filter((name) => !name.endsWith('.test') && !name.endsWith('_dmarc.test')),
    [],
  );
  t.is(await codeOf(() => tool.call({ host: MAIL_HOST, domain: 'db.internal' }, soon())), 'target_refused');
});

test.serial('MTA-STS: the policy is requested once, over valid TLS, without redirects', async (t) => {
  const name = 'both-ways.test';
  const fine = await reportOn(name);
  t.like(fine.mtaSts, { valid: true, policy: POLICY, id: '7', mode: 'enforce', maxAgeSeconds: 604_800 });
  t.deepEqual(fine.mtaSts.mx, ['a.test']);
  t.deepEqual(fine.dialled, ['93.184.215.14:443']);
  const moved = await reportOn(name, POLICY, 302, { location: 'https://mta-sts.both-ways.test/other' });
  t.is(moved.dialled.length, 1);
  t.regex(moved.mtaSts.errors.join(), /status 302/);
  const other = await reportOn(name, POLICY.replace('a.test', 'b.test'));
  t.regex(other.mtaSts.errors.join(), /does not name a\.test/);
  const typed = await reportOn(name, POLICY, 200, { 'content-type': 'text/html' });
  t.regex(typed.mtaSts.warnings.join(), /text\/plain/);
  const large = await reportOn(name, 'x'.repeat(100_000));
  t.regex(large.mtaSts.errors.join(), /larger than 64 KB/);
  using network = await stubNetwork({ certificate: await makeCertificate(['DNS:other.test']) });
  const { mtaSts } = await reportDomain(name, resolver, network.guard, soon());
  t.regex(mtaSts.errors.join(), /certificate/i);
  using refusing = await stubNetwork({
    certificate,
    resolve: () => ({ addresses: ['10.0.0.1'], chain: [] }),
  });
  const inside = await reportDomain(name, resolver, refusing.guard, soon());
  t.regex(inside.mtaSts.errors.join(), /not a public address/);
  t.deepEqual(refusing.dialled, []);
});

test.serial('DANE: only authenticated records count', async (t) => {
  const { dane } = await reportOn('both-ways.test');
  t.false(dane.valid);
  t.regex(dane.errors.join(), /not authenticated by DNSSEC/);
  const [host] = dane.hosts;
  t.like(host, { host: 'a.test', authenticated: false });
  t.deepEqual(host?.records.map(({ usage, usable }) => [usage, usable]).sort(), [
    [1, false],
    [2, false],
    [3, true],
  ]);
  t.is(host?.records.find(({ usage }) => usage === 3)?.association, '0123456789abcdef'.repeat(4));
  const server = await startValidating(named);
  t.teardown(() => server.close());
  using network = await networkWith(POLICY);
  const secure = createResolver({ servers: [server] });
  const report = await reportDomain('both-ways.test', secure, network.guard, soon());
  t.deepEqual(report.dane.errors, []);
  t.true(report.dane.hosts[0]?.authenticated);
  t.regex((await reportOn('order.test')).dane.errors.join(), /no TLSA record at _25\._tcp\.c\.a\.test/);
});

test.serial('a failing name server is part of the report', async (t) => {
  const report = await reportOn('failing.example');
  for (const part of ['mx', 'spf', 'dmarc', 'mtaSts', 'tlsRpt'] as const)
    t.regex(report[part].errors.join(), /could not be read: The DNS servers gave no usable answer/);
});

test.serial('the report is part of the result, and null by default', async (t) => {
  const mail = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] });
  t.teardown(() => mail.close());
  await once(mail.listen(2525, '127.0.0.25'), 'listening');
  const body = { host: MAIL_HOST, port: 2525, encryption: 'none' };
  const context = { ...soon(), egress: networkOf('127.0.0.25'), resolver };
  t.is((await tool.call(body, context)).domain, null);
  const { domain, steps } = await tool.call({ ...body, domain: 'Both-Ways.TEST.' }, context);
  if (!isRecord(domain)) return t.fail();
  t.is(domain.name, 'both-ways.test');
  t.true(isRecord(domain.spf) && domain.spf.valid === true);
  t.true(Array.isArray(steps) && steps.length > 0);
  t.deepEqual(await faultsOf(tool, { host: MAIL_HOST, domain: '192.0.2.1' }), [
    { pointer: '/domain', message: 'is an IP address; enter a domain name' },
  ]);
});
