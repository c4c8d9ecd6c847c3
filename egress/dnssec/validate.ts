import { type Denials, readDenials } from './denial.ts';
import { countLabels, isWithin, parentOf, splitName, suffixOf } from './names.ts';
import { findSet, type RawReply, type RecordSet, TYPE, targetOf, toSets } from './records.ts';
import type { Effort, ZoneKey } from './verify.ts';
import {
  BrokenLink,
  createZones,
  nameOfType,
  type QuerySigned,
  requireValid,
  type TrustAnchor,
  type Zone,
} from './zones.ts';

export type { TrustAnchor };

/** `insecure`: a zone on the way from the root is not signed. `bogus`: a link of the chain of trust is broken. */
export type Verdict = { status: 'secure' | 'insecure' } | { status: 'bogus'; link: string };

/** Maximum number of signatures that one validation verifies, several times what a deep name needs. */
const MAX_VERIFICATIONS = 400;
/** Maximum number of aliases to follow, as in `readLookup`. */
const MAX_ALIASES = 16;

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
  const zoneOf = createZones(ask, anchors, effort);
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
    const { labels } = requireValid(set, zone.name, zone.keys, effort);
    if (labels >= countLabels(owner)) return true;
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
      const wanted = findSet(sets, owner, type);
      // With records, only a forged reply says that the name does not exist: the proof of that is then missing.
      if (wanted !== undefined && !reply.nxdomain) return (await isSecureSet(wanted, reply)) && secure;
      const alias = findSet(sets, owner, TYPE.CNAME);
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
