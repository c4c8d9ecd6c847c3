import { ServiceError } from '../../schemas/errors.ts';
import { RCODE, type Reply } from './message.ts';
import type { DnsRecord, RecordType } from './record.ts';

/** The answer for one name and record type. */
export interface Lookup {
  /** `no_data`: the name exists but has no record of the type, or is an alias of such a name. */
  status: 'answer' | 'no_data' | 'nxdomain';
  /** Records of the type that was asked for, in the server's order. */
  records: DnsRecord[];
  /** The chain of CNAME targets, in order; empty when the name is not an alias. */
  chain: string[];
  /** Seconds for which the answer may be cached; 0 when it may not be. */
  ttl: number;
}

/** Longest CNAME chain; BIND's limit. */
const MAX_ALIASES = 16;

/** Lifetime of a negative answer in seconds; without a SOA record it must not be cached (RFC 2308 section 5). */
function negativeTtl(reply: Reply): number {
  const soa = reply.authorities.find((record) => record.type === 'SOA');
  return soa === undefined ? 0 : Math.min(soa.ttl, soa.minimum);
}

/**
 * Reads the answer from a reply: follows aliases by name and ignores records of other names.
 *
 * @throws ServiceError `target_failed` when the chain of aliases has a loop or is too long
 */
export function readLookup(reply: Reply, name: string, type: RecordType): Lookup {
  const chain: string[] = [];
  let owner = name;
  let ttl = Number.POSITIVE_INFINITY;
  while (chain.length <= MAX_ALIASES) {
    const own: DnsRecord[] = reply.answers.filter((record) => record.owner === owner);
    const records = own.filter((record) => record.type === type);
    if (records.length > 0 && reply.rcode === RCODE.NOERROR)
      return { status: 'answer', records, chain, ttl: Math.min(ttl, ...records.map((record) => record.ttl)) };
    const alias = own.find((record) => record.type === 'CNAME');
    if (alias === undefined) {
      // The response code applies to the last name of the chain (RFC 6604 section 3).
      const status = reply.rcode === RCODE.NXDOMAIN ? 'nxdomain' : 'no_data';
      return { status, records: [], chain, ttl: Math.min(ttl, negativeTtl(reply)) };
    }
    owner = alias.value;
    ttl = Math.min(ttl, alias.ttl);
    chain.push(owner);
  }
  throw new ServiceError('target_failed', { detail: 'The name is an alias that leads to no end.' });
}

/** The answer with its TTLs reduced by its age in seconds. */
export const aged = (lookup: Lookup, seconds: number): Lookup => ({
  ...lookup,
  ttl: lookup.ttl - seconds,
  records: lookup.records.map((record) => ({ ...record, ttl: record.ttl - seconds })),
});
