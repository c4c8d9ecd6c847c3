import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import { type default as definition, readQuery } from '../../schemas/tools/dns-lookup.ts';
import { lookupPublic, lookupPublicValidated } from '../dns/lookupPublic.ts';
import { presentRecord } from '../dns/presentRecord.ts';
import type { NetworkContext } from '../runtime/context.ts';

/** Looks up DNS records (RFC 1035) with this project's resolver, because Node's hides most TTLs and dangling aliases. */
export async function run(
  { hostname, recordType, dnssec }: ToolInput<typeof definition>,
  { resolver, signal, deadline }: Omit<NetworkContext, 'egress'>,
): Promise<ToolOutput<typeof definition>> {
  const host = readQuery(hostname, recordType);
  if (host.kind !== 'name') throw invalidInput([{ pointer: '/hostname', message: 'is not a domain name' }]);
  const limits = { signal, deadline };
  const { lookup, verdict } = dnssec
    ? await lookupPublicValidated(resolver, host.name, recordType, limits)
    : { lookup: await lookupPublic(resolver, host.name, recordType, limits), verdict: null };
  const { status, records, extendedErrors } = lookup;
  // That a name does not exist is a result if the proof is broken.
  if (status === 'nxdomain' && verdict?.status !== 'bogus')
    throw new ServiceError(
      'host_not_found',
      extendedErrors.length === 0
        ? {}
        : { detail: `The host name does not resolve: NXDOMAIN, ${extendedErrors.join(', ')}.` },
    );
  return {
    hostname: host.name,
    recordType,
    records: records.map(presentRecord),
    found: status === 'answer',
    dnssec: verdict?.status ?? null,
    dnssecBrokenLink: verdict?.status === 'bogus' ? verdict.link : null,
  };
}
