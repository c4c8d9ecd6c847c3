import type { Credentials } from '../helpers/session.ts';

/** The loopback addresses of the attacker, so that limits by client address do not apply to the victim, at 127.0.0.1. */
export const ATTACKER_ADDRESSES: readonly string[] = Array.from({ length: 20 }, (_, i) => `127.0.0.${2 + i}`);

/** What an attack is directed at, and what the attacker has. */
export interface Scene {
  baseUrl: string;
  /** Base URL of the server of `startTarget`, which tools call. */
  target: string;
  /** The attacker's accounts, with the default rights of an owner. */
  accounts: readonly Keys[];
  /** A user of the attacker, who can sign in. */
  user: Credentials;
}

interface Keys {
  toolsKey: string;
  accountKey: string;
}

/** Returns one of the attacker's accounts; the numbers go round. */
export function accountAt({ accounts }: Scene, index: number): Keys {
  const account = accounts[index % accounts.length];
  if (account === undefined) throw new Error('the attacker has no account');
  return account;
}

/** Sends a request with a key: POST with JSON when there is a body, unless `method` differs. */
export const send = (
  { baseUrl }: Scene,
  key: string,
  path: string,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
): Promise<Response> =>
  fetch(`${baseUrl}/api/v1/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
