import { ServiceError } from '../../schemas/errors.ts';
import { type DelegationData, readDelegation } from '../dns/keys.ts';
import { type Denials, readDenials } from './denial.ts';
import { countLabels, isWithin, parentOf, splitName, suffixOf } from './names.ts';
import { type RawReply, type RecordSet, TYPE, targetOf, toSets } from './records.ts';
import {
  type Effort,
  isSupported,
  matchesDelegation,
  verifySet,
  type ZoneKey,
  zoneKeysOf,
} from './verify.ts';

/** Looks up records with their signatures, although they may be bogus. @param type code of the type */
export type QuerySigned = (name: string, type: number) => Promise<RawReply>;

/** A trusted key of the root zone, as its DS record. */
export type TrustAnchor = DelegationData;

/** `insecure`: a zone on the way from the root is not signed. `bogus`: a link of the chain of trust is broken. */
export type Verdict = { status: 'secure' | 'insecure' } | { status: 'bogus'; link: string };

/** A zone whose keys are validated; `keys` is null for one that is not signed. */
interface Zone {
  name: string;
  keys: readonly ZoneKey[] | null;
}

class BrokenLink extends Error {
  override readonly name = 'BrokenLink';
}

const NAMES: Readonly<Record<number, string>> = {
  1: 'A',
  12: 'PTR',
  15: 'MX',
  16: 'TXT',
  28: 'AAAA',
  33: 'SRV',
  52: 'TLSA',
  64: 'SVCB',
  65: 'HTTPS',
  257: 'CAA',
};
const TYPE_NAMES = new Map([
  ...Object.entries(NAMES).map(([code, name]): [number, string] => [Number(code), name]),
  ...Object.entries(TYPE).map(([name, code]): [number, string] => [code, name]),
]);
const nameOfType = (type: number): string => TYPE_NAMES.get(type) ?? `TYPE${type}`;

/** Maximum number of signatures that one validation verifies, several times what a deep name needs. */
const MAX_VERIFICATIONS = 400;
/** Maximum number of DS records of a zone that are read. */
const MAX_DELEGATIONS = 20;
/** Maximum number of aliases to follow, as in `readLookup`. */
const MAX_ALIASES = 16;

const find = (sets: readonly RecordSet[], owner: string, type: number): RecordSet | undefined =>
  sets.find((set) => set.owner === owner && set.type === type);

/**
 * Validates the answer to a query by DNSSEC (RFC 4035 section 5, RFC 5155 section 8), from the root down to the records or to the
 * proof that there are none.
 *
 * @param name in the form that `readName` returns
 * @param anchors trusted keys of the root zone
 * @param now Unix time in seconds
 * @throws the errors of `query`; ServiceError `target_failed` when the server strips signatures; RangeError when the data of a record
 *   is cut off
 */
export async function validate(
  query: QuerySigned,
  name: string,
  type: number,
  anchors: readonly TrustAnchor[],
  now: number,
): Promise<Verdict> {
  const effort: Effort = { now, verifications: MAX_VERIFICATIONS };
  const replies = new Map<string, Promise<RawReply>>();
  const ask = (owner: string, wanted: number): Promise<RawReply> => {
    const key = `${wanted} ${owner}`;
    const reply = replies.get(key) ?? query(owner, wanted);
    replies.set(key, reply);
    return reply;
  };
  /** @throws BrokenLink when a set has no valid signature */
  const requireValid = (set: RecordSet, zone: string, keys: readonly ZoneKey[]) => {
    const verified = verifySet(set, zone, keys, effort);
    if ('fault' in verified)
      throw new BrokenLink(`the ${nameOfType(set.type)} records of ${set.owner}: ${verified.fault}`);
    return verified.signature;
  };

  /** Validates the keys of a zone by the DS records of its parent. @throws BrokenLink */
  async function keysOf(zone: string, delegations: readonly DelegationData[]): Promise<readonly ZoneKey[]> {
    const set = find(toSets((await ask(zone, TYPE.DNSKEY)).answers), zone, TYPE.DNSKEY);
    if (set === undefined) throw new BrokenLink(`${zone} has DS records and no DNSKEY records`);
    if (zone === '.' && set.signatures.length === 0)
      throw new ServiceError('target_failed', {
        detail: 'The DNS servers do not pass on signatures of DNSSEC.',
      });
    const keys = zoneKeysOf(set);
    const trusted = keys.filter((key) => delegations.some((ds) => matchesDelegation(zone, key, ds)));
    if (trusted.length === 0)
      throw new BrokenLink(
        zone === '.'
          ? 'no DNSKEY record of the root is a trust anchor'
          : `no DNSKEY record of ${zone} matches its DS records in ${parentOf(zone)}`,
      );
    requireValid(set, zone, trusted);
    return keys;
  }

  /** Goes from a zone to the one of a name directly below it, if that is a zone. @returns null when the name does not exist */
  async function descend(zone: Zone & { keys: readonly ZoneKey[] }, child: string): Promise<Zone | null> {
    const { nxdomain, answers, authorities } = await ask(child, TYPE.DS);
    const set = find(toSets(answers), child, TYPE.DS);
    if (set !== undefined) {
      requireValid(set, zone.name, zone.keys);
      const usable = set.data.slice(0, MAX_DELEGATIONS).map(readDelegation).filter(isSupported);
      return { name: child, keys: usable.length === 0 ? null : await keysOf(child, usable) };
    }
    // An alias is not a zone.
    if (find(toSets(answers), child, TYPE.CNAME) !== undefined) return zone;
    const denials = readDenials(toSets(authorities), zone.name, zone.keys, effort);
    const proof = nxdomain ? denials.nonexistent(child) : denials.absent(child, TYPE.DS);
    if (proof === null)
      throw new BrokenLink(`${zone.name} proves neither DS records of ${child} nor that there are none`);
    const isDelegation = denials.typesAt(child)?.has(TYPE.NS) ?? false;
    if (proof === 'open' || isDelegation) return { name: child, keys: null };
    return nxdomain ? null : zone;
  }

  const zones = new Map<string, Promise<Zone>>();
  /** Finds the zone that a name is in, up to the first one that is not signed. @throws BrokenLink */
  function zoneOf(owner: string): Promise<Zone> {
    const known = zones.get(owner);
    if (known !== undefined) return known;
    const found = (async (): Promise<Zone> => {
      if (owner === '.') return { name: '.', keys: await keysOf('.', anchors) };
      const above = await zoneOf(parentOf(owner));
      if (above.keys === null) return above;
      return (await descend({ ...above, keys: above.keys }, owner)) ?? above;
    })();
    zones.set(owner, found);
    return found;
  }
  const zoneFor = (owner: string, wanted: number): Promise<Zone> =>
    wanted === TYPE.DS ? zoneOf(parentOf(owner)) : zoneOf(owner);

  const denialsOf = (reply: RawReply, zone: string, keys: readonly ZoneKey[]): Denials =>
    readDenials(toSets(reply.authorities), zone, keys, effort);

  /** Validates a set of the answer. @returns whether its zone is signed */
  async function isSecureSet(set: RecordSet, reply: RawReply): Promise<boolean> {
    const { owner } = set;
    const signer = set.signatures[0]?.signer;
    const zone = await (signer !== undefined && isWithin(owner, signer)
      ? zoneOf(signer)
      : zoneFor(owner, set.type));
    if (zone.keys === null) return false;
    const { labels } = requireValid(set, zone.name, zone.keys);
    if (labels >= countLabels(owner) || splitName(owner)[0] === '*') return true;
    // The record comes from a wildcard: the name itself must not exist (RFC 4035 section 5.3.4).
    const proof = denialsOf(reply, zone.name, zone.keys).expanded(owner, labels);
    if (proof === null)
      throw new BrokenLink(
        `${zone.name} does not prove that only a wildcard, *.${suffixOf(owner, labels)}, covers ${owner}`,
      );
    return proof === 'proven';
  }

  /** Validates that a name has no record of the type. @returns whether its zone is signed */
  async function isSecureAbsence(owner: string, reply: RawReply): Promise<boolean> {
    const zone = await zoneFor(owner, type);
    if (zone.keys === null) return false;
    const denials = denialsOf(reply, zone.name, zone.keys);
    const proof = reply.nxdomain ? denials.nonexistent(owner) : denials.absent(owner, type);
    if (proof === null)
      throw new BrokenLink(
        `${zone.name} does not prove that ${owner} ${reply.nxdomain ? 'does not exist' : `has no ${nameOfType(type)} record`}`,
      );
    return proof === 'proven';
  }

  /** The alias that a DNAME record of an ancestor makes of a name (RFC 6672 section 3.1). */
  async function followDname(owner: string, alias: string, sets: readonly RecordSet[], reply: RawReply) {
    const set = sets.find(
      (each) => each.type === TYPE.DNAME && owner !== each.owner && isWithin(owner, each.owner),
    );
    const [data] = set?.data ?? [];
    if (set === undefined || data === undefined) return null;
    const below = splitName(owner).slice(0, splitName(owner).length - splitName(set.owner).length);
    const target = [...below, ...splitName(targetOf(data))].join('.');
    return target === alias ? isSecureSet(set, reply) : null;
  }

  async function isSecure(): Promise<boolean> {
    const reply = await ask(name, type);
    const sets = toSets(reply.answers);
    let secure = true;
    let owner = name;
    for (let aliases = 0; aliases <= MAX_ALIASES; aliases++) {
      const wanted = find(sets, owner, type);
      if (wanted !== undefined) return (await isSecureSet(wanted, reply)) && secure;
      const alias = find(sets, owner, TYPE.CNAME);
      const [data] = alias?.data ?? [];
      if (alias === undefined || data === undefined) return (await isSecureAbsence(owner, reply)) && secure;
      const target = targetOf(data);
      const synthesized = alias.signatures.length > 0 ? null : await followDname(owner, target, sets, reply);
      secure = (synthesized ?? (await isSecureSet(alias, reply))) && secure;
      owner = target;
    }
    throw new BrokenLink(`${name} has more than ${MAX_ALIASES} aliases`);
  }

  try {
    return { status: (await isSecure()) ? 'secure' : 'insecure' };
  } catch (error) {
    if (!(error instanceof BrokenLink)) throw error;
    return { status: 'bogus', link: error.message };
  }
}
