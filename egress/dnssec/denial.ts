import { createHash } from 'node:crypto';
import { readName } from '../dns/name.ts';
import { compareNames, countLabels, isWithin, parentOf, splitName, suffixOf, toWire } from './names.ts';
import { type RecordSet, TYPE } from './records.ts';
import { type Effort, verifySet, type ZoneKey } from './verify.ts';

/**
 * What the NSEC or NSEC3 records of a zone prove. `open`: there may be an unsigned delegation, because the zone leaves those out
 * (opt-out, RFC 5155 section 6), or has more iterations than validators compute (RFC 9276).
 */
export type Proof = 'proven' | 'open' | null;

/** The records of a zone that prove what does not exist. */
export interface Denials {
  /** That the name has no record of the type, or does not exist. */
  absent(name: string, type: number): Proof;
  /** That the name does not exist. */
  nonexistent(name: string): Proof;
  /** That a name exists only by the wildcard with this many labels below it. */
  expanded(name: string, labels: number): Proof;
  /** Types of records at the name; null if the records do not say. */
  typesAt(name: string): ReadonlySet<number> | null;
}

/** Maximum number of iterations of NSEC3, as in BIND 9.20 (RFC 9276 section 3.2). */
const ITERATIONS = 50;
/** Maximum number of sets of NSEC and NSEC3 records that are read; an answer needs at most four for each of its zones. */
const MAX_SETS = 20;
const OPT_OUT = 1;
const SHA1 = 1;

/** RFC 4034 section 4.1.2 */
function readTypes(bitmap: Buffer): Set<number> {
  const types = new Set<number>();
  for (let at = 0; at + 2 <= bitmap.length; ) {
    const [window = 0, length = 0] = bitmap.subarray(at, at + 2);
    for (const [index, byte] of bitmap.subarray(at + 2, at + 2 + length).entries())
      for (let bit = 0; bit < 8; bit++)
        if ((byte & (0x80 >> bit)) !== 0) types.add(window * 256 + index * 8 + bit);
    at += 2 + length;
  }
  return types;
}

/** Whether a record at the name itself proves that it has no record of the type. */
function lacks(types: ReadonlySet<number>, type: number, name: string): boolean {
  if (types.has(type) || types.has(TYPE.CNAME)) return false;
  const isParentSide = types.has(TYPE.NS) && !types.has(TYPE.SOA);
  // The parent says what DS records a delegated zone has, and the zone itself everything else (RFC 4035 section 5.4).
  return type === TYPE.DS ? name === '.' || !types.has(TYPE.SOA) : !isParentSide;
}

/** Whether a record at an ancestor says that another zone or another subtree has the names below it. */
const isCut = (types: ReadonlySet<number>): boolean =>
  types.has(TYPE.DNAME) || (types.has(TYPE.NS) && !types.has(TYPE.SOA));

interface Nsec {
  owner: string;
  next: string;
  types: Set<number>;
}

function createNsec(records: readonly Nsec[]): Denials {
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
  const wildcard = (closest: string): string => (closest === '.' ? '*' : `*.${closest}`);
  const nonexistent = (name: string): Proof => {
    const covering = cover(name);
    // A name above the next one exists, without records of its own.
    if (covering === undefined || isWithin(covering.next, name)) return null;
    return cover(wildcard(encloser(name, covering))) === undefined ? null : 'proven';
  };
  return {
    typesAt: (name) => match(name)?.types ?? null,
    nonexistent,
    expanded: (name) => (cover(name) === undefined ? null : 'proven'),
    absent(name, type) {
      const own = match(name);
      if (own !== undefined) return lacks(own.types, type, name) ? 'proven' : null;
      const covering = cover(name);
      if (covering === undefined) return null;
      if (isWithin(covering.next, name)) return 'proven';
      const star = match(wildcard(encloser(name, covering)));
      return star === undefined ? nonexistent(name) : lacks(star.types, type, name) ? 'proven' : null;
    },
  };
}

interface Nsec3 {
  hash: Buffer;
  next: Buffer;
  optOut: boolean;
  iterations: number;
  salt: Buffer;
  types: Set<number>;
}

const BASE32 = '0123456789abcdefghijklmnopqrstuv';

/** RFC 4648 section 7, without padding */
function fromBase32Hex(text: string): Buffer {
  let bits = '';
  for (const char of text) bits += Math.max(0, BASE32.indexOf(char)).toString(2).padStart(5, '0');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

function createNsec3(records: readonly Nsec3[]): Denials {
  const [{ iterations, salt } = { iterations: 0, salt: Buffer.alloc(0) }] = records;
  const open = iterations > ITERATIONS;
  const known = new Map<string, Buffer>();
  /** RFC 5155 section 5 */
  const hashOf = (name: string): Buffer => {
    let hash = known.get(name);
    if (hash !== undefined) return hash;
    hash = toWire(name);
    for (let round = 0; round <= iterations; round++)
      hash = createHash('sha1').update(hash).update(salt).digest();
    known.set(name, hash);
    return hash;
  };
  const match = (name: string) => records.find(({ hash }) => hash.equals(hashOf(name)));
  const cover = (name: string) => {
    const wanted = hashOf(name);
    return records.find(({ hash, next }) => {
      const [after, before] = [Buffer.compare(hash, wanted) < 0, Buffer.compare(wanted, next) < 0];
      return Buffer.compare(hash, next) < 0 ? after && before : after || before;
    });
  };
  const proof = (covering: Nsec3): Proof => (covering.optOut ? 'open' : 'proven');
  /** The closest ancestor that exists, and the record that covers the name below it (RFC 5155 section 8.3). */
  const closest = (name: string): { encloser: string; covering: Nsec3 } | null => {
    for (let labels = splitName(name).length - 1; labels >= 0; labels--) {
      const encloser = suffixOf(name, labels);
      const record = match(encloser);
      if (record === undefined) continue;
      const covering = cover(suffixOf(name, labels + 1));
      return covering === undefined || isCut(record.types) ? null : { encloser, covering };
    }
    return null;
  };
  const wildcard = (encloser: string): string => (encloser === '.' ? '*' : `*.${encloser}`);
  const nonexistent = (name: string): Proof => {
    if (open) return 'open';
    const found = closest(name);
    return found === null || cover(wildcard(found.encloser)) === undefined ? null : proof(found.covering);
  };
  return {
    typesAt: (name) => (open ? null : (match(name)?.types ?? null)),
    nonexistent,
    expanded(name, labels) {
      if (open) return 'open';
      const covering = cover(suffixOf(name, labels + 1));
      return covering === undefined ? null : proof(covering);
    },
    absent(name, type) {
      if (open) return 'open';
      const own = match(name);
      if (own !== undefined) return lacks(own.types, type, name) ? 'proven' : null;
      const found = closest(name);
      if (found === null) return null;
      if (type === TYPE.DS && found.covering.optOut) return 'open';
      const star = match(wildcard(found.encloser));
      if (star === undefined) return nonexistent(name);
      return lacks(star.types, type, name) ? proof(found.covering) : null;
    },
  };
}

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
        if (each[0] !== SHA1 || parentOf(owner) !== zone) return [];
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
