import type { Guard } from '../../egress/guard.ts';
import type { LookupOptions } from '../../egress/resolver.ts';
import { readContentType } from '../html/contentType.ts';
import type { Dns } from './dns.ts';
import { covers, type MtaStsPolicy, readMtaStsPolicy } from './mtaStsPolicy.ts';
import { readFields } from './tags.ts';
import { type DomainReport, type Findings, newFindings, orError, verdictOf } from './verdict.ts';

/** "For example, 64 kilobytes" (RFC 8461 section 3.3). */
const POLICY_BYTES = 64 * 1024;
const NO_POLICY: MtaStsPolicy = { mode: null, maxAgeSeconds: null, mx: [] };

/** Whether a TXT record is an MTA-STS record (RFC 8461 section 3.1). */
const isMtaSts = (text: string): boolean => /^v=STSv1[ \t]*;/.test(text);

function readId(record: string, findings: Findings): string | null {
  const { errors, warnings } = findings;
  const [id = null, ...more] = readFields(record, 'id', findings);
  if (more.length > 0) warnings.push('The field id occurs more than once; only the first counts.');
  if (id === null || !/^[a-z0-9]{1,32}$/i.test(id))
    errors.push('The record has no `id` of 1 to 32 letters and digits.');
  return id;
}

/** Requests the policy. @throws ServiceError as `Guard.request` */
async function download(
  domain: string,
  egress: Guard,
  limits: LookupOptions,
  { errors, warnings }: Findings,
): Promise<string | null> {
  const url = `https://mta-sts.${domain}/.well-known/mta-sts.txt`;
  const target = egress.parseTarget(url, { kind: 'url', pointer: '/domain' });
  using response = await egress.request(target, { ...limits, maxBytes: POLICY_BYTES });
  if (response.status !== 200) {
    errors.push(`The policy at ${url} was answered with status ${response.status} instead of 200.`);
    return null;
  }
  if (readContentType(response.header('content-type')).essence !== 'text/plain')
    warnings.push('The policy should have the type text/plain.');
  return (await response.bytes()).toString('utf8');
}

/**
 * Checks MTA-STS of a domain (RFC 8461).
 *
 * @param servers mail servers of the domain
 */
export async function checkMtaSts(
  domain: string,
  servers: readonly string[],
  dns: Dns,
  egress: Guard,
  limits: LookupOptions,
): Promise<DomainReport['mtaSts']> {
  const findings = newFindings();
  const texts = await orError('The MTA-STS record', findings, dns.texts(`_mta-sts.${domain}`));
  const [record, ...more] = texts?.filter(isMtaSts) ?? [];
  if (texts !== null && record === undefined) findings.errors.push('There is no MTA-STS record.');
  if (more.length > 0)
    findings.errors.push('There is more than one MTA-STS record, so senders ignore all of them.');
  if (record === undefined || more.length > 0)
    return { record: null, id: null, policy: null, ...NO_POLICY, ...verdictOf(findings) };

  const id = readId(record, findings);
  const policy = await orError('The policy', findings, download(domain, egress, limits, findings));
  const read = policy === null ? NO_POLICY : readMtaStsPolicy(policy, findings);
  const missing =
    policy === null || read.mode === 'none' ? [] : servers.filter((host) => !covers(read.mx, host));
  if (read.mode === 'testing')
    findings.warnings.push('The mode is testing: senders report failures of TLS and deliver nevertheless.');
  for (const host of missing)
    if (read.mode === 'testing')
      findings.warnings.push(`The policy does not name ${host}: senders deliver to it, and report that.`);
    else findings.errors.push(`The policy does not name ${host}, so that senders do not deliver to it.`);
  return { record, id, policy, ...read, ...verdictOf(findings) };
}
