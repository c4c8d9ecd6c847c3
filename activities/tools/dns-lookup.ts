import type { DnsRecord } from '../../egress/dns/record.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { isInternalName, parseQueryName } from '../../schemas/formats/hostname.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/dns-lookup.ts';
import type { NetworkContext } from '../runtime/context.ts';

type Output = ToolOutput<typeof definition>;

/**
 * Decodes the character strings of a TXT record, whose encoding DNS does not declare: as UTF-8 if all of them together are
 * valid UTF-8, else as Latin-1, which maps every byte. A character that is split across two strings is put into the second.
 */
function decodeChunks(chunks: readonly Buffer[]): string[] {
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    return chunks.map((chunk, index) => utf8.decode(chunk, { stream: index < chunks.length - 1 }));
  } catch {
    return chunks.map((chunk) => chunk.toString('latin1'));
  }
}

function toOutput({ owner: _, type, ...record }: DnsRecord): Output['records'][number] {
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
  if (isInternalName(host.name)) throw new ServiceError('target_refused');
  const { status, records, chain } = await resolver.lookup(host.name, recordType, { signal, deadline });
  // Refuses aliases of internal names, which only the internal network should be able to resolve.
  if (chain.some(isInternalName)) throw new ServiceError('target_refused');
  if (status === 'nxdomain') throw new ServiceError('host_not_found');
  return { hostname: host.name, recordType, records: records.map(toOutput), found: status === 'answer' };
}
