import type { Lookup } from '../../egress/dns/lookup.ts';
import type { DnsRecord } from '../../egress/dns/record.ts';
import type { Dns } from './dns.ts';
import type { MxFindings } from './mx.ts';
import { type DomainReport, newFindings, orError, verdictOf } from './verdict.ts';

type TlsaRecord = DomainReport['dane']['hosts'][number]['records'][number];

/** Bytes of the digests of RFC 6698 section 2.1.3, by matching type. */
const DIGEST_BYTES: Readonly<Record<number, number>> = { 1: 32, 2: 64 };

/** Whether senders of mail can use the record (RFC 7672 section 3.1). */
function isUsable({ usage, selector, matchingType, association }: Omit<TlsaRecord, 'usable'>): boolean {
  const bytes = association.length / 2;
  const digest = DIGEST_BYTES[matchingType];
  const fits = matchingType === 0 ? bytes > 0 : digest !== undefined && bytes === digest;
  return (usage === 2 || usage === 3) && selector <= 1 && fits;
}

function readTlsa(record: DnsRecord): TlsaRecord[] {
  if (record.type !== 'TLSA') return [];
  const { usage, selector, matchingType } = record;
  const fields = { usage, selector, matchingType, association: record.association.toString('hex') };
  return [{ ...fields, usable: isUsable(fields) }];
}

/**
 * Looks up the TLSA records of a mail server. If it is an alias, those of the name with its addresses come first (RFC 7672 section
 * 2.2.3).
 *
 * @throws ServiceError as `Dns.lookup`, for the TLSA records
 */
async function findTlsa(host: string, dns: Dns): Promise<{ name: string; found: Lookup }> {
  const own = `_25._tcp.${host}`;
  const addresses = await orError(`The addresses of ${host}`, newFindings(), dns.lookup(host, 'A'));
  const end = addresses?.authenticated === true ? addresses.chain.at(-1) : undefined;
  if (end !== undefined) {
    const name = `_25._tcp.${end}`;
    const found = await dns.lookup(name, 'TLSA');
    if (found.authenticated && found.records.length > 0) return { name, found };
  }
  return { name: own, found: await dns.lookup(own, 'TLSA') };
}

/**
 * Checks the TLSA records of the mail servers (RFC 7672).
 *
 * @param mail the mail servers of the domain, or the domain itself without MX records. If the MX records are not
 *   authenticated, senders do not use DANE (section 2.2)
 */
export async function checkDane(
  { servers, isKnown, authenticated: mxAuthenticated }: MxFindings,
  dns: Dns,
): Promise<DomainReport['dane']> {
  const findings = newFindings();
  const { errors } = findings;
  if (!isKnown) {
    errors.push('DANE was not checked, because the MX records could not be read.');
    return { hosts: [], ...verdictOf(findings) };
  }
  const hosts = await Promise.all(
    servers.map(async (host) => {
      const tlsa = await orError(`The TLSA records of ${host}`, findings, findTlsa(host, dns));
      const name = tlsa?.name ?? `_25._tcp.${host}`;
      const records = tlsa?.found.records.flatMap(readTlsa) ?? [];
      const authenticated = tlsa?.found.authenticated ?? false;
      if (tlsa !== null && records.length === 0) errors.push(`There is no TLSA record at ${name}.`);
      if (records.length > 0 && !records.some(({ usable }) => usable))
        errors.push(`No TLSA record at ${name} is usable for mail.`);
      if (records.length > 0 && !authenticated)
        errors.push(
          `The TLSA records at ${name} are not authenticated by DNSSEC, so that senders ignore them.`,
        );
      for (const { usage, usable } of records)
        if (!usable)
          findings.warnings.push(`A TLSA record at ${name}, of usage ${usage}, is ignored by senders.`);
      return { host, authenticated, records };
    }),
  );
  if (servers.length === 0) errors.push('There is no mail server.');
  if (!mxAuthenticated && hosts.some(({ records }) => records.length > 0))
    errors.push('The MX records are not authenticated by DNSSEC, so that senders do not use DANE.');
  return { hosts, ...verdictOf(findings) };
}
