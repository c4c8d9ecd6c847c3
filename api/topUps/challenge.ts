import { timingSafeEqual } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { isRecord } from '../../schemas/isRecord.ts';

/**
 * A challenge of the HTTP authentication scheme `Payment` (draft-httpauth-payment-01), by which a program can buy credits. Its id is
 * a MAC of the other fields, so that it needs no record until it is answered.
 */
export interface Challenge {
  id: string;
  realm: string;
  method: 'stripe';
  intent: 'charge';
  /** The payment that is requested (draft-stripe-charge-00). */
  request: {
    /** In hundredths of the currency unit. */
    amount: string;
    /** ISO 4217 code in lower case. */
    currency: string;
    description: string;
    methodDetails: { networkId: string; paymentMethodTypes: string[] };
  };
  /** ISO 8601. */
  expires: string;
  /** The HTTP header that takes the answer; missing in a challenge over MCP. */
  header?: typeof CREDENTIAL_HEADER;
  /** The account and the number of credits that it buys. */
  opaque: { account: string; credits: string };
}

/** The answer to a challenge, whose id was verified. */
export interface Credential {
  challengeId: string;
  expires: Date;
  accountId: string;
  credits: number;
  /** In hundredths of the currency unit. */
  amount: number;
  /** ISO 4217 code in upper case. */
  currency: string;
  /** The payment token (`spt_…`). A secret: it must not be logged or stored. */
  token: string;
}

/** The header that takes a credential, because `Authorization` has the API key. */
export const CREDENTIAL_HEADER = 'Payment-Authorization';
const PURPOSE = 'payment-challenge';
const CREDENTIAL = /^Payment +([\w-]+) *$/i;
const BASE64URL = /^[\w-]+$/;
const TOKEN = /^spt_\w{1,250}$/;

/** Base64url of canonical JSON (RFC 8785). */
const encode = (value: object): string => Buffer.from(canonicalize(value) ?? '').toString('base64url');

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return null;
  }
}

/** The fields that the id authenticates, in the order of the draft. There is no digest of a body: credits are bought for any call. */
function boundText(
  { realm, expires, header }: Pick<Challenge, 'realm' | 'expires' | 'header'>,
  request: string,
  opaque: string,
): string {
  const slots = [realm, 'stripe', 'charge', request, expires, '', opaque];
  return [...slots, ...(header === undefined ? [] : [header])].join('|');
}

export function signChallenge(keyring: Keyring, challenge: Omit<Challenge, 'id'>): Challenge {
  const text = boundText(challenge, encode(challenge.request), encode(challenge.opaque));
  return { ...challenge, id: keyring.mac(PURPOSE, text) };
}

/** Writes a challenge as a value of `WWW-Authenticate`. All values are ASCII without quotes. */
export function challengeHeader(challenge: Challenge): string {
  const { request, opaque, ...params } = challenge;
  const all = {
    ...params,
    request: encode(request),
    opaque: encode(opaque),
    description: request.description,
  };
  return `Payment ${Object.entries(all)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}`;
}

/** Whether the id is a MAC of this text. */
function isBound(keyring: Keyring, id: string, text: string): boolean {
  const keyId = id.slice(0, Math.max(0, id.indexOf(':')));
  if (!keyring.has(keyId)) return false;
  const [given, expected] = [Buffer.from(id), Buffer.from(keyring.mac(PURPOSE, text, keyId))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The encoded form of a field that HTTP carries encoded, and MCP as an object; null if it is neither. */
function encodedForm(value: unknown): string | null {
  if (isRecord(value)) return encode(value);
  return typeof value === 'string' && BASE64URL.test(value) ? value : null;
}

/**
 * Reads a credential, and verifies that it answers a challenge of this installation that came over the same transport.
 *
 * @param value the decoded credential
 * @param header the header in which it was sent; undefined over MCP
 * @returns null if it does not, or is malformed
 */
export function readCredential(
  keyring: Keyring,
  value: unknown,
  header?: typeof CREDENTIAL_HEADER,
): Credential | null {
  const { challenge, payload } = isRecord(value) ? value : {};
  if (!isRecord(challenge) || !isRecord(payload)) return null;
  const { id, realm, expires } = challenge;
  const { spt: token } = payload;
  const [request, opaque] = [encodedForm(challenge.request), encodedForm(challenge.opaque)];
  if (typeof id !== 'string' || typeof realm !== 'string' || typeof expires !== 'string') return null;
  if (typeof token !== 'string' || !TOKEN.test(token) || request === null || opaque === null) return null;
  const bound = { realm, expires, ...(header !== undefined && { header }) };
  if (!isBound(keyring, id, boundText(bound, request, opaque))) return null;
  // The id proves that this installation has written both.
  const [paid, bought] = [decode(request), decode(opaque)];
  if (!isRecord(paid) || !isRecord(bought)) return null;
  return {
    challengeId: id,
    expires: new Date(expires),
    accountId: String(bought.account),
    credits: Number(bought.credits),
    amount: Number(paid.amount),
    currency: String(paid.currency).toUpperCase(),
    token,
  };
}

/** Decodes the value of the header. @returns null if it is malformed */
export function decodeCredential(header: string): unknown {
  const encoded = CREDENTIAL.exec(header)?.[1];
  return encoded === undefined ? null : decode(encoded);
}
