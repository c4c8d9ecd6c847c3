import { createHmac, timingSafeEqual } from 'node:crypto';

const MAC_BYTES = 32;

/** Marks the task tokens that one pool received, so that it cannot answer tasks of another pool. */
export interface TaskTokens {
  /** Appends the mark of a pool to a token of Temporal. */
  seal(pool: string, token: Uint8Array): Buffer;
  /** Returns the token of Temporal; null when this pool did not receive the token. */
  open(pool: string, sealed: Uint8Array): Buffer | null;
}

/**
 * Temporal's tokens are not signed: whoever knows the ids of a workflow can compose one. The mark is an HMAC-SHA256 under
 * a key that all replicas of the gateway have, so that each accepts the tokens of the others.
 */
export function createTaskTokens(key: Uint8Array): TaskTokens {
  const macOf = (pool: string, token: Uint8Array): Buffer =>
    createHmac('sha256', key).update(`${pool}\0`).update(token).digest();
  return {
    seal: (pool, token) => Buffer.concat([token, macOf(pool, token)]),
    open(pool, sealed) {
      if (sealed.length <= MAC_BYTES) return null;
      const bytes = Buffer.from(sealed);
      const token = bytes.subarray(0, -MAC_BYTES);
      return timingSafeEqual(bytes.subarray(-MAC_BYTES), macOf(pool, token)) ? token : null;
    },
  };
}
