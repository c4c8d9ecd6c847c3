import { readName } from '../dns/name.ts';
import { countLabels, parentOf, splitName } from './names.ts';
import { createNsec, type Nsec } from './nsec.ts';
import { createNsec3, fromBase32Hex, type Nsec3 } from './nsec3.ts';
import { type Denials, readTypes } from './proofs.ts';
import { type RecordSet, TYPE } from './records.ts';
import { type Effort, verifySet, type ZoneKey } from './verify.ts';

export type { Denials };

/** Maximum number of sets of NSEC and NSEC3 records that are read; an answer needs at most four for each of its zones. */
const MAX_SETS = 20;
const OPT_OUT = 1;
const SHA1 = 1;

/** Reads the NSEC and NSEC3 records among sets whose signatures by the zone are valid. */
export function readDenials(
  sets: readonly RecordSet[],
  zone: string,
  keys: readonly ZoneKey[],
  effort: Effort,
): Denials {
  const denying = sets.filter(({ type }) => type === TYPE.NSEC || type === TYPE.NSEC3).slice(0, MAX_SETS);
  const valid = denying.filter((set) => {
    const verified = verifySet(set, zone, keys, effort);
    // A record that a wildcard was expanded to proves nothing.
    return 'signature' in verified && verified.signature.labels === countLabels(set.owner);
  });
  const nsec = valid
    .filter(({ type }) => type === TYPE.NSEC)
    .flatMap(({ owner, data }) =>
      data.map((each): Nsec => {
        const { name: next, end } = readName(each, 0);
        return { owner, next, types: readTypes(each.subarray(end)) };
      }),
    );
  if (nsec.length > 0) return createNsec(nsec);
  const nsec3 = valid
    .filter(({ type }) => type === TYPE.NSEC3)
    .flatMap(({ owner, data }) =>
      data.flatMap((each): Nsec3[] => {
        // Records with other hash functions or unknown flags are ignored (RFC 5155 sections 8.1 and 8.2).
        if (each[0] !== SHA1 || each.readUInt8(1) > OPT_OUT || parentOf(owner) !== zone) return [];
        const saltEnd = 5 + each.readUInt8(4);
        const nextEnd = saltEnd + 1 + each.readUInt8(saltEnd);
        return [
          {
            hash: fromBase32Hex(splitName(owner)[0] ?? ''),
            next: each.subarray(saltEnd + 1, nextEnd),
            optOut: (each.readUInt8(1) & OPT_OUT) !== 0,
            iterations: each.readUInt16BE(2),
            salt: each.subarray(5, saltEnd),
            types: readTypes(each.subarray(nextEnd)),
          },
        ];
      }),
    );
  return createNsec3(nsec3);
}
