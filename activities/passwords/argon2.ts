import { argon2Sync } from 'node:crypto';
import { argon2d, argon2i, argon2id } from '@noble/hashes/argon2.js';
import type { Argon2Hash } from '../../schemas/formats/argon2.ts';

const VERSION_16 = { argon2d, argon2i, argon2id };

/**
 * Computes the tag of a password with the parameters of an encoded hash (RFC 9106).
 *
 * Uses OpenSSL for version 19, the only version that OpenSSL supports, and @noble/hashes, which is about six times slower,
 * for version 16 (from before 2016, now rare). A worker thread that runs either can be terminated safely. The argon2 package
 * supports both versions, but terminating a thread that runs it aborts the whole process.
 *
 * @param hash within the bounds of `argon2HashFaults`
 */
export function argon2Tag(password: Uint8Array, hash: Argon2Hash): Uint8Array {
  const { variant, version, memory, passes, lanes, salt, data, tag } = hash;
  if (version === 16)
    return VERSION_16[variant](password, salt, {
      version,
      m: memory,
      t: passes,
      p: lanes,
      personalization: data,
      dkLen: tag.length,
    });
  return argon2Sync(variant, {
    message: password,
    nonce: salt,
    memory,
    passes,
    parallelism: lanes,
    associatedData: data,
    tagLength: tag.length,
  });
}
