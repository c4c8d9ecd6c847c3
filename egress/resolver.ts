import type { DnsServer } from '../schemas/envValues.ts';
import { ServiceError } from '../schemas/errors.ts';
import { startClock } from './clock.ts';
import { ask, UnusableReply } from './dns/ask.ts';
import { createCache } from './dns/cache.ts';
import { createInFlight } from './dns/inFlight.ts';
import { aged, type Lookup, readLookup } from './dns/lookup.ts';
import { RCODE, type Reply } from './dns/message.ts';
import { type RecordType, TYPE_CODES } from './dns/record.ts';
import { systemServers } from './dns/servers.ts';
import { ROOT_ANCHORS } from './dnssec/anchors.ts';
import { type RawReply, readRawRecords } from './dnssec/records.ts';
import { type TrustAnchor, type Verdict, validate } from './dnssec/validate.ts';

/** Timeout in milliseconds of one query to one DNS server, including the retry over TCP. */
const TRY_MS = 2_500;
/** Failed queries after which a lookup fails. With more DNS servers, each is queried once, but in no more time in total. */
const TRIES = 2;
/** Maximum time for which a DNS lookup is cached, in seconds. */
const MAX_TTL = 300;

export interface LookupOptions {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
}

/** All addresses of a host name, and the names that it is an alias of (CNAME). The guard vets both before it connects. */
export interface HostAddresses {
  addresses: string[];
  chain: string[];
}

/** Queries the configured DNS servers. The machine's search list and hosts file are not used. */
export interface Resolver {
  /**
   * Looks up the records of one type.
   *
   * @param name lower-case A-labels without a trailing dot, as `parseHost` returns them
   * @throws ServiceError `target_failed` when no server gives a usable answer, `target_timeout` when none answers by
   *   the deadline or within 5 s, `deadline_exceeded` when the deadline has already passed; the signal's reason when it
   *   is aborted
   */
  lookup(name: string, type: RecordType, options: LookupOptions): Promise<Lookup>;
  /**
   * Looks up the records of one type, although they may be bogus, and validates them by DNSSEC.
   *
   * @throws ServiceError as `lookup`
   */
  lookupValidated(
    name: string,
    type: RecordType,
    options: LookupOptions,
  ): Promise<{ lookup: Lookup; verdict: Verdict }>;
  /**
   * Looks up the A and AAAA records of a name in parallel.
   *
   * @throws ServiceError as `lookup`, and `host_not_found` when the name has no address
   */
  addresses(name: string, options: LookupOptions): Promise<HostAddresses>;
}

interface ResolverOptions {
  /** DNS servers to query; null for those of /etc/resolv.conf. */
  servers: DnsServer[] | null;
  /** Size limit of the cache, in characters of JSON. Default 8 million. */
  cacheSize?: number;
  /** Trusted keys of the root zone. Default: those that IANA publishes. */
  anchors?: readonly TrustAnchor[];
  /** Monotonic clock of the cache, in milliseconds. Default: `performance.now`. */
  now?: () => number;
}

const unanswered = (cause?: unknown): ServiceError =>
  new ServiceError('target_timeout', { detail: 'The DNS servers did not answer in time.', cause });

const unusable = (cause: unknown): ServiceError =>
  new ServiceError('target_failed', {
    detail: `The DNS servers gave no usable answer for this name${cause instanceof UnusableReply ? `: ${cause.message}` : ''}.`,
    cause,
  });

/** Runs work until the deadline. @throws ServiceError `target_timeout`; `deadline_exceeded` if no time is left */
async function until<T>(
  deadline: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using clock = startClock({ signal, deadline });
  try {
    return await work(clock.signal);
  } catch (error) {
    throw clock.explain(error);
  }
}

/** Creates a resolver with its own cache. It keeps no socket or timer open between lookups. */
export function createResolver(options: ResolverOptions): Resolver {
  const servers = options.servers ?? systemServers();
  const anchors = options.anchors ?? ROOT_ANCHORS;
  const now = options.now ?? (() => performance.now());
  const cache = createCache<Lookup>(options.cacheSize ?? 8_000_000, now);
  const inFlight = createInFlight<Lookup>();
  // Index of the DNS server that answered last. It is tried first, so that a dead server costs its timeout only once.
  let first = 0;

  async function askInTurn(name: string, type: number, signal: AbortSignal, signed = false): Promise<Reply> {
    const end = Date.now() + TRIES * TRY_MS;
    const start = first;
    let failure: unknown;
    for (let index = 0; index < Math.max(TRIES, servers.length); index++) {
      const position = (start + index) % servers.length;
      const server = servers[position];
      if (server === undefined || Date.now() >= end) break;
      try {
        const reply = await until(Math.min(Date.now() + TRY_MS, end), signal, (limit) =>
          ask(server, name, type, limit, signed),
        );
        first = position;
        return reply;
      } catch (error) {
        signal.throwIfAborted();
        // A server's error reply says more about the name than another server's timeout, so only the reply is reported.
        if (!(error instanceof ServiceError)) failure = error;
      }
    }
    throw failure === undefined ? unanswered() : unusable(failure);
  }

  async function lookup(
    name: string,
    type: RecordType,
    { signal, deadline }: LookupOptions,
  ): Promise<Lookup> {
    const key = `${type} ${name}`;
    const cached = cache.get(key);
    if (cached !== undefined) return aged(cached.value, Math.floor(cached.ageMs / 1000));
    try {
      return await until(deadline, signal, (limit) =>
        inFlight.join(key, limit, async (abandoned) => {
          const found = readLookup(await askInTurn(name, TYPE_CODES[type], abandoned), name, type);
          cache.set(key, found, Math.min(found.ttl, MAX_TTL) * 1000);
          return found;
        }),
      );
    } catch (error) {
      throw error instanceof ServiceError && error.code === 'target_timeout' ? unanswered(error) : error;
    }
  }

  async function lookupValidated(
    name: string,
    type: RecordType,
    { signal, deadline }: LookupOptions,
  ): Promise<{ lookup: Lookup; verdict: Verdict }> {
    const query = async (owner: string, code: number, limit: AbortSignal): Promise<Reply> => {
      if (owner.includes('\\'))
        throw new ServiceError('target_failed', {
          detail: 'The name is an alias of a name with special characters, which cannot be validated.',
        });
      return askInTurn(owner, code, limit, true);
    };
    const signed = ({ rcode, message }: Reply): RawReply => ({
      nxdomain: rcode === RCODE.NXDOMAIN,
      ...readRawRecords(message),
    });
    const work = until(deadline, signal, async (limit) => {
      const first = await query(name, TYPE_CODES[type], limit);
      const found = readLookup(first, name, type);
      const verdict = await validate(
        // The records that are returned are those that are validated.
        async (owner, code) =>
          signed(owner === name && code === TYPE_CODES[type] ? first : await query(owner, code, limit)),
        name,
        TYPE_CODES[type],
        anchors,
        Math.floor(Date.now() / 1000),
      );
      return { lookup: found, verdict };
    });
    return work.catch((error: unknown) => {
      signal.throwIfAborted();
      throw error instanceof ServiceError ? error : unusable(error);
    });
  }

  async function addresses(name: string, options: LookupOptions): Promise<HostAddresses> {
    const settled = await Promise.allSettled([lookup(name, 'A', options), lookup(name, 'AAAA', options)]);
    const found = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const all = found.flatMap(({ records }) =>
      records.flatMap((record) => ('address' in record ? [record.address] : [])),
    );
    if (all.length > 0) return { addresses: all, chain: [...new Set(found.flatMap(({ chain }) => chain))] };
    const failed = settled.find((result) => result.status === 'rejected');
    throw failed === undefined ? new ServiceError('host_not_found') : failed.reason;
  }

  return { lookup, lookupValidated, addresses };
}
