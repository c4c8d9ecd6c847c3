import { createHash } from 'node:crypto';
import { splitName, suffixOf, toWire } from './names.ts';
import { type Denials, isCut, lacks, type Proof, wildcardOf } from './proofs.ts';
import { TYPE } from './records.ts';

/** Maximum number of iterations of NSEC3, as in BIND 9.20 (RFC 9276 section 3.2). */
const ITERATIONS = 50;

/** The data of an NSEC3 record (RFC 5155 section 3) and the hash in its owner. */
export interface Nsec3 {
  hash: Buffer;
  next: Buffer;
  optOut: boolean;
  iterations: number;
  salt: Buffer;
  types: Set<number>;
}

const BASE32 = '0123456789abcdefghijklmnopqrstuv';

/** RFC 4648 section 7, without padding */
export function fromBase32Hex(text: string): Buffer {
  let bits = '';
  for (const char of text) bits += Math.max(0, BASE32.indexOf(char)).toString(2).padStart(5, '0');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** Creates proofs from NSEC3 records with valid signatures. Those of another chain than the first one's are ignored. */
export function createNsec3(all: readonly Nsec3[]): Denials {
  const [{ iterations, salt } = { iterations: 0, salt: Buffer.alloc(0) }] = all;
  // Hashes with other parameters are not comparable (RFC 5155 section 8.2).
  const records = all.filter((each) => each.iterations === iterations && each.salt.equals(salt));
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
  const nonexistent = (name: string): Proof => {
    if (open) return 'open';
    const found = closest(name);
    return found === null || cover(wildcardOf(found.encloser)) === undefined ? null : proof(found.covering);
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
      const star = match(wildcardOf(found.encloser));
      if (star === undefined) return nonexistent(name);
      return lacks(star.types, type, name) ? proof(found.covering) : null;
    },
  };
}
