import { ServiceError } from '../../schemas/errors.ts';
import { explainError } from './extendedErrors.ts';
import { RCODE, type Reply } from './message.ts';
import type { DnsRecord, RecordType } from './record.ts';

export interface Lookup {
  /** `no_data`: the name, or the name that it is an alias of, exists but has no record of the requested type. */
  status: 'answer' | 'no_data' | 'nxdomain';
  /** Records of the requested type, in the order of the DNS reply. */
  records: DnsRecord[];
  /** The chain of CNAME targets, in order; empty when the name is not an alias. */
  chain: string[];
  /** Whether the name server says that it validated the answer by DNSSEC. */
  authenticated: boolean;
  /** Seconds for which the result may be cached; 0 when it must not be cached. */
  ttl: number;
  /** Extended errors of the name server in words. With some, it denies a name that may exist, such as `Blocked`. */
  extendedErrors: readonly string[];
}

/** Maximum length of a CNAME chain; BIND has the same limit. */
const MAX_ALIASES = 16;

/** Seconds for which a negative answer may be cached; 0 without an SOA record (RFC 2308 section 5). */
function negativeTtl(reply: Reply): number {
  const soa = reply.authorities.find((record) => record.type === 'SOA');
  return soa === undefined ? 0 : Math.min(soa.ttl, soa.minimum);
}

/**
 * Finds the records of a name in a DNS reply. Follows CNAME records from the name, and ignores records of unrelated names.
 *
 * @throws ServiceError `target_failed` when the CNAME chain has a loop or is too long
 */
export function readLookup(reply: Reply, name: string, type: RecordType): Lookup {
  const chain: string[] = [];
  const { authenticated } = reply;
  const extendedErrors = reply.extendedErrors.map(explainError);
  let owner = name;
  let ttl = Number.POSITIVE_INFINITY;
  while (chain.length <= MAX_ALIASES) {
    const own: DnsRecord[] = reply.answers.filter((record) => record.owner === owner);
    const records = own.filter((record) => record.type === type);
    if (records.length > 0 && reply.rcode === RCODE.NOERROR)
      return {
        status: 'answer',
        records,
        chain,
        authenticated,
        extendedErrors,
        ttl: Math.min(ttl, ...records.map((record) => record.ttl)),
      };
    const alias = own.find((record) => record.type === 'CNAME');
    if (alias === undefined) {
      // The response code applies to the last name of the CNAME chain (RFC 6604 section 3).
      const status = reply.rcode === RCODE.NXDOMAIN ? 'nxdomain' : 'no_data';
      return {
        status,
        records: [],
        chain,
        authenticated,
        extendedErrors,
        ttl: Math.min(ttl, negativeTtl(reply)),
      };
    }
    owner = alias.value;
    ttl = Math.min(ttl, alias.ttl);
    chain.push(owner);
  }
  throw new ServiceError('target_failed', {
    detail: `The CNAME chain of this name has a loop or more than ${MAX_ALIASES} names.`,
  });
}

/** Reduces the TTLs of a cached lookup by its time in the cache, in seconds. */
export const aged = (lookup: Lookup, seconds: number): Lookup => ({
  ...lookup,
  ttl: lookup.ttl - seconds,
  records: lookup.records.map((record) => ({ ...record, ttl: record.ttl - seconds })),
});
