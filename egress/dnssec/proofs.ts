import { TYPE } from './records.ts';

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

/** RFC 4034 section 4.1.2 */
export function readTypes(bitmap: Buffer): Set<number> {
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
export function lacks(types: ReadonlySet<number>, type: number, name: string): boolean {
  if (types.has(type) || types.has(TYPE.CNAME)) return false;
  const isParentSide = types.has(TYPE.NS) && !types.has(TYPE.SOA);
  // The parent says what DS records a delegated zone has, and the zone itself everything else (RFC 4035 section 5.4).
  return type === TYPE.DS ? name === '.' || !types.has(TYPE.SOA) : !isParentSide;
}

/** Whether a record at an ancestor says that another zone or another subtree has the names below it. */
export const isCut = (types: ReadonlySet<number>): boolean =>
  types.has(TYPE.DNAME) || (types.has(TYPE.NS) && !types.has(TYPE.SOA));

/** The wildcard directly below a name. */
export const wildcardOf = (name: string): string => (name === '.' ? '*' : `*.${name}`);
