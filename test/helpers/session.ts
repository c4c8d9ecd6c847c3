import { randomUUID } from 'node:crypto';
import { createGate } from './gate.ts';

export interface Credentials {
  email: string;
  password: string;
}

/** Returns a unique email address and a password. */
export const freshCredentials = (): Credentials => ({
  email: `${randomUUID()}@example.com`,
  password: randomUUID(),
});

/**
 * Sends a POST request with a JSON body to better-auth. Without headers it has no `Origin`, like a request that no web
 * page sends.
 */
export const postAuth = (
  baseUrl: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${baseUrl}/api/auth/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/**
 * Returns the Cookie header that a browser sends after this response. @throws when the response sets no session cookie
 */
export function cookieOf(response: Response): string {
  const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '');
  if (!cookies.some((cookie) => cookie.includes('session_token=')))
    throw new Error(`no session: ${response.status}`);
  return cookies.join('; ');
}

/**
 * AVA starts all tests of a file at once. So many sign-ups beside each other, each with a hash of a password in a transaction,
 * would take longer than MongoDB keeps a transaction open.
 */
const signUpGate = createGate(6);

/** Signs a new user up. Returns the Cookie header of the session. */
export const signUp = (baseUrl: string, credentials: Credentials): Promise<string> =>
  signUpGate(async () =>
    cookieOf(await postAuth(baseUrl, 'sign-up/email', { name: 'Test', ...credentials })),
  );

/** Signs a user in. Returns the Cookie header of the session. */
export const signIn = async (baseUrl: string, credentials: Credentials): Promise<string> =>
  cookieOf(await postAuth(baseUrl, 'sign-in/email', credentials));
