import { hostname } from 'node:os';
import { ConnectionError } from '../errors.ts';
import { errorOf, parseJson, type Reply } from '../response.ts';
import type { KeyScope } from './keys.ts';

/** Milliseconds for one request. */
const REQUEST_MS = 30_000;

/** The code that the user sees, and the data with which the program asks for the key. */
export interface DeviceCode {
  deviceCode: string;
  userCode: string;
  page: string;
  expiresInMs: number;
  intervalMs: number;
}

/** The key, or why there is none yet. */
export type KeyAnswer = { key: string } | { error: string; description: string };

type Fields = Record<string, unknown>;

const fieldsOf = ({ body }: Reply): Fields => {
  const value = parseJson(body);
  return typeof value === 'object' && value !== null ? { ...value } : {};
};

const failure = (reply: Reply): Error => errorOf(reply, { isTool: false, idempotencyKey: null });

/** Sends a form to a path of the service. @throws ConnectionError */
async function post(
  baseUrl: string,
  path: string,
  form: Record<string, string>,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<Reply> {
  try {
    const response = await fetch(`${baseUrl}/api/auth/device/${path}`, {
      method: 'POST',
      headers,
      body: new URLSearchParams(form),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
    });
    return { status: response.status, headers: response.headers, body: await response.text() };
  } catch (error) {
    signal.throwIfAborted();
    const reason =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new ConnectionError(`No response from ${baseUrl}: ${reason}. Check the URL and your network.`, {
      cause: error,
    });
  }
}

/**
 * Asks the service for a code that the user approves in the browser (RFC 8628, section 3.1). The page shows the name of this
 * machine.
 */
export async function requestCode(
  baseUrl: string,
  scope: KeyScope,
  signal: AbortSignal,
): Promise<DeviceCode> {
  const form = { client_id: 'utility-tools', scope, device: hostname() };
  const reply = await post(baseUrl, 'code', form, signal);
  const fields = fieldsOf(reply);
  const { device_code, user_code, verification_uri_complete, expires_in, interval } = fields;
  if (reply.status !== 200 || typeof device_code !== 'string') throw failure(reply);
  return {
    deviceCode: device_code,
    userCode: String(user_code),
    page: String(verification_uri_complete),
    expiresInMs: Number(expires_in) * 1000,
    intervalMs: Number(interval) * 1000,
  };
}

/** Asks for the key of an approved code (RFC 8628, section 3.4). */
export async function requestKey(
  baseUrl: string,
  deviceCode: string,
  signal: AbortSignal,
): Promise<KeyAnswer> {
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: deviceCode,
    client_id: 'utility-tools',
  };
  const reply = await post(baseUrl, 'token', form, signal);
  const { access_token, error, error_description } = fieldsOf(reply);
  if (reply.status === 200 && typeof access_token === 'string') return { key: access_token };
  if (typeof error !== 'string') throw failure(reply);
  return { error, description: String(error_description) };
}

/** Revokes the key. A key that is not valid any more needs no revocation. */
export async function revokeKey(baseUrl: string, apiKey: string, signal: AbortSignal): Promise<void> {
  const reply = await post(baseUrl, 'logout', {}, signal, { Authorization: `Bearer ${apiKey}` });
  if (reply.status !== 204 && reply.status !== 401) throw failure(reply);
}
