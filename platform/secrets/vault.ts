import { randomBytes, timingSafeEqual } from 'node:crypto';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Keyring } from './keyring.ts';

/**
 * Holds the secret fields of running calls, only in the memory of the API process that received them. A worker with
 * the call's token can fetch them until the call is settled. Requests and replies are encrypted, so they reveal
 * nothing without the master key.
 */
export interface Vault {
  /** Stores the secret fields of a call. @returns the call's token */
  put(callId: string, secrets: Record<string, unknown>): string;
  /** Decrypts a request and returns the encrypted reply, or null if the request is not authentic or has no secrets. */
  answer(request: Uint8Array): Buffer | null;
  drop(callId: string): void;
  readonly size: number;
}

/** The encrypted request to the vault, and the function that decrypts its reply. */
interface VaultRequest {
  request: Buffer;
  open(reply: Uint8Array): Record<string, unknown>;
}

function parseRecord(bytes: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
  if (!isRecord(value)) throw new Error('the vault message is not an object');
  return value;
}

export function createVault(keyring: Keyring): Vault {
  const held = new Map<string, { token: Buffer; secrets: Record<string, unknown> }>();
  return {
    get size() {
      return held.size;
    },
    put(callId, secrets) {
      const token = randomBytes(32);
      held.set(callId, { token, secrets });
      return token.toString('base64url');
    },
    answer(request) {
      let parsed: Record<string, unknown>;
      try {
        parsed = parseRecord(keyring.open('vault', 'request', request));
      } catch {
        return null; // Not encrypted with a master key of this installation.
      }
      const entry = held.get(String(parsed.callId));
      const token = Buffer.from(String(parsed.token), 'base64url');
      if (entry === undefined || token.length !== entry.token.length || !timingSafeEqual(token, entry.token))
        return null;
      return keyring.seal('vault', `reply:${parsed.nonce}`, Buffer.from(JSON.stringify(entry.secrets)));
    },
    drop(callId) {
      held.delete(callId);
    },
  };
}

/**
 * Creates a worker's request to the vault. The reply is bound to the nonce of the request, so a replayed reply cannot
 * be decrypted.
 */
export function askVault(keyring: Keyring, callId: string, token: string): VaultRequest {
  const nonce = randomBytes(16).toString('base64url');
  return {
    request: keyring.seal('vault', 'request', Buffer.from(JSON.stringify({ callId, token, nonce }))),
    open: (reply) => parseRecord(keyring.open('vault', `reply:${nonce}`, reply)),
  };
}
