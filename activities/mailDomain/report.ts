import type { Guard } from '../../egress/guard.ts';
import type { LookupOptions, Resolver } from '../../egress/resolver.ts';
import { checkDane } from './dane.ts';
import { checkDmarc } from './dmarc.ts';
import { createDns } from './dns.ts';
import { checkMtaSts } from './mtaSts.ts';
import { checkMx } from './mx.ts';
import { checkSpf } from './spf.ts';
import { checkTlsRpt } from './tlsRpt.ts';
import type { DomainReport } from './verdict.ts';

/**
 * Reports what a domain publishes about its mail. Failures of its name servers and of the server of its policy are part of
 * the report.
 *
 * @param name as `parseHost` returns it
 * @param limits time for everything
 * @throws ServiceError deadline_exceeded; the signal's reason
 */
export async function reportDomain(
  name: string,
  resolver: Resolver,
  egress: Guard,
  limits: LookupOptions,
): Promise<DomainReport> {
  const dns = createDns(resolver, limits);
  const mail = checkMx(name, dns);
  const [mx, spf, dmarc, mtaSts, tlsRpt, dane] = await Promise.all([
    mail.then(({ report }) => report),
    checkSpf(name, dns),
    checkDmarc(name, dns),
    mail.then(({ servers }) => checkMtaSts(name, servers, dns, egress, limits)),
    checkTlsRpt(name, dns),
    mail.then((found) => checkDane(found, dns)),
  ]);
  return { name, mx, spf, dmarc, mtaSts, tlsRpt, dane };
}
