import { compareNames, isWithin, parentOf, splitName } from './names.ts';
import { type Denials, isCut, lacks, type Proof, wildcardOf } from './proofs.ts';

/** The data of an NSEC record (RFC 4034 section 4) and its owner. */
export interface Nsec {
  owner: string;
  next: string;
  types: Set<number>;
}

/** Creates proofs from NSEC records with valid signatures. */
export function createNsec(records: readonly Nsec[]): Denials {
  const match = (name: string) => records.find(({ owner }) => owner === name);
  const cover = (name: string) =>
    records.find(
      ({ owner, next, types }) =>
        compareNames(owner, name) < 0 &&
        (compareNames(name, next) < 0 || compareNames(next, owner) <= 0) &&
        !(isWithin(name, owner) && isCut(types)),
    );
  /** The closest ancestor of a covered name that exists. */
  const encloser = (name: string, { owner, next }: Nsec): string => {
    let closest = parentOf(name);
    while (!isWithin(owner, closest) && !isWithin(next, closest)) closest = parentOf(closest);
    return closest;
  };
  const nonexistent = (name: string): Proof => {
    const covering = cover(name);
    // A name above the next one exists, without records of its own.
    if (covering === undefined || isWithin(covering.next, name)) return null;
    return cover(wildcardOf(encloser(name, covering))) === undefined ? null : 'proven';
  };
  return {
    typesAt: (name) => match(name)?.types ?? null,
    nonexistent,
    expanded(name, labels) {
      const covering = cover(name);
      if (covering === undefined || isWithin(covering.next, name)) return null;
      // Below another name that exists, the wildcard does not apply (RFC 4592 section 3.3.1).
      return splitName(encloser(name, covering)).length === labels ? 'proven' : null;
    },
    absent(name, type) {
      const own = match(name);
      if (own !== undefined) return lacks(own.types, type, name) ? 'proven' : null;
      const covering = cover(name);
      if (covering === undefined) return null;
      if (isWithin(covering.next, name)) return 'proven';
      const star = match(wildcardOf(encloser(name, covering)));
      return star === undefined ? nonexistent(name) : lacks(star.types, type, name) ? 'proven' : null;
    },
  };
}
