/** Number of password bytes that bcrypt uses: 18 subkeys of 4 bytes (Provos and Mazières 1999, section 4). */
export const BCRYPT_PASSWORD_BYTES = 72;

/** Maximum supported work factor, the base-2 logarithm of the number of rounds. */
const BCRYPT_MAX_WORK_FACTOR = 16;

/**
 * Format of a bcrypt hash: version, work factor in two digits, 22 characters of salt and 31 of digest in bcrypt's
 * base64 alphabet.
 */
const BCRYPT_HASH = /^\$2[abxy]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/;

/** Returns why a hash cannot be verified; null if it can. */
export function bcryptHashFault(hash: string): string | null {
  const workFactor = BCRYPT_HASH.exec(hash)?.[1];
  if (workFactor === undefined)
    return 'is not a bcrypt hash: $2a$, $2b$, $2x$ or $2y$, a work factor from 04 to 31, $, and 53 characters of ./A-Za-z0-9';
  if (Number(workFactor) > BCRYPT_MAX_WORK_FACTOR)
    return `has the work factor ${workFactor}; at most ${BCRYPT_MAX_WORK_FACTOR} is supported`;
  return null;
}
