/** Bytes of a password that bcrypt reads: its 18 subkeys of 4 bytes (Provos and Mazières 1999, section 4). */
export const BCRYPT_PASSWORD_BYTES = 72;

/** Dearest hash that is verified, as log2 of the rounds. */
export const BCRYPT_MAX_WORK_FACTOR = 16;

/** Version, two digits of cost, 22 characters of salt, 31 of digest, in bcrypt's own base64 alphabet. */
const BCRYPT_HASH = /^\$2[abxy]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/;

/** What keeps a stored hash from being verified, in words for the caller; null when nothing does. */
export function bcryptHashFault(hash: string): string | null {
  const workFactor = BCRYPT_HASH.exec(hash)?.[1];
  if (workFactor === undefined)
    return 'is not a bcrypt hash: want $2a$, $2b$, $2x$ or $2y$, a work factor from 04 to 31, $, and 53 characters of ./A-Za-z0-9';
  if (Number(workFactor) > BCRYPT_MAX_WORK_FACTOR)
    return `has the work factor ${workFactor}; at most ${BCRYPT_MAX_WORK_FACTOR} is verified`;
  return null;
}
