import type { Lookup } from '../../egress/dns/lookup.ts';
import type { DnsRecord, RecordType } from '../../egress/dns/record.ts';
import type { LookupOptions, Resolver } from '../../egress/resolver.ts';
import { parseQueryName } from '../../schemas/formats/hostname.ts';
import { decodeChunks } from '../dns/decodeChunks.ts';
import { lookupPublic } from '../dns/lookupPublic.ts';

/** Looks up names that come from records, and that may not be valid host names. */
export interface Dns {
  /** A name that cannot exist has no records. @throws ServiceError as `lookupPublic` */
  lookup(name: string, type: RecordType): Promise<Lookup>;
  /** TXT records, their strings joined (RFC 7208 section 3.3). @throws as `lookup` */
  texts(name: string): Promise<string[]>;
  /** Whether the name has an A or AAAA record. @throws as `lookup` */
  hasAddress(name: string): Promise<boolean>;
  /** Whether the name exists in DNS, with any record or as a parent of names (RFC 8020). @throws as `lookup` */
  exists(name: string): Promise<boolean>;
}

const NOTHING: Lookup = {
  status: 'nxdomain',
  records: [],
  chain: [],
  authenticated: false,
  extendedErrors: [],
  ttl: 0,
};

const textOf = (record: DnsRecord): string[] =>
  record.type === 'TXT' ? [decodeChunks(record.chunks).join('')] : [];

export function createDns(resolver: Resolver, options: LookupOptions): Dns {
  const lookup: Dns['lookup'] = async (name, type) => {
    const parsed = parseQueryName(name);
    return parsed.kind === 'name' ? lookupPublic(resolver, parsed.name, type, options) : NOTHING;
  };
  return {
    lookup,
    texts: async (name) => (await lookup(name, 'TXT')).records.flatMap(textOf),
    exists: async (name) => {
      const { status, chain } = await lookup(name, 'MX');
      return status !== 'nxdomain' || chain.length > 0;
    },
    hasAddress: async (name) =>
      (await lookup(name, 'A')).status === 'answer' || (await lookup(name, 'AAAA')).status === 'answer',
  };
}
