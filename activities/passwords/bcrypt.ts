import { bcrypt, bcryptVerify } from 'hash-wasm';
import { BCRYPT_PASSWORD_BYTES } from '../../schemas/formats/bcrypt.ts';

/**
 * The bytes hash-wasm is given for a password: it throws on none and on more than 72. Nothing after the 72nd is ever
 * read, and an empty key, cycled with its terminator, is the same as one NUL.
 */
function keyBytes(password: Uint8Array): Uint8Array {
  return password.length === 0 ? new Uint8Array(1) : password.subarray(0, BCRYPT_PASSWORD_BYTES);
}

/**
 * A `$2b$` hash. hash-wasm writes `$2a$`; crypt_blowfish lets the two differ only on passwords with the byte 0xFF,
 * which UTF-8 never has.
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
 * Whether the password produces the hash, by the rules of crypt_blowfish (whose code hash-wasm compiles) for `$2a$`,
 * `$2b$`, `$2x$` and `$2y$`.
 *
 * @param hash well-formed (`bcryptHashFault`)
 */
export const bcryptMatches = (password: Uint8Array, hash: string): Promise<boolean> =>
  bcryptVerify({ password: keyBytes(password), hash });
