import type { Dns } from './dns.ts';
import { isUri } from './reportUris.ts';
import { readFields, trimSpaces } from './tags.ts';
import { type DomainReport, newFindings, orError, verdictOf } from './verdict.ts';

/** Whether a TXT record is a TLS-RPT record (RFC 8460 section 3). */
const isTlsRpt = (text: string): boolean => /^v=TLSRPTv1[ \t]*;/.test(text);
const isReportUri = (uri: string): boolean => /^(?:mailto|https):/i.test(uri) && isUri(uri);

/** Checks TLS-RPT of a domain (RFC 8460). */
export async function checkTlsRpt(domain: string, dns: Dns): Promise<DomainReport['tlsRpt']> {
  const findings = newFindings();
  const { errors } = findings;
  const texts = await orError('The TLS-RPT record', findings, dns.texts(`_smtp._tls.${domain}`));
  const [record, ...more] = texts?.filter(isTlsRpt) ?? [];
  if (texts !== null && record === undefined) errors.push('There is no TLS-RPT record.');
  if (more.length > 0) errors.push('There is more than one TLS-RPT record, so senders ignore all of them.');
  if (record === undefined || more.length > 0) return { record: null, reports: [], ...verdictOf(findings) };

  // Each field may name further receivers: the RFC does not limit how often it occurs.
  const reports = readFields(record, 'rua', findings).flatMap((uris) => uris.split(',').map(trimSpaces));
  if (reports.length === 0) errors.push('The record names no URI for reports (`rua`).');
  for (const uri of reports)
    if (!isReportUri(uri)) errors.push(`\`${uri}\` is not a mailto or https URI for reports.`);
  return { record, reports, ...verdictOf(findings) };
}
