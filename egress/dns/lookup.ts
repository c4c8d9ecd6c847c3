import { ServiceError } from '../../schemas/errors.ts';
import { RCODE, type Reply } from './message.ts';
import type { DnsRecord, RecordType } from './record.ts';

/** What is known about the records of one type under one name. */
export interface Lookup {
  /** `no_data`: the name exists, but has no record of the type, or is an alias of a name that has none. */
  status: 'answer' | 'no_data' | 'nxdomain';
  /** Records of the type that was asked for, in the server's order. */
  records: DnsRecord[];
  /** The names that the name is an alias of, in order; empty when it is none. */
  chain: string[];
  /** Seconds for which this may be repeated; 0 when it may not. */
  ttl: number;
}

/** As many aliases in a row as BIND follows. */
const MAX_ALIASES = 16;

/** Seconds a negative answer holds; without a SOA record it must not be kept (RFC 2308 section 5). */
function negativeTtl(reply: Reply): number {
  const soa = reply.authorities.find((record) => record.type === 'SOA');
  return soa === undefined ? 0 : Math.min(soa.ttl, soa.minimum);
}

/**
 * Reads the answer from a reply: aliases are followed by name, and records of other names are ignored.
 *
 * @throws ServiceError `target_failed` when the aliases run in a circle or do not end
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
      // The code speaks of the last name of the chain (RFC 6604 section 3).
      const status = reply.rcode === RCODE.NXDOMAIN ? 'nxdomain' : 'no_data';
      return { status, records: [], chain, ttl: Math.min(ttl, negativeTtl(reply)) };
    }
    owner = alias.value;
    ttl = Math.min(ttl, alias.ttl);
    chain.push(owner);
  }
  throw new ServiceError('target_failed', { detail: 'The name is an alias that leads to no end.' });
}

/** The same, so many seconds later. */
export const aged = (lookup: Lookup, seconds: number): Lookup => ({
  ...lookup,
  ttl: lookup.ttl - seconds,
  records: lookup.records.map((record) => ({ ...record, ttl: record.ttl - seconds })),
});
