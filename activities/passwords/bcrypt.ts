import { bcrypt, bcryptVerify } from 'hash-wasm';
import { BCRYPT_PASSWORD_BYTES } from '../../schemas/formats/bcrypt.ts';

/**
 * Returns the password bytes to pass to hash-wasm, which rejects passwords of 0 or more than 72 bytes. bcrypt ignores bytes
 * after the 72nd, and appends a NUL to the password, so that an empty password equals a single NUL.
 */
function keyBytes(password: Uint8Array): Uint8Array {
  return password.length === 0 ? new Uint8Array(1) : password.subarray(0, BCRYPT_PASSWORD_BYTES);
}

/**
 * Creates a `$2b$` hash. hash-wasm writes the prefix `$2a$`, which means the same, except to crypt_blowfish for passwords
 * with the byte 0xFF. UTF-8 never contains that byte.
 *
 * @param password UTF-8, 1 to 72 bytes
 * @param salt 16 random bytes
 * @param workFactor log2 of the rounds, 4 to 31
 */
export async function bcryptHash(
  password: Uint8Array,
  salt: Uint8Array,
  workFactor: number,
): Promise<string> {
  const hash = await bcrypt({
    password: keyBytes(password),
    salt,
    costFactor: workFactor,
    outputType: 'encoded',
  });
  return hash.replace(/^\$2a/, '$2b');
}

/**
 * Whether a password matches a hash, by crypt_blowfish's rules for `$2a$`, `$2b$`, `$2x$` and `$2y$`. hash-wasm is
 * compiled from crypt_blowfish.
 *
 * @param hash a well-formed hash (checked by `bcryptHashFault`)
 */
export const bcryptMatches = (password: Uint8Array, hash: string): Promise<boolean> =>
  bcryptVerify({ password: keyBytes(password), hash });
