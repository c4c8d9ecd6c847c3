import { argon2Sync } from 'node:crypto';
import { argon2d, argon2i, argon2id } from '@noble/hashes/argon2.js';
import type { Argon2Hash } from '../../schemas/formats/argon2.ts';

const VERSION_16 = { argon2d, argon2i, argon2id };

/**
 * The tag that a password gives under the parameters of an encoded hash (RFC 9106).
 *
 * Version 19 by OpenSSL, which knows no other; version 16 (before 2016, rare by now) by @noble/hashes, some six times
 * slower. Both let the thread they run in be terminated; the argon2 package knows both versions, but its binding
 * aborts the whole process then.
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
