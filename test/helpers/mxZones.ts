import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { MailCase } from './mailZones.ts';

type Row = [zone: string[], valid: boolean, more?: { peer: boolean }];

const ADDRESS = '@ A 192.0.2.1';

const mx: Row[] = [
  [['@ MX 10 a.test.'], true],
  [['@ MX 20 m1.a.test.', '@ MX 10 m2.a.test.', '@ MX 10 m0.a.test.'], true],
  [['@ MX 10 a.test.', '@ MX 20 a.test.'], true],
  [['@ MX 10 six', 'six AAAA 2001:db8::1'], true],
  [[ADDRESS], true],
  [['@ MX 0 .'], true],
  [['@ MX 10 .'], false],
  [['@ MX 0 .', '@ MX 10 a.test.'], false],
  [['@ MX 10 alias', 'alias CNAME a.test.'], false],
  [['@ MX 10 absent'], false],
  [['@ MX 10 empty', 'empty TXT "no address"'], false],
  [['@ MX 10 a.test.', '@ MX 20 absent'], false],
  [['@ MX 10 192.0.2.1.'], false],
  [['@ MX 10 under_score.a.test.'], false],
  [['@ MX 10 -dash.a.test.'], false],
  // Such a domain cannot receive mail (RFC 5321 section 5.1). checkdmarc does not look for the address.
  [['@ TXT "no address"'], false, { peer: true }],
];

/** Domains with MX records, and whether these are valid. */
export const MX_CASES: readonly MailCase[] = mx.map(([zone, valid, more = {}], at) => ({
  name: `mx${at}.test`,
  zone,
  valid,
  ...more,
}));

const [SHA256, SHA512] = ['ab'.repeat(32), 'cd'.repeat(64)];

// The DNS library of checkdmarc cannot read digests of another length than their type has.
const tlsa: readonly string[][] = [
  [`3 1 1 ${SHA256}`],
  [`2 0 1 ${SHA256}`],
  [`3 1 2 ${SHA512}`],
  [`3 0 0 ${SHA256}`],
  [`3 1 1 ${SHA256}`, `2 1 1 ${SHA256}`],
  [`1 1 1 ${SHA256}`],
  [],
];

/** Zone with the mail servers whose TLSA records are compared. Each is the mail server of a domain of the same name. */
export const DANE_ZONE = 'dane.test';
/** TLSA records of each mail server. */
export const DANE_CASES: readonly { name: string; records: readonly string[] }[] = tlsa.map(
  (records, at) => ({ name: `h${at}.${DANE_ZONE}`, records }),
);

/** Returns the DANE zone in plain form. */
const daneZone = (): string =>
  [
    '$TTL 300',
    `$ORIGIN ${DANE_ZONE}.`,
    '@ SOA ns.test. root 1 7200 900 86400 60',
    '@ NS ns.test.',
    ...DANE_CASES.flatMap(({ name, records }) => [
      `${name}. A 192.0.2.2`,
      `${name}. MX 10 ${name}.`,
      ...records.map((record) => `_25._tcp.${name}. TLSA ${record}`),
    ]),
    '',
  ].join('\n');

/** Signs the DANE zone with new keys by the programs of BIND. @returns the signed zone */
export async function signDaneZone(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'signed-zone-'));
  const run = (program: string, ...args: string[]) =>
    promisify(execFile)(program, args, { cwd: folder, timeout: 60_000 });
  try {
    await writeFile(join(folder, 'zone'), daneZone());
    for (const flag of [['-f', 'KSK'], []])
      await run('dnssec-keygen', '-q', '-a', 'ECDSAP256SHA256', ...flag, DANE_ZONE);
    await run('dnssec-signzone', '-q', '-S', '-o', DANE_ZONE, '-f', 'signed', 'zone');
    return await readFile(join(folder, 'signed'), 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reverse zone of the addresses in the test zones, so that BIND does not look for another one. */
export const REVERSE_ZONE = {
  name: '2.0.192.in-addr.arpa',
  text: '$TTL 300\n@ SOA ns.test. root.test. 1 7200 900 86400 60\n@ NS ns.test.\n',
};
