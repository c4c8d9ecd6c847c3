import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';

/** Entries of the encryption dictionary of revisions 5 and 6 (ISO 32000-2, 7.6.4, table 21). */
interface OwnerEntries {
  revision: number;
  /** O: 32 bytes of hash, 8 of validation salt, 8 of key salt. */
  o: Buffer;
  u: Buffer;
  /** OE: the encrypted file key. */
  oe: Buffer;
}

const HASHES = ['sha256', 'sha384', 'sha512'] as const;
const MIN_ROUNDS = 64;
const NO_VECTOR = Buffer.alloc(16);

/** Hashes the empty owner password with algorithm 2.B, or with SHA-256 alone in revision 5 (ISO 32000-2, 7.6.4.3.4). */
function hashOf(salt: Buffer, user: Buffer, revision: number): Buffer {
  let key = createHash('sha256').update(salt).update(user).digest();
  if (revision === 5) return key;
  for (let round = 1, last = 0; round <= MIN_ROUNDS || last > round - 1 - 32; round++) {
    const repeated = Buffer.concat(Array<Buffer>(64).fill(Buffer.concat([key, user])));
    const cipher = createCipheriv('aes-128-cbc', key.subarray(0, 16), key.subarray(16, 32));
    const encrypted = cipher.setAutoPadding(false).update(repeated);
    // The first 16 bytes as one number, modulo 3, equal their sum modulo 3, because 256 modulo 3 is 1.
    const sum = encrypted.subarray(0, 16).reduce((total, byte) => total + byte, 0);
    key = createHash(HASHES[sum % 3] ?? 'sha256')
      .update(encrypted)
      .digest();
    last = encrypted.at(-1) ?? 0;
  }
  return key.subarray(0, 32);
}

/** Returns the file encryption key (algorithm 2.A) if the owner password is empty, else null. */
export function keyOfEmptyOwnerPassword({ revision, o, u, oe }: OwnerEntries): Buffer | null {
  if (![5, 6].includes(revision) || o.length < 48 || u.length < 48 || oe.length < 32) return null;
  const user = u.subarray(0, 48);
  if (!hashOf(o.subarray(32, 40), user, revision).equals(o.subarray(0, 32))) return null;
  const key = hashOf(o.subarray(40, 48), user, revision);
  return createDecipheriv('aes-256-cbc', key, NO_VECTOR).setAutoPadding(false).update(oe.subarray(0, 32));
}

/**
 * Returns the entries U and UE of revision 5 with which a file of this key opens without a password (ISO 32000-2, 7.6.4.4.7,
 * algorithm 8, with the hash of revision 5).
 */
export function entriesOfEmptyUserPassword(key: Buffer): { u: Buffer; ue: Buffer } {
  const salt = Buffer.alloc(8);
  const hash = createHash('sha256').update(salt).digest();
  const cipher = createCipheriv('aes-256-cbc', hash, NO_VECTOR).setAutoPadding(false);
  return { u: Buffer.concat([hash, salt, salt]), ue: cipher.update(key) };
}
