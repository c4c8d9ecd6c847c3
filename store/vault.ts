import { randomBytes, timingSafeEqual } from 'node:crypto';
import { isRecord } from '../schemas/isRecord.ts';
import type { Keyring } from './keyring.ts';

/**
 * The secrets of running calls, in the memory of the API process that received them and nowhere else. A worker that
 * knows the call's token may fetch them until the call is settled; both ways are sealed, so that who listens or asks
 * without the master key learns nothing.
 */
export interface Vault {
  /** @returns the one-call token */
  put(callId: string, secrets: Record<string, unknown>): string;
  /** Answers a sealed request with a sealed reply; null when it is not genuine or the secrets are gone. */
  answer(request: Uint8Array): Buffer | null;
  drop(callId: string): void;
  readonly size: number;
}

/** One exchange: `request` goes to the vault, `open` reads what comes back. */
export interface VaultExchange {
  request: Buffer;
  open(reply: Uint8Array): Record<string, unknown>;
}

function parseRecord(bytes: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
  if (!isRecord(value)) throw new Error('not an object');
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
      let asked: Record<string, unknown>;
      try {
        asked = parseRecord(keyring.open('vault', 'request', request));
      } catch {
        return null; // not sealed by one of ours
      }
      const entry = held.get(String(asked.callId));
      const token = Buffer.from(String(asked.token), 'base64url');
      if (entry === undefined || token.length !== entry.token.length || !timingSafeEqual(token, entry.token))
        return null;
      return keyring.seal('vault', `reply:${asked.nonce}`, Buffer.from(JSON.stringify(entry.secrets)));
    },
    drop(callId) {
      held.delete(callId);
    },
  };
}

/** The worker's half. The reply is bound to this request's nonce, so an older one does not open. */
export function askVault(keyring: Keyring, callId: string, token: string): VaultExchange {
  const nonce = randomBytes(16).toString('base64url');
  return {
    request: keyring.seal('vault', 'request', Buffer.from(JSON.stringify({ callId, token, nonce }))),
    open: (reply) => parseRecord(keyring.open('vault', `reply:${nonce}`, reply)),
  };
}
