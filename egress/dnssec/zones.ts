import { ServiceError } from '../../schemas/errors.ts';
import { type DelegationData, readDelegation } from '../dns/keys.ts';
import { readDenials } from './denial.ts';
import { parentOf } from './names.ts';
import { findSet, type RawReply, type RecordSet, type Signature, TYPE, toSets } from './records.ts';
import { type Effort, matchesDelegation, usableOf, verifySet, type ZoneKey, zoneKeysOf } from './verify.ts';

/** Looks up records with their signatures, although they may be bogus. @param type code of the type */
export type QuerySigned = (name: string, type: number) => Promise<RawReply>;

/** A trusted key of the root zone, as its DS record. */
export type TrustAnchor = DelegationData;

/** A zone whose keys are validated; `keys` is null for one that is not signed. */
export interface Zone {
  name: string;
  keys: readonly ZoneKey[] | null;
}

/** A link of the chain of trust is broken. The message says which, without a full stop. */
export class BrokenLink extends Error {
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
export const nameOfType = (type: number): string => TYPE_NAMES.get(type) ?? `TYPE${type}`;

/** Maximum number of DS records of a zone that are read. */
const MAX_DELEGATIONS = 20;

/** Verifies a set by the keys of its zone. @throws BrokenLink when it has no valid signature */
export function requireValid(
  set: RecordSet,
  zone: string,
  keys: readonly ZoneKey[],
  effort: Effort,
): Signature {
  const verified = verifySet(set, zone, keys, effort);
  if ('fault' in verified)
    throw new BrokenLink(`the ${nameOfType(set.type)} records of ${set.owner}: ${verified.fault}`);
  return verified.signature;
}

/**
 * Returns a function that finds the zone of a name, or the first zone on the way from the root that is not signed.
 *
 * @param anchors trusted keys of the root zone
 * @throws (the function) BrokenLink; the errors of `ask`; ServiceError `target_failed` when the server strips signatures
 */
export function createZones(
  ask: QuerySigned,
  anchors: readonly TrustAnchor[],
  effort: Effort,
): (owner: string) => Promise<Zone> {
  /** Validates the keys of a zone by the DS records of its parent. @throws BrokenLink */
  async function keysOf(zone: string, delegations: readonly DelegationData[]): Promise<readonly ZoneKey[]> {
    const set = findSet(toSets((await ask(zone, TYPE.DNSKEY)).answers), zone, TYPE.DNSKEY);
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
    requireValid(set, zone, trusted, effort);
    return keys;
  }

  /** Goes from a zone to the one of a name directly below it, if that is a zone. @returns null when the name does not exist */
  async function descend(zone: Zone & { keys: readonly ZoneKey[] }, child: string): Promise<Zone | null> {
    const { nxdomain, answers, authorities } = await ask(child, TYPE.DS);
    const set = findSet(toSets(answers), child, TYPE.DS);
    if (set !== undefined) {
      requireValid(set, zone.name, zone.keys, effort);
      const usable = usableOf(set.data.slice(0, MAX_DELEGATIONS).map(readDelegation));
      return { name: child, keys: usable.length === 0 ? null : await keysOf(child, usable) };
    }
    // An alias is not a zone.
    if (findSet(toSets(answers), child, TYPE.CNAME) !== undefined) return zone;
    const denials = readDenials(toSets(authorities), zone.name, zone.keys, effort);
    const proof = nxdomain ? denials.nonexistent(child) : denials.absent(child, TYPE.DS);
    if (proof === null)
      throw new BrokenLink(`${zone.name} proves neither DS records of ${child} nor that there are none`);
    const isDelegation = denials.typesAt(child)?.has(TYPE.NS) ?? false;
    if (proof === 'open' || isDelegation) return { name: child, keys: null };
    return nxdomain ? null : zone;
  }

  const zones = new Map<string, Promise<Zone>>();
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
  return zoneOf;
}
