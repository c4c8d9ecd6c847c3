import type { DnsRecord } from '../../egress/dns/record.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { parseQueryName } from '../../schemas/formats/hostname.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/dns-lookup.ts';
import { decodeChunks } from '../dns/decodeChunks.ts';
import { lookupPublic } from '../dns/lookupPublic.ts';
import type { NetworkContext } from '../runtime/context.ts';

type Output = ToolOutput<typeof definition>;

type OfferedRecord = Exclude<DnsRecord, { type: 'TLSA' }>;

function toOutput({ owner: _, type, ...record }: OfferedRecord): Output['records'][number] {
  if ('chunks' in record) {
    const chunks = decodeChunks(record.chunks);
    return { text: chunks.join(''), chunks, ttl: record.ttl };
  }
  return record;
}

/** Looks up DNS records (RFC 1035) with this project's resolver, because Node's hides most TTLs and dangling aliases. */
export async function run(
  { hostname, recordType }: ToolInput<typeof definition>,
  { resolver, signal, deadline }: Omit<NetworkContext, 'egress'>,
): Promise<Output> {
  const host = parseQueryName(hostname);
  if (host.kind !== 'name') throw invalidInput([{ pointer: '/hostname', message: 'is not a domain name' }]);
  const { status, records } = await lookupPublic(resolver, host.name, recordType, { signal, deadline });
  if (status === 'nxdomain') throw new ServiceError('host_not_found');
  const offered = records.filter((record) => record.type !== 'TLSA');
  return { hostname: host.name, recordType, records: offered.map(toOutput), found: status === 'answer' };
}
