import { createHash } from 'node:crypto';
import test from 'ava';
import { readKey } from '../../egress/dns/keys.ts';
import { queryTcp } from '../../egress/dns/transport.ts';
import { toWire } from '../../egress/dnssec/names.ts';
import { createNsec } from '../../egress/dnssec/nsec.ts';
import { createNsec3 } from '../../egress/dnssec/nsec3.ts';
import { createResolver, type Resolver } from '../../egress/resolver.ts';
import type { DnsServer } from '../../schemas/envValues.ts';
import { startDns } from '../helpers/dns.ts';
import { codeOf, never } from '../helpers/egress.ts';
import { type Named, startNamed } from '../helpers/named.ts';
import { type DelvVerdict, delv, type Signing, signZone } from '../helpers/signedZones.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('dns-lookup');

const START = '@ SOA ns root 1 7200 900 1209600 60\n@ NS ns\nns A 127.0.0.1\n';
const RECORDS = `
@ A 192.0.2.1
@ MX 10 Mail
@ TXT "first" "second"
@ CAA 0 issue "ca.example.net"
@ HTTPS 1 . alpn=h2
mail A 192.0.2.2
www CNAME @
away CNAME www.nsec3.test.
plainly CNAME www.plain.test.
*.wild TXT "by a wildcard"
d.wild TXT "beside a wildcard"
under.empty A 192.0.2.3
_25._tcp.mail TLSA 3 1 1 ${'ab'.repeat(32)}
old DNAME nsec3.test.
`;

interface TestZone extends Signing {
  /** Text of the zone after it was signed; null for one that is not signed. Default: as it was signed. */
  tamper?: (text: string) => string;
  unsigned?: boolean;
  /** DS records in the parent zone. Default: as they should be. @param key data of the key-signing key */
  delegate?: (ds: string, key: string) => string;
  records?: string;
}

/** The data of a DNSKEY record on the wire. */
function keyData(key: string): Buffer {
  const [flags, protocol, algorithm, ...base64] = key.split(/\s+/);
  return Buffer.concat([
    Buffer.from([Number(flags) >> 8, Number(flags) & 0xff, Number(protocol), Number(algorithm)]),
    Buffer.from(base64.join(''), 'base64'),
  ]);
}

/** The DS record of a key with a digest by SHA-1. */
function sha1Delegation(label: string, key: string): string {
  const data = keyData(key);
  const { keyTag, algorithm } = readKey(data);
  const digest = createHash('sha1')
    .update(toWire(`${label}.test`))
    .update(data)
    .digest('hex');
  return `${label} DS ${keyTag} ${algorithm} 1 ${digest}\n`;
}
const wrongDigest = (ds: string): string =>
  ds.replace(/[0-9A-F]{8}(?=\s*$)/m, (end) => (end === '00000000' ? '11111111' : '00000000'));

const ZONES: Record<string, TestZone> = {
  'nsec.test': {},
  'nsec3.test': { denial: 'nsec3' },
  'opt-out.test': { denial: 'opt-out', records: `${RECORDS}\nplain NS ns\n` },
  'rsa.test': { algorithm: 'RSASHA256', denial: 'nsec3' },
  'rsa512.test': { algorithm: 'RSASHA512' },
  'p384.test': { algorithm: 'ECDSAP384SHA384' },
  'ed25519.test': { algorithm: 'ED25519' },
  'plain.test': { unsigned: true, delegate: () => '' },
  'changed.test': { tamper: (text) => text.replaceAll('192.0.2.1', '192.0.2.99') },
  'expired.test': { start: '20200101000000', end: '20200201000000' },
  'future.test': { start: '20900101000000', end: '20900201000000' },
  'other-ds.test': { delegate: wrongDigest },
  'sha1-only.test': { delegate: (_, key) => sha1Delegation('sha1-only', key) },
  // A digest by SHA-1 is ignored beside another one (RFC 4509 section 3).
  'sha1-too.test': { delegate: (ds, key) => `${sha1Delegation('sha1-too', key)}${wrongDigest(ds)}` },
  'unknown-digest.test': { delegate: (ds) => ds.replace(/ 2 (?=[0-9A-F])/, ' 9 ') },
  'no-keys.test': { unsigned: true, delegate: () => `no-keys DS 1234 13 2 ${'AB'.repeat(32)}\n` },
  'unknown-algorithm.test': {
    unsigned: true,
    delegate: () => `unknown-algorithm DS 1234 253 2 ${'AB'.repeat(32)}\n`,
  },
  'unproven.test': { tamper: (text) => text.replace(/(\sNSEC\s+)away\./, '$1awax.') },
  'stripped.test': { tamper: (text) => text.replaceAll(/^.*\sRRSIG\s+(?:A|MX)\s+[^)]*\)\s*$/gm, '') },
};

const NAMES: Record<string, [name: string, type: string][]> = Object.fromEntries(
  Object.keys(ZONES).map((zone) => [
    zone,
    [
      [zone, 'A'],
      [zone, 'MX'],
      [zone, 'AAAA'],
      [`absent.${zone}`, 'A'],
    ],
  ]),
);
const MORE: [name: string, type: string][] = ['nsec', 'nsec3', 'opt-out', 'ed25519'].flatMap(
  (zone): [string, string][] => [
    [`${zone}.test`, 'TXT'],
    [`${zone}.test`, 'CAA'],
    [`${zone}.test`, 'HTTPS'],
    [`${zone}.test`, 'SOA'],
    [`${zone}.test`, 'NS'],
    [`${zone}.test`, 'DNSKEY'],
    [`${zone}.test`, 'DS'],
    [`www.${zone}.test`, 'A'],
    [`www.${zone}.test`, 'AAAA'],
    [`away.${zone}.test`, 'A'],
    [`plainly.${zone}.test`, 'A'],
    [`any.wild.${zone}.test`, 'TXT'],
    [`*.wild.${zone}.test`, 'TXT'],
    [`a.b.wild.${zone}.test`, 'TXT'],
    [`any.wild.${zone}.test`, 'A'],
    [`empty.${zone}.test`, 'A'],
    [`under.empty.${zone}.test`, 'A'],
    [`_25._tcp.mail.${zone}.test`, 'TLSA'],
    [`mail.old.${zone}.test`, 'A'],
    [`a.b.c.absent.${zone}.test`, 'A'],
    [`mail.${zone}.test`, 'DS'],
  ],
);

/**
 * With opt-out, the proof that a name exists only by a wildcard leaves unsigned names open, so that the answer is not authenticated (RFC
 * 5155 section 9.2). delv of BIND 9.18 follows that for records and not for their absence.
 */
const STRICTER = new Set(['any.wild.opt-out.test A']);

let named: Named;
let resolver: Resolver;
let rootKey: string;

/** A resolver that trusts the root of the test. */
function resolverOf(server: DnsServer): Resolver {
  const data = keyData(rootKey);
  const { keyTag, algorithm } = readKey(data);
  const digest = createHash('sha256').update(Buffer.of(0)).update(data).digest();
  return createResolver({ servers: [server], anchors: [{ keyTag, algorithm, digestType: 2, digest }] });
}

test.before(async () => {
  const texts: Record<string, string> = {};
  let delegations = '';
  await Promise.all(
    Object.entries(ZONES).map(async ([zone, { tamper, unsigned, delegate, records, ...signing }]) => {
      const plain = `${START}${records ?? RECORDS}`;
      const signed = await signZone(zone, plain, signing);
      texts[zone] = unsigned === true ? `$TTL 300\n${plain}` : (tamper?.(signed.text) ?? signed.text);
      const label = zone.replace('.test', '');
      delegations += `${label} NS ns.${zone}.\nns.${zone}. A 127.0.0.1\n${delegate?.(signed.ds, signed.key) ?? signed.ds}\n`;
    }),
  );
  texts['plain.opt-out.test'] = `$TTL 300\n${START}@ A 192.0.2.7`;
  const tld = await signZone('test', `${START}${delegations}`);
  const root = await signZone('.', `${START}test NS ns.test.\nns.test. A 127.0.0.1\n${tld.ds}`);
  rootKey = root.key;
  named = await startNamed({ ...texts, test: tld.text, '.': root.text }, []);
  resolver = resolverOf(named);
});
test.after.always(() => named?.close());

interface Found {
  status: DelvVerdict | 'absent';
  link: string | null;
}

/** Validates with the tool; `absent` for a name that does not exist, which is not bogus. */
async function ours(hostname: string, recordType: string, its = resolver): Promise<Found> {
  const call = () => tool.call({ hostname, recordType, dnssec: true }, { resolver: its });
  const code = await codeOf(call);
  if (code === 'host_not_found') return { status: 'absent', link: null };
  const { dnssec, dnssecBrokenLink: link } = await call();
  if (dnssec !== 'secure' && dnssec !== 'insecure' && dnssec !== 'bogus') throw new Error(String(dnssec));
  return { status: dnssec, link: link === null ? null : String(link) };
}

for (const [zone, queries] of Object.entries({ ...NAMES, more: MORE }))
  test.serial(`the verdict on answers is that of delv: ${zone}`, async (t) => {
    for (const [name, type] of queries) {
      const { status, link } = await ours(name, type);
      const theirs = await delv(named, rootKey, name, type);
      const label = `${name} ${type}: ${status} (${link}), delv: ${theirs}`;
      t.is(status === 'bogus', theirs === 'bogus', label);
      const expected = STRICTER.has(`${name} ${type}`) ? 'insecure' : theirs;
      if (status !== 'absent') t.is(status, expected, label);
    }
  });

test.serial('an unsigned zone below one with opt-out is insecure', async (t) => {
  t.is((await ours('plain.opt-out.test', 'A')).status, 'insecure');
});

const LINKS: [name: string, type: string, link: RegExp][] = [
  [
    'changed.test',
    'A',
    /^the A records of changed\.test: the signature of the key with the tag \d+ is wrong$/,
  ],
  ['expired.test', 'A', /expired\.test: the signature expired at 2020-02-01T00:00:00Z$/],
  ['future.test', 'A', /future\.test: the signature is valid only from 2090-01-01T00:00:00Z$/],
  ['other-ds.test', 'A', /^no DNSKEY record of other-ds\.test matches its DS records in test$/],
  ['no-keys.test', 'A', /^no-keys\.test has DS records and no DNSKEY records$/],
  [
    'absent.unproven.test',
    'A',
    /^unproven\.test proves neither DS records of absent\.unproven\.test nor that there are none$/,
  ],
  ['stripped.test', 'A', /^the A records of stripped\.test: they are not signed$/],
];
for (const [name, type, link] of LINKS)
  test.serial(`the broken link is named: ${name}`, async (t) => {
    t.regex((await ours(name, type)).link ?? '', link);
  });

test.serial('records are returned although they are bogus', async (t) => {
  const { records, found } = await tool.call(
    { hostname: 'changed.test', recordType: 'A', dnssec: true },
    { resolver },
  );
  t.deepEqual({ records, found }, { records: [{ address: '192.0.2.99', ttl: 300 }], found: true });
});

test.serial('without the trust anchor of the root, everything signed is bogus', async (t) => {
  const other = createResolver({ servers: [named] });
  const call = (hostname: string) => tool.call({ hostname, dnssec: true }, { resolver: other });
  t.like(await call('nsec.test'), {
    dnssec: 'bogus',
    dnssecBrokenLink: 'no DNSKEY record of the root is a trust anchor',
  });
});

test.serial('by default the answer is not validated', async (t) => {
  const output = await tool.call({ hostname: 'changed.test' }, { resolver });
  t.like(output, { found: true, dnssec: null, dnssecBrokenLink: null });
});

/**
 * Answers of named that a server on the way changes, so that all of their signatures stay valid: those to another name of the same
 * length, and the response code.
 */
const FORGED: [
  what: string,
  query: [name: string, type: string],
  instead: string,
  rcode: number,
  link: RegExp,
][] = [
  [
    'a wildcard is expanded below a name that exists',
    ['a.d.wild.nsec.test', 'TXT'],
    'eny.wild.nsec.test',
    0,
    /^nsec\.test does not prove that only a wildcard, \*\.wild\.nsec\.test, covers a\.d\.wild\.nsec\.test$/,
  ],
  [
    'a wildcard is expanded to another wildcard',
    ['*.d.wild.nsec.test', 'TXT'],
    'eny.wild.nsec.test',
    0,
    /^nsec\.test does not prove that only a wildcard, \*\.wild\.nsec\.test, covers \*\.d\.wild\.nsec\.test$/,
  ],
  [
    'a name is said not to exist beside its records',
    ['mail.nsec3.test', 'A'],
    'mail.nsec3.test',
    3,
    /^nsec3\.test does not prove that mail\.nsec3\.test does not exist$/,
  ],
];
for (const [what, [name, type], instead, rcode, link] of FORGED)
  test.serial(`a forged answer with valid signatures is bogus: ${what}`, async (t) => {
    const server = await startDns(async ({ bytes, question }) => {
      if (question.name.toLowerCase() !== name || question.type !== type)
        return queryTcp(named, bytes, never);
      const query = Buffer.from(bytes);
      toWire(instead).copy(query, 12);
      const response = await queryTcp(named, query, never);
      bytes.copy(response, 12, 12, 12 + toWire(name).length);
      response.writeUInt8(response.readUInt8(3) | rcode, 3);
      return response;
    });
    t.teardown(() => server.close());
    const found = await ours(name, type, resolverOf(server));
    t.is(found.status, 'bogus');
    t.regex(found.link ?? '', link);
    if (rcode === 0) t.is(await delv(server, rootKey, name, type), 'bogus');
  });

test('a dot within a label does not make a name the parent of another', (t) => {
  const types = new Set([1]);
  const denials = createNsec([{ owner: 'a.test', next: 'z\\.name.test', types }]);
  t.is(denials.absent('name.test', 1), null, 'a wildcard may cover it');
  t.is(createNsec([{ owner: 'a.test', next: 'z.name.test', types }]).absent('name.test', 1), 'proven');
});

test('NSEC3 records of another chain prove nothing', (t) => {
  const [salt, other] = [Buffer.from('ab12', 'hex'), Buffer.from('cd34', 'hex')];
  const common = { optOut: false, iterations: 0, types: new Set([1, 2, 6]) };
  const apex = createHash('sha1').update(toWire('test')).update(salt).digest();
  // All hashes but one lie between its ends.
  const everything = { ...common, hash: Buffer.alloc(20), next: Buffer.alloc(20, 0xff) };
  // Matches the zone itself, and covers nothing.
  const own = {
    ...common,
    salt,
    hash: apex,
    next: Buffer.from(apex.map((byte, at) => (at === 19 ? byte + 1 : byte))),
  };
  t.is(createNsec3([own, { ...everything, salt }]).nonexistent('a.test'), 'proven');
  t.is(createNsec3([own, { ...everything, salt: other }]).nonexistent('a.test'), null);
  t.is(createNsec3([own, { ...everything, salt, iterations: 1 }]).nonexistent('a.test'), null);
});
