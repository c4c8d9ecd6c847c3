import { isInternalName, parseHost } from '../../schemas/formats/hostname.ts';
import type { Dns } from './dns.ts';
import { type DomainReport, type Findings, newFindings, orError, verdictOf } from './verdict.ts';

/** Maximum number of mail servers that are looked up. */
const MAX_SERVERS = 10;

/** Label of a host name: letters, digits, and hyphens between them (RFC 5321 section 2.3.5). */
const LABEL = /^(?!-)[a-z0-9-]+(?<!-)$/;

export interface MxFindings {
  report: DomainReport['mx'];
  /** Mail servers; the domain itself without MX records (RFC 5321 section 5.1); none if it accepts no mail. */
  servers: string[];
  /** Whether the look-ups that find the servers succeeded. */
  isKnown: boolean;
  /** Whether the answer is authenticated by DNSSEC. */
  authenticated: boolean;
}

async function checkServer(exchange: string, dns: Dns, findings: Findings): Promise<void> {
  const { errors } = findings;
  const host = parseHost(exchange);
  if (host.kind === 'address')
    return void errors.push(`The mail server ${exchange} is an address, not a name.`);
  if (host.kind === 'invalid')
    return void errors.push(`The mail server ${exchange} is not a valid host name.`);
  if (isInternalName(host.name))
    return void errors.push(`The mail server ${exchange} has a name of an internal network.`);
  if (!host.name.split('.').every((label) => LABEL.test(label)))
    errors.push(`The name of the mail server ${exchange} is not that of a host (RFC 5321 section 2.3.5).`);
  const what = `The addresses of ${exchange}`;
  const alias = await orError(what, findings, dns.lookup(host.name, 'A'));
  if (alias === null) return;
  if (alias.chain.length > 0) errors.push(`The mail server ${exchange} is an alias (RFC 5321 section 5.1).`);
  if ((await orError(what, findings, dns.hasAddress(host.name))) === false)
    errors.push(`The mail server ${exchange} has no address.`);
}

/** Checks the MX records of a domain and the addresses of its mail servers. */
export async function checkMx(domain: string, dns: Dns): Promise<MxFindings> {
  const findings = newFindings();
  const { errors, warnings } = findings;
  const found = await orError('The MX records', findings, dns.lookup(domain, 'MX'));
  const authenticated = found?.authenticated ?? false;
  const records = (found?.records ?? [])
    .flatMap((record) =>
      record.type === 'MX' ? [{ exchange: record.exchange, priority: record.priority }] : [],
    )
    .sort((a, b) => a.priority - b.priority || (a.exchange < b.exchange ? -1 : 1));
  if (found === null)
    return { report: { records, ...verdictOf(findings) }, servers: [], isKnown: false, authenticated };
  if (records.length === 0) {
    const own = await orError('The addresses of the domain', findings, dns.hasAddress(domain));
    const accepts = own === true;
    if (accepts) warnings.push('There are no MX records, so that mail is delivered to the domain itself.');
    else if (own === false) errors.push('There are no MX records, and the domain has no address.');
    return {
      report: { records, ...verdictOf(findings) },
      servers: accepts ? [domain] : [],
      isKnown: own !== null,
      authenticated,
    };
  }
  const names = [...new Set(records.map(({ exchange }) => exchange))];
  const servers = names.filter((name) => name !== '.');
  if (records.some(({ exchange, priority }) => exchange === '.' && priority !== 0))
    errors.push('`.`, which says that the domain accepts no mail, must have the priority 0 (RFC 7505).');
  if (servers.length === 0) warnings.push('The domain accepts no mail (RFC 7505).');
  else if (servers.length < names.length)
    errors.push('`.`, which says that the domain accepts no mail, must be the only MX record (RFC 7505).');
  if (servers.length > MAX_SERVERS)
    warnings.push(`Only ${MAX_SERVERS} of the ${servers.length} mail servers are checked.`);
  const checked = servers.slice(0, MAX_SERVERS);
  await Promise.all(checked.map((exchange) => checkServer(exchange, dns, findings)));
  return { report: { records, ...verdictOf(findings) }, servers: checked, isKnown: true, authenticated };
}
